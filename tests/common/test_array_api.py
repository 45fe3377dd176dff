"""scikit-learn's checks of array API input, which run only when SciPy is imported with SCIPY_ARRAY_API=1."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kedge.baselines import available

TESTS = Path(__file__).parents[1]


@pytest.mark.check
def test_every_estimator_takes_array_api_input():
    files = ["method/test_sgl.py", "method/test_msgl.py", "baselines/test_every_method.py"]
    command = [sys.executable, "-m", "pytest", "-n", "0", "-k", "check_array_api"]
    command += [str(TESTS / file) for file in files]
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    done = subprocess.run(command, cwd=TESTS.parent, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    passed = re.search(r"(\d+) passed, \d+ deselected in", done.stdout)
    assert passed, done.stdout
    assert int(passed[1]) == 2 + len(available())
