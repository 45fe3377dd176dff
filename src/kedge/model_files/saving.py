"""``kedge.save``: a model into a file."""

import os
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

from scipy import sparse

from kedge.model_files.container import write_container
from kedge.model_files.encoding import Encoder
from kedge.model_files.estimator_names import name_of
from kedge.model_files.fitted_attributes import find_fault
from kedge.model_files.limits import FORMAT, VERSION
from kedge.whole_file import replace_whole

_LIBRARIES = ("kedge", "numpy", "scipy", "scikit-learn")


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a model, fitted or not, in one file that :func:`kedge.load` reads without running code.

    The file is written beside its place and moved there whole: after an error, what was there before is still there.
    Rows that the model keeps on disk or on a cluster are brought into the file. Equal models give equal files.

    Parameters
    ----------
    model : SGL, MSGL or baseline
        The model; its parameters and attributes are stored, functions such as ``callback`` are left out with a warning.
    path : path
        Where to; the custom is a name that ends in ``.kedge``.

    See Also
    --------
    kedge.load : The way back.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import kedge
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(100, centers=3, random_state=0)
    >>> model = kedge.SGL(n_clusters=3, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kedge.save(model, Path(folder) / "blobs.kedge")
    ...     again = kedge.load(Path(folder) / "blobs.kedge")
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    name = name_of(model)
    encoder = Encoder()
    parameters: dict[str, Any] = {}
    left_out = []
    given = model.get_params(deep=False)
    for parameter, value in given.items():
        if callable(value):
            left_out.append(parameter)
        else:
            parameters[parameter] = encoder.encode(value, f"parameter {parameter!r} of {name}")
    held = {key: value for key, value in _in_memory(model).items() if key not in given}
    fitted = "labels_" in held
    attributes = {key: encoder.encode(value, f"attribute {key!r} of {name}") for key, value in held.items()}
    fault = find_fault(name, type(model), held, fitted)
    if fault is not None:
        raise TypeError(f"the model cannot be saved: {fault}")
    description = {
        "format": FORMAT,
        "version": VERSION,
        "class": name,
        "fitted": fitted,
        "versions": {library: version(library) for library in _LIBRARIES},
        "parameters": parameters,
        "left_out": left_out,
        "attributes": attributes,
    }
    with replace_whole(Path(path)) as file:
        write_container(file, description, encoder.arrays)
    for parameter in left_out:
        text = f"{parameter} of {name} is a function and was not saved; set it again after loading"
        warnings.warn(text, UserWarning, stacklevel=2)


def _in_memory(model: Any) -> dict[str, Any]:
    """Return the attributes, with those of rows elsewhere as the arrays that pickles hold too."""
    held = dict(vars(model))
    if "graph_" in held and not sparse.issparse(held["graph_"]) and hasattr(model, "__getstate__"):
        portable = model.__getstate__()
        *parts, shape = portable["graph_"]
        held |= {"graph_": sparse.csr_array(tuple(parts), shape=tuple(shape))}
        held |= {key: portable[key] for key in ("embedding_", "labels_", "confidence_")}
    return held
