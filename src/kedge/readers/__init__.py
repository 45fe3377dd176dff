"""Readers of rows, one file per format; ``open.py`` has the table of formats for ``fit`` and for the command line."""
