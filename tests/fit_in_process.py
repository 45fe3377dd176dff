"""Fits of a comparison in the process of the test: a process of its own takes seconds to load the libraries."""

import io

from kedge.comparison import methods


def fit_here(monkeypatch):
    """Let ``compare`` fit in this process, without a watch on its memory."""
    monkeypatch.setattr(methods, "_watch_memory", lambda *arguments: None)
    monkeypatch.setattr("kedge.comparison.fit_alone", lambda *task: methods._fit(io.BytesIO(), *task))
