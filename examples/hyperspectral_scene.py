"""
A hyperspectral scene
=====================

Every pixel of a hyperspectral image is a spectrum of many bands. The shape of the spectrum tells you what covers the
pixel, and its length tells you how bright the pixel is. Spectra of one kind of cover lie near a subspace of few
dimensions: they mix a few pure spectra in different shares, under different light.

The program makes the scene: 120 x 120 pixels, 100 bands, and five kinds of cover, each a mixture of three pure spectra.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter

from kedge import SGL
from kedge.baselines import KMeans
from kedge.metrics import clustering_accuracy

SIDE, N_BANDS, N_KINDS = 120, 100, 5
rng = np.random.default_rng(0)

terrain = np.stack([gaussian_filter(rng.normal(size=(SIDE, SIDE)), 9) for _ in range(N_KINDS)])
cover = terrain.argmax(axis=0)
pure = 0.3 + gaussian_filter(rng.normal(size=(N_KINDS, 3, N_BANDS)), (0, 0, 6))
shares = rng.dirichlet(np.ones(3), SIDE * SIDE)
light = rng.uniform(0.4, 1.6, size=(SIDE * SIDE, 1))
spectra = light * np.einsum("ij,ijb->ib", shares, pure[cover.ravel()]) + 0.01 * rng.normal(size=(SIDE * SIDE, N_BANDS))
print(f"{len(spectra):,} pixels of {N_BANDS} bands")

# %%
# Unit length removes the light
# -----------------------------
# ``scale="l2"`` brings every spectrum to unit length, in the fit and for new pixels. k-means gets the same scaling, so
# both see the same rows.

sgl = SGL(N_KINDS, scale="l2", random_state=0).fit(spectra)
kmeans = KMeans(N_KINDS, scale="l2", random_state=0).fit(spectra)
maps = {"truth": cover.ravel(), "SGL": sgl.labels_, "k-means": kmeans.labels_}
for name in ("SGL", "k-means"):
    print(f"{name}: accuracy {clustering_accuracy(cover.ravel(), maps[name]):.3f}")

figure, axes = plt.subplots(1, 3, figsize=(10, 3.6))
for axis, (name, labels) in zip(axes, maps.items(), strict=True):
    axis.imshow(labels.reshape(SIDE, SIDE), cmap="tab10", vmax=9)
    axis.set_title(name)
    axis.axis("off")
figure.tight_layout()

# %%
# The anchors are spectra
# -----------------------

figure, axis = plt.subplots(figsize=(8, 3))
for cluster in range(N_KINDS):
    axis.plot(sgl.anchors_[sgl.anchor_labels_ == cluster].T, color=f"C{cluster}", linewidth=0.8)
axis.set_xlabel("band")
axis.set_ylabel("at unit length")
figure.tight_layout()
