"""What all baselines share: parameters and their documentation, checks of the input and its size, and one ``fit``."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, NoReturn, Self, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from kedge.core.labels import number_by_first_rows
from kedge.core.rows import View
from kedge.core.scaling import ViewScaling
from kedge.inputs import ReadsViews
from kedge.kernels.selection import one_thread_per_library
from kedge.memory import machine_memory
from kedge.parameters import BASELINE_RULES, MULTI_VIEW_BASELINE_RULES, checked_fit, scale_per_view
from kedge.readers.arrays import StoredView, learn_array_scaling

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.intp]
Labels = NDArray[np.int64]
Estimator = TypeVar("Estimator", bound="Baseline")

# The baselines by name; the decorator below adds each one.
METHODS: dict[str, "Method"] = {}
_GIB = 2**30
_SCALES = '{{"none", "zscore", "minmax", "l2", "zscore_l2", "tfidf", "auto"}}'
# Documentation that baselines share: the beginning and the end of sections, and an example unless a class has its own.
_FIRST_PARAMETERS = """
    n_clusters : int, default=8
        Number of clusters."""
_VIEWS = """
    views : list or dict or None, default=None
        If X is one matrix, the columns of its views: widths, slices, or lists of column names or numbers; a dict also
        names them. None means that such an X is one view."""
_SCALE = f"""
    scale : {_SCALES}, default="{{scale}}"
        How X is scaled first, as in :class:`kedge.SGL`. Methods for subspaces usually take unit rows, "l2"."""
_SCALE_PER_VIEW = f"""
    scale : {_SCALES}, or a list or dict of them, default="{{scale}}"
        How each view is scaled first, as in :class:`kedge.MSGL`."""
_LAST_PARAMETERS = """
    memory_limit : float or None, default=None
        Bytes that the fit may use; None means the memory of the machine.
    random_state : int, RandomState instance or None, default=None
        Seed of everything that is random in the fit."""
_FIRST_ATTRIBUTES = """
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row. Clusters are numbered by their first rows."""
_EMBEDDING = """
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Leading eigenvectors of the normalised graph."""
_VIEW_NAMES = """
    view_names_ : list of str
        Names of the views."""
_EXAMPLE = """
    Examples
    --------
    >>> from kedge import baselines, datasets
    >>> X, y = {data}
    >>> sorted(set(baselines.{name}(2, random_state=0).fit_predict(X).tolist()))
    [0, 1]
    """
_ONE_VIEW = "datasets.make_union_of_subspaces(100, n_subspaces=2, dim=4, ambient_dim=12, random_state=0)"
_SEVERAL_VIEWS = "datasets.make_multiview(90, n_clusters=2, noise=1.0, random_state=0)"


@dataclass(frozen=True)
class Method:
    """A baseline and what one needs to know to choose it.

    Attributes
    ----------
    estimator : type
        The class.
    kind : str
        "single" for one matrix, "multi" for several views.
    title : str
        What it does, in one line.
    cost : str
        How time grows with n rows, d features, k clusters, m anchors, p rows of a sample, r ranks or s picks.
    grid : mapping of parameters to lists
        The values that the authors tried, if known; "3k" is three times the number of clusters.
    grid_source : str
        Where the grid comes from.
    reconstruction : bool
        Whether parts are our reading of the paper, because the authors' program was not available.
    """

    estimator: type[Any]
    kind: str
    title: str
    cost: str
    grid: Mapping[str, Sequence[Any]]
    grid_source: str
    reconstruction: bool

    @property
    def name(self) -> str:
        """Name of the class in ``kedge.baselines``."""
        return self.estimator.__name__

    @property
    def reference(self) -> str:
        """Where it was published, from the docstring of the class."""
        _, _, rest = (inspect.getdoc(self.estimator) or "").partition("References\n----------\n")
        return " ".join(rest.partition("\n\nExamples\n")[0].split())

    @property
    def predicts(self) -> bool:
        """Whether it can label new rows."""
        return hasattr(self.estimator, "predict")

    @property
    def largest_n(self) -> int:
        """About how many rows of 100 features it can take on 24 GB beyond X, with default parameters."""
        return int(self.make(8).largest_n(24e9, 100))

    def make(self, n_clusters: int, **parameters: Any) -> Any:
        """Return an estimator with this number of clusters and these parameters."""
        return self.estimator(n_clusters, **parameters)


def parameter(*rules: Any, default: Any) -> Any:
    """Return a parameter of a baseline: its default, and the rules that scikit-learn checks it with."""
    return field(default=default, kw_only=True, metadata={"rules": list(rules)})


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter, field))
def baseline(
    title: str,
    *,
    cost: str,
    grid: Mapping[str, Sequence[Any]] | None = None,
    grid_source: str = "nothing to tune",
    reconstruction: bool = False,
) -> Callable[[type[Estimator]], type[Estimator]]:
    """Make a class a baseline and add it to ``METHODS``; the arguments are those of :class:`Method`.

    The class gets its ``__init__`` from its parameters, as a dataclass does, and scikit-learn checks them by their
    rules. Its docstring is completed by the parameters, the attributes and the example that baselines share.
    """

    def decorate(cls: type[Estimator]) -> type[Estimator]:
        several = issubclass(cls, MultiViewBaseline)
        made = dataclass(eq=False, repr=False)(cls)
        own = {one.name: one.metadata["rules"] for one in fields(made) if one.metadata.get("rules")}
        made._parameter_constraints = (MULTI_VIEW_BASELINE_RULES if several else BASELINE_RULES) | own
        made.__doc__ = _complete(cls, several)
        kind = "multi" if several else "single"
        METHODS[cls.__name__] = Method(made, kind, title, cost, grid or {}, grid_source, reconstruction)
        return made

    return decorate


def _complete(cls: type[Any], several: bool) -> str:
    """Add what baselines share to the docstring of one of them."""
    doc: str = cls.__doc__ or ""
    last = (_SCALE_PER_VIEW if several else _SCALE).format(scale=cls.scale) + _LAST_PARAMETERS
    added = {
        "Parameters": (_FIRST_PARAMETERS + (_VIEWS if several else ""), last),
        "Attributes": (_FIRST_ATTRIBUTES + (_EMBEDDING if cls._has_embedding else ""), _VIEW_NAMES if several else ""),
    }
    for name, (first, end) in added.items():
        heading = f"    {name}\n    {'-' * len(name)}"
        before, found, section = doc.partition(heading)
        own, gap, after = section.partition("\n\n")
        doc = before + found + first + own + end + gap + after if found else doc
    if ">>>" in doc:
        return doc
    return doc.rstrip() + "\n" + _EXAMPLE.format(data=_SEVERAL_VIEWS if several else _ONE_VIEW, name=cls.__name__)


def refuse(method: str, n_samples: int, needed: int, largest: int, limit: float, *, is_own: bool) -> NoReturn:
    """Raise MemoryError for a fit that is too large; ``is_own`` says whether the user set the limit."""
    raise MemoryError(
        f"{method} of {n_samples:,} rows needs about {needed / _GIB:,.1f} GiB of memory beyond X, and "
        f"{'memory_limit allows' if is_own else 'the machine has'} {limit / _GIB:,.1f}; at most about {largest:,} rows "
        "fit: pass fewer rows, or use a method that is linear in them, such as kedge.SGL"
    )


@dataclass(eq=False, repr=False)
class Baseline(ClusterMixin, BaseEstimator):
    """Base of all methods.

    A method defines ``_memory_needed`` and ``_cluster(X, random_state)``. The latter gets checked and scaled rows of
    float64, an ndarray or a CSR array (for several views, a list of them) that it must not change. It returns the
    fitted attributes by name, with ``labels_`` among them.
    """

    n_clusters: int = 8
    scale: Any = field(default="none", kw_only=True)
    memory_limit: float | None = field(default=None, kw_only=True)
    random_state: Any = field(default=None, kw_only=True)

    labels_: Labels = field(init=False)
    scalings_: list[dict[str, Any]] = field(init=False)

    # The smallest number of rows that makes sense.
    _least_rows: ClassVar[int] = 2
    # BLAS and OpenMP get one thread, because the last bits of sums depend on their number, and some methods amplify
    # them. Methods that are scikit-learn's own run as their users know them.
    _one_thread: ClassVar[bool] = True
    # Whether ``embedding_`` is documented as the leading eigenvectors of a graph between rows.
    _has_embedding: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]]

    def __sklearn_tags__(self) -> Any:
        """Say that sparse input is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def memory_needed(self, n_samples: int, n_features: int) -> int:
        """Return about how many bytes a fit takes beyond X; ``n_features`` counts all views together."""
        return self._memory_needed(n_samples, n_features)

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        raise NotImplementedError

    def largest_n(self, memory: float, n_features: int = 100) -> int:
        """Return how many rows a fit can take with so many bytes of memory, at most 10^12."""
        low, high = 1, 10**12
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.memory_needed(middle, n_features) <= memory else (low, middle - 1)
        return low

    def _fit(self, arrays: list[View]) -> Self:
        """Check the size, scale, cluster, and store the fitted attributes."""
        self._check_size(arrays[0].shape[0], sum(array.shape[1] for array in arrays))
        random_state = check_random_state(self.random_state)
        with one_thread_per_library() if self._one_thread else nullcontext():
            self.scalings_ = [vars(scaling) | {} for scaling in self._learn_scalings(arrays)]
            scaled = self._scaled(arrays)
            found = self._cluster(scaled if isinstance(self, MultiViewBaseline) else scaled[0], random_state)
        for name, value in (found | {"labels_": number_by_first_rows(found["labels_"])}).items():
            setattr(self, name, value)
        return self

    def _check_size(self, n_samples: int, n_features: int) -> None:
        if n_samples < self.n_clusters:
            raise ValueError(
                f"n_samples={n_samples} should be >= n_clusters={self.n_clusters}; ask for fewer clusters or pass more "
                "rows"
            )
        limit = machine_memory() if self.memory_limit is None else self.memory_limit
        needed = self.memory_needed(n_samples, n_features)
        if needed > limit:
            largest = self.largest_n(limit, n_features)
            refuse(type(self).__name__, n_samples, needed, largest, limit, is_own=self.memory_limit is not None)

    def _scaled(self, arrays: list[View]) -> list[View]:
        scalings = [ViewScaling(**parts) for parts in self.scalings_]
        return [scaling.apply(array) for scaling, array in zip(scalings, arrays, strict=True)]

    def _learn_scalings(self, arrays: list[View]) -> list[ViewScaling]:
        raise NotImplementedError

    def _cluster(self, X: Any, random_state: np.random.RandomState) -> dict[str, Any]:
        raise NotImplementedError


class SingleViewBaseline(Baseline):
    """Base of the methods for one matrix."""

    @checked_fit
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows to cluster.
        y : None
            Ignored.
        """
        return self._fit([self._read_rows(X, reset=True)])

    def _read_rows(self, X: Any, reset: bool) -> View:
        least = self._least_rows if reset else 1
        return _as_array(
            validate_data(self, X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=least, reset=reset)
        )

    def _read_new_rows(self, X: Any) -> View:
        """Check new rows for ``predict`` and scale them as in fit."""
        check_is_fitted(self)
        return self._scaled([self._read_rows(X, reset=False)])[0]

    def _learn_scalings(self, arrays: list[View]) -> list[ViewScaling]:
        scaling = learn_array_scaling(self.scale, arrays[0], to_unit_rows=True)
        # Unit rows of the only view have length one exactly.
        return [ViewScaling("l2") if scaling.kind == "l2" else scaling]


@dataclass(eq=False, repr=False)
class RowGraphBaseline(SingleViewBaseline):
    """Base of the methods for subspaces, which cut a graph between rows of unit length."""

    scale: Any = field(default="l2", kw_only=True)

    _has_embedding: ClassVar[bool] = True


@dataclass(eq=False, repr=False)
class MultiViewBaseline(ReadsViews, Baseline):
    """Base of the methods for several views, in any form that :class:`kedge.MSGL` takes; no row may lack a view."""

    views: Any = field(default=None, kw_only=True)
    scale: Any = field(default="auto", kw_only=True)

    @checked_fit
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of all views together.

        Parameters
        ----------
        X : list or dict of matrices of shape (n_samples, n_features of the view), MuData object, or one matrix
            The views; the parameter ``views`` cuts one matrix into views.
        y : None
            Ignored.
        """
        return self._fit(self._read_complete(X, reset=True))

    def _read_new_rows(self, X: Any) -> list[View]:
        """Check new rows for ``predict`` and scale them as in fit."""
        return self._scaled(self._read_complete(X, reset=False))

    def _read_complete(self, X: Any, reset: bool) -> list[View]:
        views = self._read(X, None, reset)
        if views.observed is not None:
            row = int(np.flatnonzero(~views.observed.all(axis=1))[0])
            name = views.names[int(np.flatnonzero(~views.observed[row])[0])]
            raise ValueError(
                f"row {row} has NaN throughout {name!r}: {type(self).__name__} needs all views of all rows; drop such "
                "rows, fill them, or use kedge.MSGL, which takes rows that lack views"
            )
        for array, name in zip(views.arrays, views.names, strict=True):
            if isinstance(array, StoredView):
                raise TypeError(f"{name!r} is not in memory; load it, or use kedge.MSGL, which reads block by block")
        if reset and views.n_rows < self._least_rows:
            raise ValueError(
                f"Found array with {views.n_rows} sample(s) while a minimum of {self._least_rows} is required"
            )
        return [_as_array(array).astype(np.float64, copy=False) for array in views.arrays]

    def _learn_scalings(self, arrays: list[View]) -> list[ViewScaling]:
        kinds = scale_per_view(self.scale, self.view_names_)
        return [
            learn_array_scaling(kind, array, name, to_unit_rows=True)
            for kind, array, name in zip(kinds, arrays, self.view_names_, strict=True)
        ]

    def _count_views(self) -> int:
        """Return the number of views of the last X, for estimates of memory; one before any X was seen."""
        return len(getattr(self, "view_widths_", (0,)))


class LabelsNewRows:
    """Mixin of methods that label new rows; they define ``_label``, which gets checked and scaled rows."""

    def predict(self: Any, X: Any) -> Labels:
        """Return the clusters of new rows.

        Parameters
        ----------
        X : as in fit
            New rows with the same features, or views.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each row.
        """
        labels: Labels = self._label(self._read_new_rows(X))
        return labels


def _as_array(X: Any) -> View:
    """Return sparse matrices as CSR arrays, whose ``*`` multiplies entries as ndarrays do."""
    return sparse.csr_array(X) if sparse.issparse(X) else X


def as_dense(matrix: Any) -> Array:
    """Return an ndarray or a sparse matrix as an ndarray."""
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)
