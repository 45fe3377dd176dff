"""The JSON text of a model file, parsed within limits."""

import json
import math
import re
from typing import Any

from kedge.model_files.limits import FORMAT, MOST_DIGITS, MOST_NESTED_JSON
from kedge.model_files.refusal import Refusal

# Also a string without an end, or looking for the end of each would take quadratic time.
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")


def parse_description(text: bytes) -> dict[str, Any]:
    """Return the description of a model of any version, of which nothing but the format is checked."""
    _check_depth(text)
    try:
        found = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_without_duplicates,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_short_integer,
        )
    except ValueError as error:
        raise Refusal("its description is no JSON") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT or type(found.get("version")) is not int:
        raise Refusal("it is no model file", "give the path of a file that kedge.save wrote")
    return found


def _check_depth(text: bytes) -> None:
    """Refuse deep nesting before the parser descends into it."""
    depth = 0
    for bracket in _BRACKET.finditer(_STRING.sub(b"", text)):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > MOST_NESTED_JSON:
            raise Refusal(f"its description is nested more than {MOST_NESTED_JSON} levels deep")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Refusal("its description says something twice")
    return found


def _no_constant(name: str) -> None:
    raise Refusal(f"its description has the number {name}, which JSON does not know")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise Refusal("its description has a number out of range")
    return value


def _short_integer(digits: str) -> int:
    if len(digits) > MOST_DIGITS + 1:
        raise Refusal(f"its description has an integer of more than {MOST_DIGITS} digits")
    return int(digits)
