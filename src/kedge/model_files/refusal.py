"""The error for files that are not loaded."""

DAMAGED = "it is damaged or was changed; save the model again or fetch another copy"


class ModelFileError(ValueError):
    """A file is no model file, is damaged, hostile, or of a format that this kedge does not know."""


class Refusal(Exception):
    """What is wrong with a file and what to do; :func:`kedge.load` adds which file and raises ModelFileError."""

    def __init__(self, problem: str, advice: str = DAMAGED) -> None:
        super().__init__(f"{problem}; {advice}")
