"""Without any extra, kedge imports, fits arrays and files, and says what other files need."""

import subprocess
import sys

PROGRAM = """
import sys

class Absent:
    names = {"dask", "distributed", "pyarrow", "zarr", "h5py", "anndata", "mudata", "rich", "typer", "matplotlib"}
    names |= {"pooch", "requests"}

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            raise ImportError(name)

sys.meta_path.insert(0, Absent())
import numpy as np
from kedge import MSGL, SGL, baselines

folder = sys.argv[1]
X = np.random.default_rng(0).normal(size=(60, 4))
np.save(folder + "/rows.npy", X)
SGL(2, random_state=0).fit(X)
MSGL(2, random_state=0).fit([X, X])
baselines.SSCOMP(2, random_state=0).fit(X)
assert (SGL(2, random_state=0).fit(folder + "/rows.npy").labels_ == SGL(2, random_state=0).fit(X).labels_).all()
with open(folder + "/rows.parquet", "wb") as file:
    file.write(b"PAR1")
try:
    SGL(2).fit(folder + "/rows.parquet")
except ImportError as error:
    print(error)
"""


def test_the_core_needs_no_extra(tmp_path):
    command = [sys.executable, "-W", "error", "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "pip install 'kedge[parquet]'" in done.stdout
