"""The front of quality against time, docs/speed_front.png: ``python -m benchmarks.speed.picture``."""

import argparse
from pathlib import Path

import numpy as np

from benchmarks.speed import recorded
from benchmarks.speed.front import rivals_ahead
from benchmarks.speed.rivals import COARSE, METHODS, OURS

PICTURE = Path(__file__).parents[2] / "docs" / "speed_front.png"
WIDTH, HEIGHT, DPI = 10.0, 6.8, 100
# Of the range of NMI: what is left free above and below, and what the line of a stopped method takes. A range is never
# smaller than this, or chance would fill the panel of a set where no method finds anything.
MARGIN, LINE, LEAST_HEIGHT = 0.2, 0.08, 0.005
KEDGE, KMEANS, GRAPHS, REGION = "#D55E00", "#5B6770", "#0072B2", "#FBE9DC"
SHORT = {
    OURS: "kedge",
    COARSE: "kedge, coarse",
    "KMeans, n_init=1": "KMeans",
    "KMeans, n_init=10": "KMeans, 10 starts",
    "sklearnex KMeans, n_init=1": "sklearnex",
    "faiss Kmeans, sampled": "faiss, sampled",
    "faiss Kmeans, all rows": "faiss, all rows",
    "MiniBatchKMeans": "MiniBatch",
    "UMAP + k-means": "UMAP + k-means",
    "UMAP graph + Leiden": "Leiden",
    "UMAP graph + Leiden at k": "Leiden at k",
}
EXPLANATION = """
Farther left is faster, higher is better.
In the shaded region, a rival would be
as fast and as good as kedge.

Hollow marks: stopped, no score.
""".strip()
# Where a label may go, in points from its mark: beside it first, then farther and farther off.
ANGLES = np.deg2rad([0, 180, 90, 270, 30, 330, 150, 210])
PLACES = [(reach, angle) for reach in (6, 14, 23, 33, 44) for angle in ANGLES]


def colour_of(method):
    """Return the colour of kedge, of the kinds of k-means, or of what begins with a graph of neighbours."""
    return KEDGE if method in (OURS, COARSE) else KMEANS if METHODS[method].is_kmeans else GRAPHS


def draw(found):
    """Return a figure with a panel per data set."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 3, figsize=(WIDTH, HEIGHT), layout="constrained")
    for axes, one in zip(panels.flat, found.values(), strict=False):
        draw_panel(axes, one)
    for axes in panels.flat[len(found) :]:
        axes.axis("off")
    explain(panels.flat[-1])
    figure.canvas.draw()  # labels are placed where all else has its place
    for axes, one in zip(panels.flat, found.values(), strict=False):
        label_points(axes, one)
    return figure


def draw_panel(axes, one):
    """Draw the points of one data set, and the region where a rival would be ahead of kedge."""
    points = one.points()
    seconds, scores = np.array(list(points.values())).T
    low, high = seconds.min() / 2.2, 3 * max(*seconds, *map(_limit, one.stopped().values()))
    height = max(np.ptp(scores), LEAST_HEIGHT)
    bottom = scores.min() - height * (MARGIN + LINE * len(one.stopped()))
    top = scores.max() + height * MARGIN
    axes.set(xscale="log", xlim=(low, high), ylim=(bottom, top))
    axes.set_title(f"{recorded.TITLES[one.name]}, {one.n_rows} x {one.n_columns}", fontsize=10, loc="left")
    for right, floor in (points[method] for method in rivals_ahead(points)):
        axes.fill_between([low, right], floor, top, color=REGION, zorder=0, linewidth=0)
    for method, point in points.items():
        is_ours = method in (OURS, COARSE)
        axes.plot(*point, "D" if is_ours else "o", color=colour_of(method), markersize=8 if is_ours else 5.5)
    axes.set_yticks([tick for tick in axes.get_yticks() if bottom <= tick <= top and 0 <= tick <= 1])
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g}")
    axes.tick_params(labelsize=8, length=3)
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_subplotspec().is_first_col():
        axes.set_ylabel("NMI, percent", fontsize=9)
    if axes.get_subplotspec().is_last_row() or axes.get_subplotspec().is_last_col():
        axes.set_xlabel("seconds of a fit", fontsize=9)


def _limit(words):
    return float(words.removeprefix("> "))


def label_points(axes, one):
    """Write the name of each method where it covers no mark and no other name, kedge first."""
    points = one.points()
    marks = {method: axes.transData.transform(point) for method, point in points.items()}
    taken = [_around(mark, 9, 9) for mark in marks.values()]
    stopped = one.stopped()
    for row, (method, words) in enumerate(stopped.items()):
        spot = (_limit(words), 0.045 + 0.062 * row)
        axes.plot(*spot, ">", transform=axes.get_xaxis_transform(), color=GRAPHS, mfc="white", markersize=6)
        text = axes.annotate(
            f"{SHORT[method]}: {words} s",
            spot,
            (-6, 0),
            xycoords=axes.get_xaxis_transform(),
            textcoords="offset points",
            fontsize=7.5,
            ha="right",
            va="center",
            color=GRAPHS,
        )
        taken.append(text.get_window_extent().padded(1))
    for method in sorted(points, key=lambda name: (not name.startswith("kedge"), points[name])):
        place_label(axes, method, points[method], taken)


def place_label(axes, method, point, taken):
    """Write one name at the first place that is free, else where it covers least, with a thin line if it is far off."""
    is_ours = method in (OURS, COARSE)
    style = {"fontsize": 10 if is_ours else 7.5, "color": colour_of(method), "weight": "bold" if is_ours else "normal"}
    text = axes.annotate(SHORT[method], point, (0, 0), textcoords="offset points", **style)
    frame, best = axes.get_window_extent(), None
    for reach, angle in PLACES:
        x, y = reach * np.cos(angle), reach * np.sin(angle)
        text.set(
            position=(x, y),
            ha="left" if x > 1 else "right" if x < -1 else "center",
            va="center" if abs(y) < 1 else "bottom" if y > 0 else "top",
        )
        box = text.get_window_extent()
        covered = sum(_shared(box, other) for other in taken) + box.width * box.height - _shared(box, frame)
        if best is None or covered < best[0] - 1:
            best = covered, text.get_position(), text.get_ha(), text.get_va(), box, reach
        if covered == 0:
            break
    _, position, ha, va, box, reach = best
    text.set(position=position, ha=ha, va=va)
    taken.append(box.padded(1))
    if reach > PLACES[0][0]:
        line = {"arrowstyle": "-", "color": style["color"], "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3}
        axes.annotate("", point, position, textcoords="offset points", arrowprops=line)


def _around(centre, width, height):
    from matplotlib.transforms import Bbox

    return Bbox.from_bounds(centre[0] - width / 2, centre[1] - height / 2, width, height)


def _shared(box, other):
    """Return the area that two boxes share."""
    width = min(box.x1, other.x1) - max(box.x0, other.x0)
    height = min(box.y1, other.y1) - max(box.y0, other.y0)
    return max(width, 0) * max(height, 0)


def explain(axes):
    """Say what the panels show, in the place of the last one."""
    axes.axis("off")
    kinds = {KEDGE: "kedge", KMEANS: "k-means of several libraries", GRAPHS: "on UMAP's graph of neighbours"}
    for row, (colour, words) in enumerate(kinds.items()):
        weight = "bold" if colour == KEDGE else "normal"
        axes.text(0.1, 0.86 - 0.1 * row, words, color=colour, weight=weight, fontsize=10, transform=axes.transAxes)
    axes.text(0.1, 0.54, EXPLANATION, fontsize=9, va="top", linespacing=1.45, transform=axes.transAxes)


def main():
    """Draw the recorded output."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.picture", description=__doc__)
    parser.add_argument("--record", type=Path, default=recorded.RECORD, help="output of python -m benchmarks.speed")
    parser.add_argument("--out", type=Path, default=PICTURE, help="PNG to write; default docs/speed_front.png")
    arguments = parser.parse_args()
    save(arguments.record, arguments.out)


def save(record=recorded.RECORD, picture=PICTURE):
    """Draw a recorded output into a PNG, and say how large it is."""
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    draw(recorded.read(record)).savefig(picture, dpi=DPI, metadata={"Software": None}, pil_kwargs={"optimize": True})
    print(f"{picture}: {picture.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
