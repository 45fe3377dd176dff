"""Errors of the commands: one line on stderr and an exit code, never a traceback."""

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

from typer.core import TyperGroup

BAD_INPUT, INTERRUPTED, OWN_FAULT = 2, 130, 1
# What input can cause; anything else is a fault of kedge.
_CAUSED_BY_INPUT = (ValueError, OSError, MemoryError, ImportError)
_NAMES_IGNORED = "X does not have valid feature names"


class OneLineErrors(TyperGroup):
    """A group of commands whose usage errors take one line."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command line; errors of the parser are those exceptions that can format themselves."""
        if not options.pop("standalone_mode", True):
            return super().main(*args, **(options | {"standalone_mode": False}))
        try:
            code = super().main(*args, **(options | {"standalone_mode": False}))
        except Exception as error:
            if not hasattr(error, "format_message"):
                raise
            command = _command_of(getattr(error, "ctx", None))
            if type(error).__name__ == "NoArgsIsHelpError":
                print(error.format_message(), file=sys.stderr)
            else:
                say(command, f"{_one_line(error.format_message())} (see {command} --help)")
            sys.exit(BAD_INPUT)
        sys.exit(code if isinstance(code, int) else 0)


def run_quietly(command: str, action: Callable[[], int], *, quiet: bool = False) -> int:
    """Run a command and return its exit code; warnings are shown at the end, a line each, and only after success."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            # Names of columns are compared here, file against model.
            warnings.filterwarnings("ignore", message=_NAMES_IGNORED)
            code = action()
    except KeyboardInterrupt:
        say(command, "stopped; nothing was written")
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:
        if os.environ.get("KEDGE_TRACEBACK"):
            raise
        text = _one_line(str(error)) or type(error).__name__
        if isinstance(error, _CAUSED_BY_INPUT):
            say(command, "not enough memory; lower --memory" if text == "MemoryError" else text)
            return BAD_INPUT
        say(command, f"unexpected {type(error).__name__}: {text}; KEDGE_TRACEBACK=1 shows where")
        return OWN_FAULT
    if not quiet:
        for text in dict.fromkeys(_one_line(str(warning.message)) for warning in caught):
            say(command, f"note: {text}")
    return code


def say(command: str, text: str) -> None:
    """Print a line on stderr."""
    print(f"{command}: {text}", file=sys.stderr)


def _command_of(context: Any) -> str:
    """Return the command as users type it, however this process was started."""
    if context is None:
        return "kedge"
    return f"kedge{context.command_path[len(context.find_root().command_path) :]}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
