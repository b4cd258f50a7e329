"""The functions of the template language, and how values become text.

A function never fails: emails are rendered from what users sent, and an argument of the wrong type gives empty or false.
Source: the package documentation of Go's text/template, "Functions".
"""

import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TypeGuard
from urllib.parse import quote_plus

_DEPTH = 32
_VERB = re.compile(r"%([-+# 0]*)(\d{0,3})(?:\.(\d{1,2}))?([a-zA-Z%])")
Function = Callable[..., object]


def text_of(value: object, depth: int = 0) -> str:
    """Format a value as the template language does: `[a b]` for a list, `map[k:v]` for an object, nothing for null."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)
    if isinstance(value, int):
        return str(value) if value.bit_length() < 4096 else ""
    if isinstance(value, Mapping):
        inside = (f"{text_of(k, depth + 1)}:{text_of(value[k], depth + 1)}" for k in sorted(value, key=str))
        return "map[" + ("" if depth > _DEPTH else " ".join(inside)) + "]"
    if is_list(value):
        return "[" + ("" if depth > _DEPTH else " ".join(text_of(v, depth + 1) for v in value)) + "]"
    return value if isinstance(value, str) else ""


def is_list(value: object) -> TypeGuard[Sequence[object]]:
    """Return whether the value is a list; a text is not one."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def is_true(value: object) -> bool:
    """Return whether `if` counts the value as true: neither false, 0, null nor empty."""
    return bool(value)


def field_of(value: object, name: str) -> object:
    """Return a member of an object; None for any other value."""
    return value.get(name) if isinstance(value, Mapping) else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same(one: object, other: object) -> bool:
    if _is_number(one) and _is_number(other):
        return one == other
    return type(one) is type(other) and isinstance(one, str | bool | None) and one == other


def _before(one: object, other: object) -> bool:
    if (isinstance(one, str) and isinstance(other, str)) or (_is_number(one) and _is_number(other)):
        return bool(one < other)  # type: ignore[operator]  # both are texts, or both numbers
    return False


def _length(value: object) -> int:
    if isinstance(value, str):
        return len(value.encode(errors="replace"))
    return len(value) if isinstance(value, Mapping) or is_list(value) else 0


def _index(value: object, *keys: object) -> object:
    for key in keys:
        if isinstance(value, Mapping):
            value = value.get(key) if isinstance(key, str) else None
        elif is_list(value) and isinstance(key, int) and not isinstance(key, bool):
            value = value[key] if 0 <= key < len(value) else None
        else:
            return None
    return value


def _print(*values: object) -> str:
    """Join the values, with a blank between two of which neither is a text."""
    parts = [text_of(values[0])] if values else []
    for before, value in pairwise(values):
        parts.append(" " if not isinstance(before, str) and not isinstance(value, str) else "")
        parts.append(text_of(value))
    return "".join(parts)


def _printf(pattern: object, *values: object) -> str:
    waiting = list(values)

    def written(match: re.Match[str]) -> str:
        flags, width, precision, verb = match.groups()
        if verb == "%":
            return "%"
        text = _formatted(waiting.pop(0), verb, precision) if waiting else ""
        room = int(width or 0)
        if "-" in flags:
            return text.ljust(room)
        return text.rjust(room, "0" if "0" in flags and verb in "dfFeEgG" else " ")

    return _VERB.sub(written, text_of(pattern))


def _formatted(value: object, verb: str, precision: str | None) -> str:
    if verb == "q":
        return json.dumps(text_of(value), ensure_ascii=False)
    if verb in "fFeEgG" and _is_number(value):
        try:
            return f"{value:.{precision or 6}{verb}}"
        except OverflowError:
            return ""
    text = text_of(value)
    return text[: int(precision)] if precision and verb in "sv" else text


FUNCTIONS: dict[str, tuple[Function, int, int]] = {
    "eq": (lambda one, *others: any(_same(one, other) for other in others), 2, 32),
    "ne": (lambda one, other: not _same(one, other), 2, 2),
    "lt": (_before, 2, 2),
    "le": (lambda one, other: _before(one, other) or _same(one, other), 2, 2),
    "gt": (lambda one, other: _before(other, one), 2, 2),
    "ge": (lambda one, other: _before(other, one) or _same(one, other), 2, 2),
    "not": (lambda value: not is_true(value), 1, 1),
    "len": (_length, 1, 1),
    "index": (_index, 1, 32),
    "print": (_print, 0, 32),
    "println": (lambda *values: " ".join(text_of(value) for value in values) + "\n", 0, 32),
    "printf": (_printf, 1, 32),
    "html": (lambda *values: html.escape(_print(*values)), 1, 32),
    "urlquery": (lambda *values: quote_plus(_print(*values), errors="replace"), 1, 32),
}
"""Every function by name: itself, the least and the most arguments. `and` and `or` are part of the language."""

SHORT_CIRCUIT = {"and": False, "or": True}
"""The functions that stop early, and the truth they stop at."""
