"""``kedge.report.write_report``: the page, whole or not at all."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kedge.report.material import check_material
from kedge.report.page import render_page
from kedge.report.plotly_figures import plotly_program
from kedge.whole_file import replace_whole


def write_report(
    path: str | os.PathLike[str],
    model: Any,
    views: Sequence[Any] | None,
    *,
    view_names: Sequence[str],
    feature_names: Sequence[Sequence[str] | None] | None = None,
    row_names: Sequence[Any] | None = None,
    true_labels: Any = None,
    image_shape: Any = None,
    run: dict[str, Any] | None = None,
) -> None:
    """Write one self-contained HTML page about a fitted model.

    The page opens from disk without a network. Of many rows it shows samples, so that its size stays within some
    megabytes; memory beyond the model and the data is that of a block of rows and a few numbers per row.

    Parameters
    ----------
    path : path
        The file to write, whole or not at all.
    model : SGL or MSGL
        The fitted model.
    views : list of matrices, or None
        The rows of the fit, dense or CSR, one matrix per view (one in all for SGL); None if they are not at hand,
        and then the page lacks what needs them, and says so.
    view_names : list of str
        One name per view.
    feature_names : list of lists of str, or None, default=None
        Names of the columns of every view; None, for all or for one, means those that the model has seen, or numbers.
    row_names : sequence of shape (n_samples,) or None, default=None
        Names of the rows; None means numbers.
    true_labels : array-like of shape (n_samples,) or None, default=None
        Known classes, to score the clusters by.
    image_shape : (height, width), list of them with one per view, or None, default=None
        Where rows are images: the prototypes of clusters are shown as such.
    run : dict or None, default=None
        What ``run.json`` of a run folder holds: times, versions, data. With ``data_missing`` it may say why ``views``
        is None.

    Raises
    ------
    ValueError
        Something does not fit the model; the message says what.
    """
    material = check_material(model, views, view_names, feature_names, row_names, true_labels, image_shape, run)
    program = plotly_program()
    page = render_page(material, program)
    with replace_whole(Path(path)) as file:
        file.write(page.encode("utf-8", errors="replace"))
