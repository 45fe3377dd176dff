"""
Label 20 rows, classify 70,000
==============================

Labels are expensive. :class:`kedge.SGLClassifier` gets along with few of them, and kedge tells you which rows to label.
The rows here are scikit-learn's 1,797 digits, each in 39 versions with different noise.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from kedge import SGL, SGLClassifier

images, digits = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
X = np.tile(images, (39, 1)) + rng.normal(scale=3.0, size=(39 * len(images), 64))
y = np.tile(digits, 39)
print(f"{len(X):,} rows")

# %%
# Which rows to label
# -------------------
# A fit without labels names the rows that stand for most others. Here are the first twenty.

model = SGL(n_clusters=10, random_state=0).fit(X)
rows = model.rows_to_label(20)
figure, axes = plt.subplots(2, 10, figsize=(10, 2.2))
for axis, row in zip(axes.ravel(), rows, strict=True):
    axis.imshow(X[row].reshape(8, 8), cmap="gray_r")
    axis.set_title(y[row], fontsize=9)
    axis.axis("off")
figure.tight_layout()

# %%
# Twenty labels, and all other classes
# ------------------------------------
# You look at these twenty images and write down what they show. Every other row gets -1.

known = np.full(len(X), -1)
known[rows] = y[rows]
classifier = SGLClassifier(random_state=0).fit(X, known)
hidden = known < 0
print(f"accuracy on the other rows: {(classifier.transduction_ == y)[hidden].mean():.3f}")

# %%
# The same number of random rows is worth less. ``update_labels`` keeps the graph, so it takes a moment only.

random_rows = rng.choice(len(X), 20, replace=False)
known = np.full(len(X), -1)
known[random_rows] = y[random_rows]
classifier.update_labels(known)
print(f"with twenty random rows: {(classifier.transduction_ == y)[known < 0].mean():.3f}")

# %%
# How sure it is
# --------------
# ``label_distributions_`` has the probability of every class. Rows of low probability are wrong more often.

known = np.where(hidden, -1, y)
classifier.update_labels(known)
sure = classifier.label_distributions_.max(axis=1)
right = classifier.transduction_ == y
for low, high in ((0.0, 0.5), (0.5, 0.9), (0.9, 1.01)):
    chosen = hidden & (sure >= low) & (sure < high)
    print(f"probability {low:.1f} to {min(high, 1.0):.1f}: {chosen.sum():,} rows, {right[chosen].mean():.2f} right")

# %%
# A wrong label
# -------------
# Suppose that one of a hundred labels is a slip of the pen. The others contradict it, and a few more: images that look
# like another digit.

known = np.full(len(X), -1)
more = model.rows_to_label(100)
known[more] = y[more]
known[more[7]] = (y[more[7]] + 1) % 10
contradicted = classifier.update_labels(known).label_disagreement_
print(f"row {more[7]} has a wrong label; contradicted:", contradicted)
