"""Data files of any kind, read into views: rows in memory, or readers of rows that stay on disk."""

from kedge.data_files.contents import DataFiles, FileView, Labels
from kedge.data_files.reading import read_data_files
from kedge.data_files.refusal import DataFileError

__all__ = ["DataFileError", "DataFiles", "FileView", "Labels", "read_data_files"]
