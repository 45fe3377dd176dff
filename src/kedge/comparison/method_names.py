"""Methods by name, with settings: ``sgl:alpha=0.1,n_anchors=50``."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from sklearn.cluster import AgglomerativeClustering

from kedge.baselines.registry import available, find_method
from kedge.msgl import MSGL
from kedge.sgl import SGL

# Names of ours and of scikit-learn's that are no baselines, and short names of baselines.
_OWN = ("sgl", "msgl")
_SHORT = {"spectral": "SpectralClustering"}
_AGGLOMERATIVE = "agglomerative"


@dataclass(frozen=True)
class MethodChoice:
    """A method and the settings that differ from its defaults.

    Attributes
    ----------
    name : str
        One of :func:`known_methods`.
    settings : dict
        Parameters of its estimator.
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the form that :func:`read_methods` reads."""
        listed = ",".join(f"{name}={value}" for name, value in self.settings.items())
        return f"{self.name}:{listed}" if listed else self.name

    @property
    def takes_views(self) -> bool:
        """Whether the method itself takes several views; the others get them side by side."""
        if self.name in _OWN or self.name == _AGGLOMERATIVE:
            return self.name == "msgl"
        return bool(_baseline(self.name).kind == "multi")

    @property
    def finds_count(self) -> bool:
        """Whether it takes ``n_clusters="auto"``."""
        return self.name in _OWN

    def make(self, n_clusters: int | str, *, random_state: Any, memory_limit: float | None) -> Any:
        """Return an estimator to fit.

        Parameters
        ----------
        n_clusters : int or "auto"
            Number of clusters, unless the settings say otherwise.
        random_state : int, RandomState instance or None
            Seed.
        memory_limit : float or None
            Bytes, for methods that refuse what does not fit.
        """
        parameters: dict[str, Any] = {"n_clusters": n_clusters, "random_state": random_state} | self.settings
        if self.name == "sgl":
            return SGL(**parameters)
        if self.name == "msgl":
            return MSGL(**parameters)
        if self.name == _AGGLOMERATIVE:
            return AgglomerativeClustering(**{key: parameters[key] for key in parameters if key != "random_state"})
        return _baseline(self.name).estimator(**({"memory_limit": memory_limit} | parameters))

    def parameter_names(self) -> list[str]:
        """Return the settings that the method takes."""
        bare = MethodChoice(self.name)
        return sorted(bare.make(2, random_state=None, memory_limit=None).get_params())


def known_methods() -> list[str]:
    """Return the names of all methods that can be compared.

    Examples
    --------
    >>> from kedge.comparison import known_methods
    >>> known_methods()[:6]
    ['sgl', 'msgl', 'kmeans', 'spectral', 'lsc', 'agglomerative']
    """
    first = [*_OWN, "kmeans", "spectral", "lsc", _AGGLOMERATIVE]
    shortened = {long.lower() for long in _SHORT.values()}
    others = [method.name.lower() for method in available()]
    return first + [name for name in others if name not in first and name not in shortened]


def read_methods(methods: str | Iterable[str | MethodChoice]) -> list[MethodChoice]:
    """Return the methods that a text or a list names.

    Parameters
    ----------
    methods : str or iterable of str or MethodChoice
        Such as ``"sgl:alpha=0.1,n_anchors=50,kmeans"``, or the same as a list with one method each. What follows a
        method with ``=`` is one of its settings.

    Returns
    -------
    choices : list of MethodChoice
        In the order given.

    Examples
    --------
    >>> from kedge.comparison import read_methods
    >>> [str(choice) for choice in read_methods("sgl:alpha=0.1,n_anchors=50,kmeans")]
    ['sgl:alpha=0.1,n_anchors=50', 'kmeans']
    """
    given = [methods] if isinstance(methods, str) else list(methods)
    choices: list[MethodChoice] = []
    for one in given:
        choices += [one] if isinstance(one, MethodChoice) else _read_text(one)
    if not choices:
        raise ValueError(f"methods is empty; name at least one of {', '.join(known_methods())}")
    return choices


def _read_text(text: str) -> list[MethodChoice]:
    choices: list[MethodChoice] = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        head, _, setting = part.partition(":")
        if "=" not in head:
            choices.append(MethodChoice(_checked_name(head.strip())))
        elif choices:
            setting = part
        else:
            raise ValueError(f"methods: {part!r} is a setting without a method; write METHOD:{part}")
        if setting:
            name, equals, value = (piece.strip() for piece in setting.partition("="))
            if not (name and equals and value):
                raise ValueError(f"methods: {setting!r} is no setting; write METHOD:NAME=VALUE")
            if name in choices[-1].settings:
                raise ValueError(f"methods: {choices[-1].name} has {name} twice; give it once")
            choices[-1].settings[name] = _value(value)
    return choices


def _value(text: str) -> Any:
    """Return a number, True, False or None where the text is one, else the text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _checked_name(name: str) -> str:
    lower = name.lower()
    lower = next((short for short, long in _SHORT.items() if long.lower() == lower), lower)
    known = known_methods()
    if lower in known:
        return lower
    near = get_close_matches(lower, known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ValueError(f"methods: no method {name!r}; {hint}there are {', '.join(known)}")


def _baseline(name: str) -> Any:
    return find_method(_SHORT.get(name, name))
