"""One self-contained HTML page about a fitted model (extra ``report``)."""

from kedge.report.page import write_report

__all__ = ["write_report"]
