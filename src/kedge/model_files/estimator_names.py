"""The classes whose models can be stored, by the names under which files know them."""

from typing import Any

from kedge.baselines.registry import available
from kedge.msgl import MSGL
from kedge.sgl import SGL


def storable_classes() -> dict[str, type[Any]]:
    """Return SGL, MSGL and every baseline by name."""
    return {"SGL": SGL, "MSGL": MSGL} | {method.name: method.estimator for method in available()}


def name_of(model: Any) -> str:
    """Return the name of a model's class; a subclass has code of its own, which a file cannot hold."""
    for name, known in storable_classes().items():
        if type(model) is known:
            return name
    names = ", ".join(storable_classes())
    raise TypeError(f"model is a {type(model).__qualname__}, which cannot be saved; these can: {names}")
