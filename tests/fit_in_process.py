"""Fits of a comparison in the process of the test: a process of its own takes seconds to load the libraries."""

import io

from kedge.comparison import fit_alone as fit_alone_module


def fit_here(monkeypatch):
    """Let ``compare`` fit in this process, without a watch on its memory."""
    monkeypatch.setattr(fit_alone_module, "_watch_memory", lambda task, out: None)
    monkeypatch.setattr("kedge.comparison.comparing.fit_alone", lambda task: fit_alone_module._fit(task, io.BytesIO()))
