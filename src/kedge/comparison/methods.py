"""Methods by name, with settings such as ``sgl:alpha=0.1,n_anchors=50``, and the fit of one in its own process."""

import ast
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse
from sklearn.cluster import AgglomerativeClustering

from kedge.baselines import available
from kedge.baselines.base import refuse
from kedge.comparison.result import MethodResult, spell_out
from kedge.core.rows import side_by_side
from kedge.inputs import Views
from kedge.memory import PeakMemory, machine_memory, resident_bytes
from kedge.msgl import MSGL
from kedge.readers.arrays import learn_array_scaling
from kedge.sgl import SGL

_OWN = {"sgl": SGL, "msgl": MSGL}
_AGGLOMERATIVE = "agglomerative"
# The first names of the list; the other baselines follow. Either name of spectral clustering is accepted.
_FIRST = (*_OWN, "kmeans", "spectral", "lsc", _AGGLOMERATIVE)
_SHORT = {"spectralclustering": "spectral"}
# Ward's method holds the distances of all pairs twice while it merges clusters.
_BYTES_PER_PAIR_OF_ROWS = 8
# A plain process, because ``multiprocessing`` would run the program of the user again.
_PROGRAM = "from kedge.comparison.methods import serve; serve()"
# How often the memory of a fit is measured, in seconds.
_TICK = 0.05


@cache
def _estimators() -> dict[str, Any]:
    """Return the class of every method by its name."""
    baselines = {method.name.lower(): method.estimator for method in available()}
    found = _OWN | {_AGGLOMERATIVE: AgglomerativeClustering}
    found |= {_SHORT.get(name, name): estimator for name, estimator in baselines.items()}
    return {name: found[name] for name in (*_FIRST, *found)}


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
        return spell_out(self.name, self.settings)

    @property
    def takes_views(self) -> bool:
        """Whether the method itself takes several views; the others get them side by side."""
        return _estimators()[self.name] in (MSGL, *(method.estimator for method in available("multi")))

    @property
    def finds_count(self) -> bool:
        """Whether it takes ``n_clusters="auto"``."""
        return self.name in _OWN

    def make(self, n_clusters: int | str, *, random_state: Any, memory_limit: float | None) -> Any:
        """Return an estimator with those of these parameters that it has; the limit is in bytes, and settings win."""
        estimator = _estimators()[self.name]
        usual = {"n_clusters": n_clusters, "random_state": random_state, "memory_limit": memory_limit}
        accepted = estimator._get_param_names()
        return estimator(**({name: value for name, value in usual.items() if name in accepted} | self.settings))

    def why_not(self, views: Views, n_clusters: int | str) -> str | None:
        """Return why the method cannot run on these rows; None if nothing is known against it."""
        if self.settings.get("n_clusters", n_clusters) == "auto" and not self.finds_count:
            return "needs a number of clusters, and no method of this comparison found one"
        if views.observed is not None and self.name != "msgl":
            several = len(views.arrays) > 1
            return "some rows lack views, and only msgl takes such rows" if several else "some rows are NaN"
        if self.name == _AGGLOMERATIVE and all(sparse.issparse(array) for array in views.arrays):
            return "takes dense rows only, and these are sparse"
        return None


def known_methods() -> list[str]:
    """Return the names of all methods that can be compared.

    Examples
    --------
    >>> from kedge.comparison import known_methods
    >>> known_methods()[:6]
    ['sgl', 'msgl', 'kmeans', 'spectral', 'lsc', 'agglomerative']
    """
    return list(_estimators())


def read_methods(methods: str | Iterable[str | MethodChoice]) -> list[MethodChoice]:
    """Return the methods that a text or a list names.

    Parameters
    ----------
    methods : str or iterable of str or MethodChoice
        Such as ``"sgl:alpha=0.1,n_anchors=50,kmeans"``, or a list with one method each. Whatever has an ``=`` is a
        setting of the method before it.

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
    choices: list[MethodChoice] = []
    for one in [methods] if isinstance(methods, str) else methods:
        choices += [one] if isinstance(one, MethodChoice) else _read_text(one)
    if not choices:
        raise ValueError(f"methods is empty; name at least one of {', '.join(known_methods())}")
    for choice in choices:
        allowed = _estimators()[choice.name]._get_param_names()
        for name in choice.settings:
            if name not in allowed:
                raise ValueError(f"methods: {choice.name} has no setting {name!r}; it has {', '.join(allowed)}")
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
                raise ValueError(f"methods: {setting!r} is not a setting; write METHOD:NAME=VALUE")
            if name in choices[-1].settings:
                raise ValueError(f"methods: {choices[-1].name} has {name} twice; give it once")
            choices[-1].settings[name] = value
            # A number, True, False or None, if the text is one.
            with suppress(ValueError, SyntaxError):
                choices[-1].settings[name] = ast.literal_eval(value)
    return choices


def _checked_name(name: str) -> str:
    lower, known = _SHORT.get(name.lower(), name.lower()), known_methods()
    if lower in known:
        return lower
    near = get_close_matches(lower, known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ValueError(f"methods: no method {name!r}; {hint}there are {', '.join(known)}")


def fit_alone(choice: MethodChoice, model: Any, views: Views, memory_limit: float | None) -> MethodResult:
    """Fit a model in a new process, so that time and memory are its own; the result says what happened to it."""
    # -P: a module in the user's folder must not shadow a library.
    command = [sys.executable, "-P", "-c", _PROGRAM]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipe = subprocess.PIPE
    # A file and not a pipe, which processes that a fit leaves behind would keep open.
    with tempfile.TemporaryFile() as complaints:
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=complaints, env=environment) as process:
            assert process.stdin is not None
            try:
                # Straight into the pipe, which needs no second copy of the rows in memory.
                with suppress(BrokenPipeError):
                    pickle.dump((choice, model, views, memory_limit), process.stdin, protocol=5)
                answer, _ = process.communicate()
            except BaseException:
                process.kill()
                raise
        if answer:
            result: MethodResult = pickle.loads(answer)
            return result
        complaints.seek(0)
        lines = complaints.read().decode(errors="replace").strip().splitlines()
    reason = f"its process ended with code {process.returncode}" + (f": {lines[-1]}" if lines else "")
    if process.returncode == -9:
        reason = "its process was killed, most likely because the system was out of memory"
    return MethodResult(choice.name, choice.settings, "failed", reason)


def serve() -> None:
    """Read a task from standard input, fit, and write the result to standard output."""
    # Standard output becomes standard error, so that what libraries print does not mix with the result.
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)
        # Unpickling is safe here: only the program that started this process can write to its input.
        pickle.dump(_fit(out, *pickle.load(sys.stdin.buffer)), out, protocol=5)


def _fit(out: BinaryIO, choice: MethodChoice, model: Any, views: Views, memory_limit: float | None) -> MethodResult:
    limit = machine_memory() if memory_limit is None else memory_limit
    name, settings = choice.name, choice.settings
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            needed, largest = _BYTES_PER_PAIR_OF_ROWS * views.n_rows**2, int((limit / _BYTES_PER_PAIR_OF_ROWS) ** 0.5)
            if name == _AGGLOMERATIVE and needed > limit:
                refuse(name, views.n_rows, needed, largest, limit, is_own=memory_limit is not None)
            X, arguments = _input_for(choice, views)
            _watch_memory(choice, limit, out)
            memory, started = PeakMemory(), time.perf_counter()
            labels = np.asarray(model.fit(X, **arguments).labels_, dtype=np.int64)
        except MemoryError as error:
            # The baselines say how much they need before they begin; errors of NumPy come later and without words.
            status = "refused" if str(error) else "failed"
            return MethodResult(name, settings, status, str(error) or "out of memory")
        except Exception as error:
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
            return MethodResult(name, settings, "failed", reason)
        seconds, peak_bytes = time.perf_counter() - started, memory.read()
    notes = tuple(dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught))
    return MethodResult(name, settings, "ran", "", labels, seconds, peak_bytes, notes=notes)


def _input_for(choice: MethodChoice, views: Views) -> tuple[Any, dict[str, Any]]:
    """Return X and the further arguments of ``fit``."""
    if len(views.arrays) == 1:
        return views.arrays[0], {}
    if choice.takes_views:
        named = dict(zip(views.names, views.arrays, strict=True))
        return named, {} if views.observed is None else {"observed": views.observed}
    scaled = [
        learn_array_scaling("auto", array, name, to_unit_rows=True).apply(array)
        for name, array in zip(views.names, views.arrays, strict=True)
    ]
    return side_by_side(scaled), {}


def _watch_memory(choice: MethodChoice, limit: float, out: BinaryIO) -> None:
    """End this process, with a result that says so, as soon as the fit takes too much memory."""
    before = resident_bytes()
    if before is None:
        return
    reason = f"took more than {limit / 2**30:,.1f} GiB of memory beyond X"

    def watch() -> None:
        while (resident_bytes() or 0) - before <= limit:
            time.sleep(_TICK)
        pickle.dump(MethodResult(choice.name, choice.settings, "failed", reason), out, protocol=5)
        out.flush()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
