"""Stored settings as a fragment of `config.toml`, to be committed to the project. Pure.

Secrets are not in it: each is a comment that names the environment variable to set.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from schemas.settings.environment import own_name

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_ESCAPES = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def toml_fragment(values: Mapping[str, Any], secrets: frozenset[str]) -> str:
    """Return the values by dotted path as TOML, a table for each section."""
    tables: dict[str, list[str]] = {}
    for key in sorted(values):
        table, _, name = key.rpartition(".")
        line = (
            f"# {name}: a secret; set {own_name(key.split('.'))} in .env"
            if key in secrets
            else _line(name, values[key])
        )
        tables.setdefault(table, []).append(line)
    return "\n".join(f"[{table}]\n" + "\n".join(lines) + "\n" for table, lines in tables.items())


def _line(name: str, value: Any) -> str:
    if value is None:
        return f"# {name}: unset; remove it"
    return f"{_key(name)} = {_value(value)}"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: Any) -> str:
    match value:
        case str():
            return _text(value)
        case dict():
            return "{ " + ", ".join(f"{_key(name)} = {_value(inner)}" for name, inner in value.items()) + " }"
        case list():
            return "[" + ", ".join(_value(inner) for inner in value) + "]"
    return msgspec.json.encode(value).decode()


def _text(text: str) -> str:
    """Return a text as a basic string (TOML 1.0, "String")."""
    signs = (
        _ESCAPES.get(sign) or (f"\\u{ord(sign):04x}" if ord(sign) < 0x20 or ord(sign) == 0x7F else sign)
        for sign in text
    )
    return '"' + "".join(signs) + '"'
