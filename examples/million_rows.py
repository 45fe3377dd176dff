"""
A million rows from a file
==========================

Rows do not have to fit in memory. The file here has a million rows. You give :class:`kedge.SGL` its path, and it reads
the file block by block. Memory holds only a few blocks, the labels, and sums of the size of the anchors.
"""

import tempfile
import time
from pathlib import Path

import numpy as np

from kedge import SGL
from kedge.metrics import clustering_accuracy

N_ROWS, N_FEATURES, N_CLUSTERS, BLOCK = 1_000_000, 30, 5, 100_000

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "rows.npy"

# %%
# Write the file
# --------------
# The rows lie near five subspaces. ``numpy.lib.format.open_memmap`` makes a ``.npy`` file to fill block by block.

rng = np.random.default_rng(0)
bases = np.linalg.qr(rng.normal(size=(N_CLUSTERS, N_FEATURES, 4)))[0]
classes = rng.integers(0, N_CLUSTERS, N_ROWS)
file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(N_ROWS, N_FEATURES))
for start in range(0, N_ROWS, BLOCK):
    block = classes[start : start + BLOCK]
    shares = rng.random((len(block), 4, 1)) + 0.1
    rows = (bases[block] @ shares)[:, :, 0]
    file[start : start + BLOCK] = rows + 0.02 * rng.normal(size=rows.shape)
file.flush()
del file
print(f"{path.stat().st_size / 2**20:.0f} MiB")

# %%
# Fit and predict from the path
# -----------------------------

started = time.perf_counter()
model = SGL(N_CLUSTERS, scale="l2", random_state=0).fit(path)
print(f"fit: {time.perf_counter() - started:.1f} s, accuracy {clustering_accuracy(classes, model.labels_):.3f}")
started = time.perf_counter()
labels = model.predict(path)
same = np.mean(labels == model.labels_)
print(f"predict: {time.perf_counter() - started:.1f} s, {same:.3f} of the labels as in the fit")

# %%
# The graph stays on disk
# -----------------------
# ``graph_`` reads its rows from disk when you ask for them. Its files vanish with the model.

print(model.graph_[:3].toarray().round(2))
del model
folder.cleanup()
