"""
Images of digits
================

scikit-learn comes with 1,797 images of handwritten digits, 8 x 8 pixels each. Each row is an image, and its pixels are
the features. :class:`kedge.SGL` rebuilds every image from prototypes, the anchors. Images that share anchors end up in
one cluster.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from kedge import SGL, plots
from kedge.metrics import clustering_accuracy, nmi

X, y = load_digits(return_X_y=True)
model = SGL(n_clusters=10, random_state=0).fit(X)
print(f"accuracy {clustering_accuracy(y, model.labels_):.3f}, NMI {nmi(y, model.labels_):.3f}")

# %%
# What a cluster is made of
# -------------------------
# Anchors are means of a few images, so you can look at them. Every anchor belongs to a cluster. The first line shows
# the mean image of each cluster. Below it are the three anchors of the cluster that carry the most weight.

weight = np.asarray(model.graph_.sum(axis=0)).ravel()
figure, axes = plt.subplots(4, 10, figsize=(10, 4.2))
for cluster in range(10):
    anchors = np.flatnonzero(model.anchor_labels_ == cluster)
    heaviest = anchors[np.argsort(weight[anchors])[::-1][:3]]
    images = [X[model.labels_ == cluster].mean(axis=0), *model.anchors_[heaviest]]
    for axis in axes[:, cluster]:
        axis.axis("off")
    for axis, image in zip(axes[:, cluster], images, strict=False):
        axis.imshow(image.reshape(8, 8), cmap="gray_r")
figure.tight_layout()

# %%
# How one image is rebuilt
# ------------------------
# A row of ``graph_`` holds the weights of an image on the anchors. They are not negative and sum to one. The graph has
# several sets of anchors side by side. Each set rebuilds the image, and the weights give the mean over the sets.

row = model.graph_[[0]]
used = row.indices[np.argsort(row.data)[::-1][:5]]
figure, axes = plt.subplots(1, 7, figsize=(10, 1.8))
rebuilt = row @ model.anchors_
for axis, image, title in zip(
    axes,
    [X[0], rebuilt[0], *model.anchors_[used]],
    ["image", "rebuilt", *(f"anchor of {label}" for label in model.anchor_labels_[used])],
    strict=True,
):
    axis.imshow(image.reshape(8, 8), cmap="gray_r")
    axis.set_title(title, fontsize=9)
    axis.axis("off")
figure.tight_layout()

# %%
# Labels that deserve a look
# --------------------------
# ``confidence_`` says how far the cluster of an image leads over the next one among similar images, from 0 to 1.
# Labels with low confidence are wrong more often than the others.

right = np.zeros(len(y), dtype=bool)
for cluster in range(10):
    members = model.labels_ == cluster
    right[members] = y[members] == np.bincount(y[members]).argmax()
low = model.confidence_ < np.quantile(model.confidence_, 0.1)
print(f"in the class of most of their cluster: {right[low].mean():.2f} of the least sure tenth of the rows, ", end="")
print(f"{right[~low].mean():.2f} of the others")

# %%
# More clusters, or fewer
# -----------------------
# The same fit has an answer for every number of clusters. It merges the pair of clusters that loses the least first.

axes = plots.layers(model)
for n_clusters in (5, 8, 10):
    print(f"{n_clusters} clusters: NMI {nmi(y, model.labels_at(n_clusters)):.3f}")
