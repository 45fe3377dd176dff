"""Models in files: one zip of plain arrays and a description, written in one step and read with suspicion."""

from kedge.model_files.loading import load
from kedge.model_files.refusal import ModelFileError
from kedge.model_files.saving import save

__all__ = ["ModelFileError", "load", "save"]
