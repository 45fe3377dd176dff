"""``kedge.load``: a model from a file."""

import os
import struct
import zipfile
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from kedge.model_files.container import Container, ShortReads, open_container
from kedge.model_files.decoding import decode
from kedge.model_files.description import parse_description
from kedge.model_files.estimator_names import storable_classes
from kedge.model_files.fitted_attributes import find_fault
from kedge.model_files.limits import DESCRIPTION, MOST_BYTES, VERSION
from kedge.model_files.npy_member import read_array
from kedge.model_files.refusal import DAMAGED, ModelFileError, Refusal

# What a broken or hostile file makes the standard library, NumPy and SciPy raise.
_FOREIGN = (zipfile.BadZipFile, struct.error, OSError, EOFError, RuntimeError, ValueError, OverflowError)
_UPGRADE = "upgrade kedge to load it"


def load(path: str | os.PathLike[str], *, max_bytes: int = MOST_BYTES) -> Any:
    """Load a model that :func:`kedge.save` wrote; it predicts the same bits.

    Loading runs no code from the file and writes nothing. Sizes, names, types and checksums are compared before
    anything is allocated or used, so that files of unknown origin can be looked at; but a stranger's model may still
    predict nonsense, and its parameters deserve a look before it is fitted again.

    Parameters
    ----------
    path : path
        The file.
    max_bytes : int, default=16 GiB
        Most bytes that the arrays of the model may have.

    Returns
    -------
    model : SGL, MSGL or baseline
        As it was saved.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    kedge.model_files.ModelFileError
        The file is no model, damaged, hostile, or written by a newer kedge; a ValueError.

    See Also
    --------
    kedge.save : The way there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import kedge
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kedge.save(kedge.SGL(n_clusters=5, alpha=0.2), Path(folder) / "plan.kedge")
    ...     kedge.load(Path(folder) / "plan.kedge")
    SGL(alpha=0.2, n_clusters=5)
    """
    path = Path(path)
    # A pipe would wait for a writer.
    if path.exists() and not path.is_file():
        raise ModelFileError(f"{path} is no file; give the path of a file that kedge.save wrote")
    # Errors of the system itself, such as a missing file, are raised as they are.
    with ShortReads(path) as file:
        return _load_open(file, path, max_bytes)


def _load_open(file: ShortReads, path: Path, max_bytes: int) -> Any:
    try:
        with open_container(file, max_bytes) as container:
            description = parse_description(container.read_description())
            return _assemble(*_read_parts(container, description), description["fitted"])
    except Refusal as refusal:
        raise ModelFileError(f"{path} cannot be loaded: {refusal}") from refusal
    except _FOREIGN as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ModelFileError(f"{path} cannot be loaded: {reason}; {DAMAGED}") from error


def _read_parts(
    container: Container, description: dict[str, Any]
) -> tuple[str, type[Any], dict[str, Any], dict[str, Any]]:
    """Return the name of the class, the class, its parameters and its attributes."""
    version = description["version"]
    if version > VERSION:
        raise Refusal(f"it was written by a newer kedge, in version {version} of the format", _UPGRADE)
    if version < VERSION:
        raise Refusal(f"there is no version {version} of the format")
    kinds = {"class": str, "fitted": bool, "parameters": dict, "attributes": dict, "members": dict, "left_out": list}
    for field, kind in kinds.items():
        if not isinstance(description.get(field), kind):
            raise Refusal(f"its description has no proper {field!r}")
    name = description["class"]
    classes = storable_classes()
    if name not in classes:
        raise Refusal(f"it holds a {name[:80]!r}, which this kedge does not have", _UPGRADE)
    take = _OnceEach(container, description["members"])
    found = {
        group: {key: decode(value, f"{key[:80]!r}", take) for key, value in description[group].items()}
        for group in ("parameters", "attributes")
    }
    take.check_all_taken()
    return name, classes[name], found["parameters"], found["attributes"]


def _assemble(
    name: str, estimator: type[Any], parameters: dict[str, Any], attributes: dict[str, Any], fitted: bool
) -> Any:
    """Build the model; parameters that a later kedge added take their defaults."""
    known = estimator().get_params(deep=False)
    unknown = [parameter for parameter in parameters if parameter not in known]
    if unknown:
        raise Refusal(f"{name} has no parameter {unknown[0][:80]!r}", _UPGRADE)
    hidden = [key for key in attributes if key in known]
    fault = f"{hidden[0]!r} is a parameter" if hidden else find_fault(name, estimator, attributes, fitted)
    if fault is None and fitted != ("labels_" in attributes):
        fault = "it is said to be unfitted but has labels"
    if fault is not None:
        raise Refusal(fault)
    model = estimator(**parameters)
    vars(model).update(attributes)
    return model


class _OnceEach:
    """Hands out the arrays of a file; each once, so that a small file cannot stand for a large model."""

    def __init__(self, container: Container, listed: dict[str, Any]) -> None:
        self._container, self._digests = container, {}
        if {DESCRIPTION, *listed} != set(container.members) or DESCRIPTION in listed:
            raise Refusal("its members are not those that its description lists")
        for name, facts in listed.items():
            size = container.members[name].file_size
            if not isinstance(facts, dict) or facts.get("bytes") != size or not isinstance(facts.get("sha256"), str):
                raise Refusal(f"its description has no proper size and checksum of {name}")
            self._digests[name] = facts["sha256"]

    def __call__(self, name: Any) -> NDArray[Any]:
        if not isinstance(name, str) or name not in self._digests:
            raise Refusal(f"the array {str(name)[:80]!r} is missing or used twice")
        return read_array(self._container.archive, self._container.members[name], self._digests.pop(name))

    def check_all_taken(self) -> None:
        """Refuse arrays that belong to nothing."""
        if self._digests:
            raise Refusal(f"{next(iter(self._digests))} belongs to no attribute")
