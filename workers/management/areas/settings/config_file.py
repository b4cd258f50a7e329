"""The project's `config.toml` as administrators see it: which keys it sets, on which line, to which values. Pure but for `read_config_file`."""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from broker.processes.secret_files import with_file_values
from schemas.settings.environment import is_setting
from schemas.settings.reading import OTHER_NAMES, load_settings
from schemas.settings.tree import Settings, SettingsError

_TABLE = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?")
_KEY = re.compile(
    r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*="""
)
_PART = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")
_LONG_QUOTES = ('"' * 3, "'" * 3)


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The file as it is now: the settings of the file alone, and the line of each key that it sets (dotted path)."""

    name: str = ""
    settings: Settings = field(default_factory=Settings)
    keys: frozenset[str] = frozenset()
    lines: Mapping[str, int] = field(default_factory=dict)
    fault: str = ""
    """Why the file cannot be read or used now."""


def read_config_file(environment: Mapping[str, str] | None = None) -> ConfigFile:
    """Read the file that `HEADWATER_CONFIG` names; without one, return that of defaults."""
    variables = with_file_values(os.environ if environment is None else environment)
    name = variables.get("HEADWATER_CONFIG", "")
    if not name:
        return ConfigFile()
    try:
        text = Path(name).read_bytes()
        return config_file(name, text, variables)
    except OSError as error:
        return ConfigFile(name, fault=f"it cannot be read: {error.strerror}")
    except SettingsError as error:
        return ConfigFile(name, fault=str(error))


def config_file(name: str, content: bytes, environment: Mapping[str, str]) -> ConfigFile:
    """Parse a file. `environment` is for `env(NAME)` alone. Raises: SettingsError."""
    references = {variable: text for variable, text in environment.items() if not is_setting(variable)}
    settings, _ = load_settings(content, references, source=name)
    text = content.decode()
    keys = {_usual(path) for path in _paths(tomllib.loads(text))}
    return ConfigFile(name, settings, frozenset(keys), key_lines(text))


def key_lines(text: str) -> dict[str, int]:
    """Return the line of each key, counted from 1. Lines inside texts of several lines are not keys."""
    lines: dict[str, int] = {}
    table: tuple[str, ...] = ()
    open_quotes = ""
    for number, line in enumerate(text.splitlines(), 1):
        if open_quotes:
            if open_quotes in line:
                open_quotes = ""
            continue
        if match := _TABLE.fullmatch(line):
            table = _parts(match[1])
        elif match := _KEY.match(line):
            lines.setdefault(_usual((*table, *_parts(match[1]))), number)
            value = line[match.end() :]
            open_quotes = next((quotes for quotes in _LONG_QUOTES if value.count(quotes) == 1), "")
    return lines


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(name))


def _usual(path: tuple[str, ...]) -> str:
    first, *rest = path
    return ".".join((OTHER_NAMES.get(first, first), *rest))


def _paths(tree: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, value in tree.items():
        yield (*path, name)
        if isinstance(value, dict):
            yield from _paths(value, (*path, name))
