"""The benchmarks of few labels run on tiny data."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def quick(program):
    command = [sys.executable, "-m", f"benchmarks.few_labels.{program}", "--quick"]
    environment = os.environ | ONE_THREAD
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "QUICK RUN" in done.stdout
    return done.stdout


def test_pairs_prints_every_column():
    printed = quick("pairs")
    assert "1 % of rows  cannot too  1 % of pairs  cannot too" in printed
    assert printed.splitlines()[-3].startswith("wine ")


def test_accuracy_prints_every_method():
    printed = quick("accuracy")
    for method in ("kedge", "LabelSpreading(knn)", "SelfTraining(LogisticRegression)", "1 nearest neighbour"):
        assert f"\n{method} " in printed


def test_calibration_prints_every_number_of_labels():
    printed = quick("calibration")
    assert "labels per class  right  probability   gap  fixed" in printed
    assert [line.split()[0] for line in printed.splitlines() if line[:1].isdigit()] == ["1", "2", "5", "10", "50"]


def test_questions_prints_every_answer():
    printed = quick("questions")
    for answer in ("labels per class wrong", "asked for as good", "new classes; accuracy"):
        assert answer in printed
