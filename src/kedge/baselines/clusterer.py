"""What all baselines share: checks of the input, of its size and of the parameters, and how results are kept."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from kedge.baselines.memory import largest_that_fits, refuse
from kedge.core.rows import View
from kedge.core.scaling import ViewScaling
from kedge.inputs import ReadsViews
from kedge.kernels.selection import one_thread_per_library
from kedge.memory import machine_memory
from kedge.parameters import checked_fit, scale_per_view
from kedge.readers.arrays import learn_array_scaling
from kedge.readers.stored_rows import StoredView


class Baseline(ClusterMixin, BaseEstimator):
    """Base of all methods. A method defines ``_memory_needed`` and ``_cluster``; see :class:`SingleViewBaseline`."""

    # Attributes that every fit leaves.
    labels_: NDArray[np.int64]
    scalings_: list[dict[str, Any]]

    # The smallest number of rows that makes sense.
    _least_rows: ClassVar[int] = 2
    # Sums have other last bits on other numbers of threads, and some methods amplify them: so BLAS and OpenMP get one.
    # Methods that are scikit-learn's own run as their users know them.
    _one_thread: ClassVar[bool] = True

    def __init__(self, n_clusters: int, scale: Any, memory_limit: float | None, random_state: Any) -> None:
        self.n_clusters = n_clusters
        self.scale = scale
        self.memory_limit = memory_limit
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Say that sparse input is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def memory_needed(self, n_samples: int, n_features: int) -> int:
        """Return about how many bytes a fit takes beyond X, at the present parameters.

        Parameters
        ----------
        n_samples : int
            Rows.
        n_features : int
            Features, of all views together.
        """
        return self._memory_needed(n_samples, n_features)

    def _memory_needed(self, n_samples: int, n_features: int) -> int:
        raise NotImplementedError

    def largest_n(self, memory: float, n_features: int = 100) -> int:
        """Return how many rows the method can take with so many bytes of memory.

        Parameters
        ----------
        memory : float
            Bytes.
        n_features : int, default=100
            Features, of all views together.
        """
        return largest_that_fits(lambda n: self.memory_needed(n, n_features), memory)

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

    def _thread_limit(self) -> AbstractContextManager[None]:
        return one_thread_per_library() if self._one_thread else nullcontext()

    def _keep(self, found: dict[str, Any], scalings: list[ViewScaling]) -> Self:
        """Store what was found, all at once."""
        for name, value in found.items():
            setattr(self, name, value)
        self.scalings_ = [vars(scaling) | {} for scaling in scalings]
        return self

    def _scalings(self) -> list[ViewScaling]:
        return [ViewScaling(**parts) for parts in self.scalings_]


class SingleViewBaseline(Baseline):
    """Base of the methods for one matrix.

    A method defines ``_memory_needed`` and ``_cluster(X, random_state)``, which gets checked and scaled rows of
    float64, an ndarray or a CSR array that it must not change, and returns its attributes by name, ``labels_`` among
    them.
    """

    @checked_fit
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows to cluster.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X = validate_data(
            self, X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=self._least_rows, reset=True
        )
        self._check_size(*X.shape)
        random_state = check_random_state(self.random_state)
        with self._thread_limit():
            scaling = learn_single_scaling(self.scale, X)
            found = self._cluster(scaling.apply(as_array(X)), random_state)
        return self._keep(found, [scaling])

    def _read_new_rows(self, X: Any) -> View:
        """Check new rows for ``predict`` and scale them as in fit."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return self._scalings()[0].apply(as_array(X))

    def _cluster(self, X: View, random_state: RandomState) -> dict[str, Any]:
        raise NotImplementedError


class MultiViewBaseline(ReadsViews, Baseline):
    """Base of the methods for several views, given in any form that :class:`kedge.MSGL` takes; no row may lack one.

    A method defines ``_memory_needed`` and ``_cluster(views, random_state)``, which gets the checked and scaled views
    as a list of ndarrays or CSR arrays of float64 that it must not change, and returns its attributes by name,
    ``labels_`` among them.
    """

    @checked_fit
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of all views together.

        Parameters
        ----------
        X : list or dict of matrices of shape (n_samples, n_features of the view), MuData object, or one matrix
            The views; one matrix is cut into views by the parameter ``views``.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        arrays = self._read_complete(X, reset=True)
        self._check_size(arrays[0].shape[0], sum(array.shape[1] for array in arrays))
        random_state = check_random_state(self.random_state)
        kinds = scale_per_view(self.scale, self.view_names_)
        with self._thread_limit():
            scalings = [
                learn_array_scaling(kind, array, name, to_unit_rows=True)
                for kind, array, name in zip(kinds, arrays, self.view_names_, strict=True)
            ]
            scaled = [scaling.apply(array) for scaling, array in zip(scalings, arrays, strict=True)]
            found = self._cluster_scaled(scaled, scalings, random_state)
        return self._keep(found, scalings)

    def _read_new_rows(self, X: Any) -> list[View]:
        """Check new rows for ``predict`` and scale them as in fit."""
        arrays = self._read_complete(X, reset=False)
        return [scaling.apply(array) for scaling, array in zip(self._scalings(), arrays, strict=True)]

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
        return [as_array(array).astype(np.float64, copy=False) for array in views.arrays]

    def _count_views(self) -> int:
        """Return the number of views of the last X, for estimates of memory; one before any X was seen."""
        return len(getattr(self, "view_widths_", (0,)))

    def _cluster_scaled(
        self, views: list[View], scalings: list[ViewScaling], random_state: RandomState
    ) -> dict[str, Any]:
        """Cluster; overridden by methods with parameters in the units of X, which need the scalings."""
        return self._cluster(views, random_state)

    def _cluster(self, views: list[View], random_state: RandomState) -> dict[str, Any]:
        raise NotImplementedError


def as_array(X: Any) -> View:
    """Return sparse matrices as CSR arrays, whose ``*`` is entry by entry like that of ndarrays."""
    return sparse.csr_array(X) if sparse.issparse(X) else X


def learn_single_scaling(kind: str, X: View) -> ViewScaling:
    """Learn the scaling of the only view; unit rows are of length one exactly, zero rows or not."""
    scaling = learn_array_scaling(kind, X, to_unit_rows=True)
    return ViewScaling("l2") if scaling.kind == "l2" else scaling


def dense_gram(X: View) -> NDArray[np.float64]:
    """Return ``X X'`` as an ndarray."""
    product = X @ X.T
    return np.asarray(product.toarray() if sparse.issparse(product) else product)
