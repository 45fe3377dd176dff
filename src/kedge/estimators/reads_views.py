"""Reading of several views, in whatever form they come, by estimators that keep to the views of their fit."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from kedge.estimators.stored_input import check_matrix, columns_of
from kedge.estimators.view_forms import NamedViews, in_order_of_fit, resolve_columns, single_matrix, split_views
from kedge.estimators.view_input import Views, check_views


class ReadsViews:
    """Mixin for estimators with a parameter ``views``."""

    views: Any
    view_names_: list[str]
    view_widths_: list[int]

    def _read(self, X: Any, observed: Any, reset: bool) -> Views:
        """Bring any form of views to checked arrays; ``reset`` in fit, else they must be the views of the fit."""
        if not reset:
            check_is_fitted(self)
        separate = split_views(X)
        if separate is None:
            return self._read_columns(single_matrix(X), observed, reset)
        if not reset:
            return check_views(in_order_of_fit(separate, self.view_names_), observed, self.view_widths_)
        views = check_views(separate, observed)
        for name in ("feature_names_in_", "view_columns_"):
            if hasattr(self, name):
                delattr(self, name)
        self.n_features_in_ = sum(views.widths)
        self.view_names_, self.view_widths_ = list(views.names), views.widths
        return views

    def _read_columns(self, X: Any, observed: Any, reset: bool) -> Views:
        """Cut one matrix into its views."""
        X = check_matrix(self, X, reset=reset, finite=False)
        if reset:
            feature_names = getattr(self, "feature_names_in_", None)
            names, columns = resolve_columns(self.views, X.shape[1], feature_names)
            self.view_columns_ = [[c.start, c.stop, c.step] if isinstance(c, slice) else c for c in columns]
        elif not hasattr(self, "view_columns_"):
            raise ValueError("X is one matrix, but fit saw separate views; pass a list or a dict of them")
        else:
            names = self.view_names_
        parts = [slice(*c) if isinstance(c, list) else c for c in self.view_columns_]
        given = NamedViews(names, [columns_of(X, part) for part in parts])
        views = check_views(given, observed, None if reset else self.view_widths_)
        if reset:
            self.view_names_, self.view_widths_ = names, views.widths
        return views
