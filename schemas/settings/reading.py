"""Reading of the settings: from defaults, the project's `config.toml` and the environment to the tree.

Order: defaults < `config.toml` < environment of the official servers (`GOTRUE_...`, `STORAGE_...`) < `HEADWATER_...`
environment (`settings_environment.py`).
The sections and keys of `config.toml` are those of the official project folder (reference page "platform", section
2), so an existing `supabase/config.toml` is read unchanged; what it asks for and is not done here is told (`settings_foreign.py`).
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

from schemas.settings.checks import checked
from schemas.settings.environment import from_text, nearest, read_environment
from schemas.settings.forms import (
    KINDS,
    form,
    is_table,
    keys,
    leaves,
    made,
    table_of_each,
    takes_text,
    texts,
)
from schemas.settings.spelling import Spelling
from schemas.settings.tree import Settings, SettingsError
from schemas.settings.unsupported import FOREIGN_KEYS, FOREIGN_SECTIONS, is_foreign, not_honoured

OTHER_NAMES = {"local_smtp": "inbucket"}
"""Sections of the official file with two names."""

USUAL_NAMES = {
    "DATABASE_URL": ("db", "url"),
    "NATS_URL": ("broker", "url"),
    "OTEL_EXPORTER_OTLP_ENDPOINT": ("observability", "otlp_endpoint"),
    "OTEL_EXPORTER_OTLP_HEADERS": ("observability", "otlp_headers"),
}
"""Names that other programs read too; every spelling of ours wins over them."""

_SUBSTITUTION = re.compile(r"env\((\w+)\)")
_LEFT_OUT = re.compile(r"edge_runtime\.secrets|functions\.[^.]+\.env|db\.vault")
"""Tables of secrets of the user's: one whose variable is not set is left out."""
_SERVICE = re.compile(r"auth\.(external\.\w+|sms\.\w+|email\.smtp)")
"""Services elsewhere that a clone of a project may do without: one whose variables are not set stays off."""
_AT = re.compile(r"`\$\.([\w.]+(?:\[(?:\d+|\.\.\.)\][\w.]*)*)")


_DEEPEST = 50
"""How deep tables of a file may nest; settings need five levels."""


def load_settings(
    config: bytes = b"", environment: Mapping[str, str] | None = None, *, source: str = "config.toml"
) -> tuple[Settings, list[str]]:
    """Make the settings from the bytes of a `config.toml` and an environment; give them with the warnings.

    `env(NAME)` inside a string of the file is replaced from the environment.
    Raises: SettingsError if the file is no TOML, or a value is of the wrong type or cannot work.
    """
    env = os.environ if environment is None else environment
    tree = {OTHER_NAMES.get(name, name): value for name, value in _parsed(config, source).items()}
    tree = _substituted(tree, env)
    known, warnings = _split_unknown(tree, Settings, "", source)
    warnings += not_honoured(tree, source)
    found, written = read_environment(env), frozenset(_dotted(known))
    for each in found.given:
        _put(known, each.path, each.value)
    for variable, path in USUAL_NAMES.items():
        if env.get(variable):
            _put(known, path, from_text(env[variable], KINDS[path], variable), keep=True)
    try:
        made_tree = msgspec.convert(known, Settings, strict=False, dec_hook=made)
    except msgspec.ValidationError as error:
        raise SettingsError(_told(error, known, source)) from None
    settings, settled = checked(made_tree, Spelling(source, written, found.variables))
    return settings, [*warnings, *found.warnings, *settled]


def _parsed(config: bytes, source: str) -> dict[str, Any]:
    try:
        found = tomllib.loads(config.decode())
    except RecursionError:
        raise SettingsError(f"{source} is nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, UnicodeDecodeError, and numbers of too many digits
        raise SettingsError(f"{source} is not valid TOML: {error}") from None
    if _is_deeper(found, _DEEPEST):  # dotted keys nest without a recursion of the parser
        raise SettingsError(f"{source} is nested too deeply")
    return found


def _is_deeper(value: object, most: int) -> bool:
    """Return whether tables and lists nest more than so many times."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return most < 0 or any(_is_deeper(each, most - 1) for each in inner)


def _split_unknown(
    tree: dict[str, Any], struct: type[Struct], path: str, source: str, *, is_off: bool = False
) -> tuple[dict[str, Any], list[str]]:
    """Separate the keys we know from those we do not, with a warning for each of the latter.

    What is switched off (`is_off`: a table around it) needs no variables: texts that ask for one not set are left out.
    Raises: SettingsError for a secret, a number or the like that names a variable which is not set.
    """
    kinds, known, warnings = keys(struct), {}, []
    is_off = is_off or tree.get("enabled") in (False, "false")
    if not is_off and _SERVICE.fullmatch(path) and (missing := _missing(tree, kinds)):
        tree, is_off = tree | {"enabled": False}, True
        warnings.append(f"{path} in {source} stays off, for {missing} is not set")
    for key, value in tree.items():
        where = f"{path}.{key}" if path else key
        kind = kinds.get(key)
        if kind is None:
            if not is_foreign(where):
                here = [f"{path}.{each}" if path else each for each in kinds]
                warnings.append(f"unknown key {where} in {source} is ignored{_meant(where, here)}")
        elif is_table(kind) and isinstance(value, dict):
            known[key], told = _split_unknown(value, kind, where, source, is_off=is_off)
            warnings += told
        elif (each := table_of_each(kind)) and isinstance(value, dict):
            known[key], told = _split_each(value, each, where, source, is_off=is_off)
            warnings += told
        elif not (is_off and any(_unset(value))):
            known[key] = texts(value) if get_origin(kind) is dict else value
            for unset in _unset(value):
                told_as = f"{where} in {source} asks for {unset[0]}, but {unset[1]} is not set"
                if not takes_text(kind) and not _LEFT_OUT.fullmatch(where):
                    raise SettingsError(told_as)
                warnings.append(told_as)
    return known, warnings


def _split_each(
    tree: dict[str, Any], struct: type[Struct], path: str, source: str, *, is_off: bool
) -> tuple[dict[str, Any], list[str]]:
    """Do the same for every table of a family, such as `buckets.<name>`."""
    known: dict[str, Any] = {}
    warnings: list[str] = []
    for name, value in tree.items():
        known[name] = value
        if isinstance(value, dict):
            known[name], told = _split_unknown(value, struct, f"{path}.{name}", source, is_off=is_off)
            warnings += told
    return known, warnings


def _missing(tree: dict[str, Any], kinds: Mapping[str, Any]) -> str:
    """Name a variable that is not set and that a secret, a number or the like of a table asks for."""
    unset = (
        found[1]
        for key, value in tree.items()
        if key in kinds and not takes_text(kinds[key]) and not is_table(kinds[key])
        for found in _unset(value)
    )
    return next(unset, "")


def _meant(where: str, here: list[str]) -> str:
    """Name the key that was meant: one like it of the same table, else the only one of its name elsewhere."""
    if near := nearest(where, [*here, *FOREIGN_SECTIONS, *FOREIGN_KEYS]):
        return near
    name = where.rpartition(".")[2]
    elsewhere = [".".join(path) for path in KINDS if path[-1] == name]
    return f"; did you mean {elsewhere[0]}?" if len(elsewhere) == 1 else ""


def _dotted(tree: dict[str, Any], path: str = "") -> Iterator[str]:
    """Give the dotted path of everything in a tree."""
    for key, value in tree.items():
        yield f"{path}{key}"
        if isinstance(value, dict):
            yield from _dotted(value, f"{path}{key}.")


def _unset(value: Any) -> Iterator[re.Match[str]]:
    """Find the variables that a text, or the texts of a table or list, still ask for."""
    texts_of = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    for text in texts_of:
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


def _told(error: msgspec.ValidationError, tree: dict[str, Any], source: str) -> str:
    """Say which key is wrong and what it takes. The library's own words are not shown: they are of its types."""
    found = _AT.search(str(error))
    path = found[1] if found else "the file"
    if "[...]" not in path:
        key = re.sub(r"\[\d+\]", "", path)
        return f"{source}: {key} must be {form(KINDS.get(tuple(key.split('.'))))}"
    family, _, rest = path.partition("[...]")
    kind = KINDS.get(tuple(family.split(".")))
    table, rest = table_of_each(kind), re.sub(r"\[[\d.]+\]", "", rest.lstrip("."))
    if table is None:
        return f"{source}: {family} must be {form(kind)}"
    name = next(
        (name for name, value in _table_at(tree, family).items() if not _fits(value, table)), "<name>"
    )
    wanted = form(dict(leaves(table)).get(tuple(rest.split(".")))) if rest else "a table"
    return f"{source}: {family}.{name}{'.' if rest else ''}{rest} must be {wanted}"


def _table_at(tree: dict[str, Any], path: str) -> dict[str, Any]:
    found: Any = tree
    for part in path.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _fits(value: Any, table: type[Struct]) -> bool:
    try:
        msgspec.convert(value, table, strict=False, dec_hook=made)
    except msgspec.ValidationError:
        return False
    return True
