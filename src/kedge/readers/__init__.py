"""Readers of rows: one file per format, for ``fit``, ``predict`` and the command line alike."""
