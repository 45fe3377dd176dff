"""Colours of clusters, the same in all figures.

Six colours of Okabe and Ito, without the yellow that is hard to see on white, and a violet that is as far from them as
they are from each other, also with colour blindness; a test measures it. From the eighth cluster on the colours repeat
with another marker and another hatching.
"""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#9955EE")
# Names of Plotly and of matplotlib for the same shapes.
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down")
MARKERS = ("o", "s", "D", "^", "P", "X", "*", "v")
PATTERNS = ("", "/", "x", ".", "\\", "+", "-", "|")
HATCHES = ("", "//", "xx", "..", "\\\\", "++", "--", "||")


def colour_of(cluster: int) -> str:
    """Return the colour of a cluster."""
    return COLOURS[cluster % len(COLOURS)]


def shape_of(cluster: int) -> int:
    """Return which of the shapes a cluster has."""
    return cluster // len(COLOURS) % len(SYMBOLS)
