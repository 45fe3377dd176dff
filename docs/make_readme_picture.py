"""Draw the picture of the README, docs/digits_map.png: ``python docs/make_readme_picture.py``."""

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from sklearn.datasets import load_digits

from kedge import SGL, plots
from kedge.plots import COLOURS

# plots.map has seven colours and then changes the shape; ten look better here.
TEN_COLOURS = (*COLOURS, "#8C564B", "#444444", "#A0B500")
PICTURE = Path(__file__).parent / "digits_map.png"


def draw():
    """Draw the map of the digits, with the mean image of each cluster where plots.map writes its number."""
    X, _ = load_digits(return_X_y=True)
    model = SGL(n_clusters=10, random_state=0).fit(X)
    figure, axes = plt.subplots(figsize=(9, 5.6), layout="constrained")
    plots.map(model, ax=axes)
    for rows, anchors, colour in zip(axes.collections[::2], axes.collections[1::2], TEN_COLOURS, strict=True):
        rows.set_color(colour)
        anchors.set_edgecolor(colour)
    for number in list(axes.texts):
        cluster = int(number.get_text())
        mean = X[model.labels_ == cluster].mean(axis=0).reshape(8, 8)
        frame = {"edgecolor": TEN_COLOURS[cluster], "linewidth": 2, "boxstyle": "round,pad=0.15"}
        image = OffsetImage(mean, zoom=3.6, cmap="gray_r", interpolation="bilinear")
        axes.add_artist(AnnotationBbox(image, number.get_position(), bboxprops=frame, pad=0.1))
        number.remove()
    axes.set(xticks=[], yticks=[], xlabel="", ylabel="")
    axes.set_title("1,797 handwritten digits in ten clusters. Dots are rows, hollow marks are anchors.", fontsize=12)
    axes.spines[:].set_visible(False)
    return figure


if __name__ == "__main__":
    plt.switch_backend("agg")
    draw().savefig(PICTURE, dpi=110, metadata={"Software": None}, pil_kwargs={"optimize": True})
    print(f"{PICTURE}: {PICTURE.stat().st_size / 1000:.0f} kB")
