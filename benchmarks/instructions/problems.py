"""The fixed problems, as the driver takes them."""

from dataclasses import dataclass

from kedge.kernels.selection import LARGE_SUPPORT

# Ridge at which rows have some six or fourteen weights, by the number of anchors.
FEW = {25: 0.01, 50: 0.01, 64: 0.01, 200: 0.01}
FOURTEEN = {25: 1.0, 50: 0.57, 64: 0.48}
# Ridge at which rows use three quarters of 200 anchors.
DENSE = 18.0


@dataclass(frozen=True)
class Problem:
    """A routine and its data."""

    name: str
    routine: str  # The driver's word for it.
    n_rows: int
    n_columns: int
    counted: str  # What a row has some of.
    dtype: str = "float64"
    rest: tuple[float, ...] = ()  # What else the driver takes.

    @property
    def key(self):
        """What tells it from all others, as it is printed."""
        return self.name, f"{self.n_rows:,}", f"{self.n_columns:,}", self.dtype

    def arguments(self):
        """Words for the driver's command line."""
        return [self.routine, self.dtype, *map(str, (self.n_rows, self.n_columns, *self.rest))]


def rows(start, words, n_rows, n_anchors, ridge, dtype="float64"):
    """Rows for the row solver."""
    name = f"row solver, {start}, {words}"
    return Problem(name, start, n_rows, n_anchors, "weights", dtype, (ridge, LARGE_SUPPORT))


def scan(n_rows, n_columns, count):
    """Distances of which each row's smallest are wanted."""
    name = f"smallest_columns, count {count}"
    return Problem(name, "smallest", n_rows, n_columns, "columns", "float32", (count,))


def search(round_, n_rows, n_centers):
    """Rows whose nearest centre is wanted."""
    return Problem(f"nearest_centers, {round_} round", round_, n_rows, n_centers, "distances", "float32")


def full_problems():
    """Problems of a measurement."""
    return [
        *(rows("cold", "few weights", 2_000, m, FEW[m]) for m in (25, 50, 64)),
        rows("cold", "few weights", 2_000, 50, FEW[50], "float32"),
        *(rows("cold", "more weights", 2_000, m, FOURTEEN[m]) for m in (25, 50, 64)),
        rows("cold", "few weights", 1_000, 200, FEW[200]),
        rows("cold", "most anchors", 400, 200, DENSE),
        rows("warm", "few weights", 2_000, 50, FEW[50]),
        *(scan(1_000, m, count) for m in (1_000, 3_000) for count in (4, 6)),
        *(search(round_, 1_000, 1_000) for round_ in ("first", "later")),
    ]


def quick_problems():
    """Tiny problems of every kind."""
    return [
        rows("cold", "few weights", 40, 25, FEW[25]),
        rows("warm", "few weights", 40, 25, FEW[25]),
        rows("cold", "more weights", 40, 25, FOURTEEN[25]),
        scan(40, 100, 4),
        search("first", 40, 100),
        search("later", 40, 100),
    ]
