"""Reading of the settings: from defaults, the project's `config.toml` and the environment to the tree.

Order: defaults < `config.toml` < environment of the official servers (`GOTRUE_...`, `STORAGE_...`) < `HEADWATER_...`
environment (`settings_environment.py`).
The sections and keys of `config.toml` are those of the official project folder (reference page "platform", section
2), so an existing `supabase/config.toml` is read unchanged; sections that other tools own are known and ignored.
Unknown keys are told, never fatal; a value that cannot work is, and the sentence names the key as it was written and
what it takes, never the value.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, get_origin

import msgspec
from msgspec import Struct

from schemas.secret import Secret
from schemas.settings import Settings, SettingsError
from schemas.settings_checks import checked
from schemas.settings_environment import from_text, nearest, read_environment
from schemas.settings_forms import KINDS, form, holds_secret, is_table, keys, made, table_of_each, texts
from schemas.settings_spelling import Spelling

FOREIGN_SECTIONS = frozenset({
    "studio", "analytics", "experimental", "remotes",
})  # fmt: skip
"""Sections of the official file that belong to areas which are not built yet, or to other tools: known, not warned about."""

OTHER_NAMES = {"local_smtp": "inbucket"}
"""Sections of the official file with two names."""

FOREIGN_KEYS = frozenset({
    "db.network_restrictions", "db.vault", "db.ssl_enforcement", "db.root_key", "storage.analytics", "storage.vector",
})  # fmt: skip

_SUBSTITUTION = re.compile(r"env\((\w+)\)")
_OF_FUNCTIONS = re.compile(r"edge_runtime\.secrets|functions\.[^.]+\.env")
"""Variables of functions: one that is not set is left out."""
_AT = re.compile(r"`\$\.([\w.]+)")


def load_settings(
    config: bytes = b"", environment: Mapping[str, str] | None = None, *, source: str = "config.toml"
) -> tuple[Settings, list[str]]:
    """Make the settings from the bytes of a `config.toml` and an environment; give them with the warnings.

    `env(NAME)` inside a string of the file is replaced from the environment.
    Raises: SettingsError if the file is no TOML, or a value is of the wrong type or cannot work.
    """
    env = os.environ if environment is None else environment
    tree = {OTHER_NAMES.get(name, name): value for name, value in _parsed(config, source).items()}
    known, warnings = _split_unknown(_substituted(tree, env), Settings, "", source)
    found, written = read_environment(env), frozenset(_dotted(known))
    for each in found.given:
        _put(known, each.path, each.value)
    for variable, path in (("DATABASE_URL", ("db", "url")), ("NATS_URL", ("broker", "url"))):
        if env.get(variable):
            _put(known, path, from_text(env[variable], Secret, variable), keep=True)
    try:
        made_tree = msgspec.convert(known, Settings, strict=False, dec_hook=made)
    except msgspec.ValidationError as error:
        raise SettingsError(_told(error, source)) from None
    settings, settled = checked(made_tree, Spelling(source, written, found.variables))
    return settings, [*warnings, *found.warnings, *settled]


def _parsed(config: bytes, source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(config.decode())
    except RecursionError:
        raise SettingsError(f"{source} is nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, UnicodeDecodeError, and numbers of too many digits
        raise SettingsError(f"{source} is not valid TOML: {error}") from None


def _split_unknown(
    tree: dict[str, Any], struct: type[Struct], path: str, source: str
) -> tuple[dict[str, Any], list[str]]:
    """Separate the keys we know from those we do not, with a warning for each of the latter.

    Raises: SettingsError for a secret that names a variable which is not set.
    """
    kinds, known, warnings = keys(struct), {}, []
    for key, value in tree.items():
        where = f"{path}.{key}" if path else key
        kind = kinds.get(key)
        if kind is None:
            if not (where in FOREIGN_KEYS or (not path and key in FOREIGN_SECTIONS)):
                known_here = [f"{path}.{each}" if path else each for each in kinds]
                warnings.append(f"unknown key {where} in {source} is ignored{nearest(where, known_here)}")
        elif is_table(kind) and isinstance(value, dict):
            known[key], told = _split_unknown(value, kind, where, source)
            warnings += told
        elif (each := table_of_each(kind)) and isinstance(value, dict):
            known[key], told = _split_each(value, each, where, source)
            warnings += told
        else:
            known[key] = texts(value) if get_origin(kind) is dict else value
            for unset in _unset(value):
                told_as = f"{where} in {source} asks for {unset[0]}, but {unset[1]} is not set"
                if holds_secret(kind) and not _OF_FUNCTIONS.fullmatch(where):
                    raise SettingsError(told_as)
                warnings.append(told_as)
    return known, warnings


def _split_each(
    tree: dict[str, Any], struct: type[Struct], path: str, source: str
) -> tuple[dict[str, Any], list[str]]:
    """Do the same for every table of a family, such as `buckets.<name>`."""
    known: dict[str, Any] = {}
    warnings: list[str] = []
    for name, value in tree.items():
        known[name] = value
        if isinstance(value, dict):
            known[name], told = _split_unknown(value, struct, f"{path}.{name}", source)
            warnings += told
    return known, warnings


def _dotted(tree: dict[str, Any], path: str = "") -> Iterator[str]:
    """Give the dotted path of everything in a tree."""
    for key, value in tree.items():
        yield f"{path}{key}"
        if isinstance(value, dict):
            yield from _dotted(value, f"{path}{key}.")


def _unset(value: Any) -> Iterator[re.Match[str]]:
    """Find the variables that a text, or the texts of a table, still ask for."""
    for text in value.values() if isinstance(value, dict) else [value]:
        if isinstance(text, str) and (found := _SUBSTITUTION.search(text)):
            yield found


def _substituted(value: Any, env: Mapping[str, str]) -> Any:
    match value:
        case str():
            return _SUBSTITUTION.sub(lambda found: env.get(found[1], found[0]), value)
        case dict():
            return {key: _substituted(inner, env) for key, inner in value.items()}
        case list():
            return [_substituted(inner, env) for inner in value]
    return value


def _put(tree: dict[str, Any], path: tuple[str, ...], value: Any, *, keep: bool = False) -> None:
    """Put a value into the tree. What stands where a table should is left for the conversion to refuse."""
    for part in path[:-1]:
        tree = tree.setdefault(part, {})
        if not isinstance(tree, dict):
            return
    if not (keep and tree.get(path[-1])):
        tree[path[-1]] = value


def _told(error: msgspec.ValidationError, source: str) -> str:
    """Say which key is wrong and what it takes. The library's own words are not shown: they are of its types."""
    found = _AT.search(str(error))
    key = found[1] if found else "the file"
    return f"{source}: {key} must be {form(KINDS.get(tuple(key.split('.'))))}"
