"""Apply the settings that are stored in the database over those of a process (pure).

Order: defaults < `config.toml` < database < environment (of the official servers, then `HEADWATER_...`). The environment wins,
because it is how an operator fixes a value for a machine: administrators see such a value and cannot change it. The database wins
over the file, or a change by an administrator would be lost on every platform that was created by `headwater init`.

The checks are those of the start. A set of stored values that does not pass them (after an upgrade, or because the file changed)
never stops a process: the values at fault are left out and reported, and those of the file apply.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin

import msgspec
from msgspec import Struct

from schemas.settings.checks import normalized_settings
from schemas.settings.forms import KINDS, decode_value, form, texts
from schemas.settings.live import LIVE_KEYS
from schemas.settings.spelling import KeySpelling
from schemas.settings.tree import Settings, SettingsError

T = TypeVar("T", bound=Struct)
Check = Callable[[Settings], object]
"""Raises SettingsError for settings that a pool cannot work with."""


@dataclass(frozen=True, slots=True)
class SettingsBase:
    """The settings with which a process started, and which of their values the environment fixes (dotted path -> variable)."""

    settings: Settings
    fixed: Mapping[str, str] = field(default_factory=dict)
    source: str = "config.toml"


@dataclass(frozen=True, slots=True)
class EffectiveSettings:
    """The settings that apply; `ignored` has the reason for each stored value that does not."""

    settings: Settings
    ignored: Mapping[str, str] = field(default_factory=dict)


def read_value(key: str, value: Any) -> Any:
    """Return a stored value (JSON) as the settings hold it. Raises: SettingsError that names the key and what it accepts."""
    kind = KINDS.get(tuple(key.split(".")))
    if kind is None or key not in LIVE_KEYS:
        raise SettingsError(f"{key} is not a setting that can be changed while the platform runs")
    if value is None and NoneType not in get_args(kind):
        raise SettingsError(f"{key} must be {form(kind)}")
    if get_origin(kind) is dict:
        value = texts(value)
    try:
        return msgspec.convert(value, kind, strict=False, dec_hook=decode_value)
    except (msgspec.ValidationError, ValueError, OverflowError):
        raise SettingsError(f"{key} must be {form(kind)}") from None


def strict_settings(base: SettingsBase, values: Mapping[str, Any]) -> tuple[Settings, list[str]]:
    """Return the settings with stored values applied, and warnings. Values that the environment fixes have no effect.

    Raises: SettingsError with the words of a start.
    """
    changes = {key: read_value(key, value) for key, value in values.items() if key not in base.fixed}
    spelling = KeySpelling(base.source, frozenset(), base.fixed, frozenset(changes))
    return normalized_settings(_replaced(base.settings, _nested(changes)), spelling)


def effective_settings(
    base: SettingsBase, values: Mapping[str, Any], check: Check = lambda settings: None
) -> EffectiveSettings:
    """Return the settings that apply, without the stored values that cannot be used.

    If the values do not pass the checks together, the single one without which they do is left out, else the smallest table of
    them, else all.
    """
    ignored: dict[str, str] = {}
    readable: dict[str, Any] = {}
    for key, value in values.items():
        try:
            read_value(key, value)
        except SettingsError as error:
            ignored[key] = str(error)
        else:
            readable[key] = value
    reason = ""
    for left_out in _candidates(readable):
        try:
            settings, _ = strict_settings(
                base, {key: readable[key] for key in readable if key not in left_out}
            )
            check(settings)
        except SettingsError as error:
            reason = reason or str(error)
        else:
            return EffectiveSettings(settings, ignored | dict.fromkeys(left_out, reason))
    return EffectiveSettings(base.settings, ignored | dict.fromkeys(readable, reason))


def _candidates(values: Mapping[str, Any]) -> list[frozenset[str]]:
    """Return what may be left out, in the order in which it is tried: nothing, each value, each table of them."""
    tables: dict[str, set[str]] = {}
    for key in values:
        parts = key.split(".")
        for length in range(1, len(parts)):
            tables.setdefault(".".join(parts[:length]), set()).add(key)
    groups = sorted((frozenset(keys) for keys in tables.values() if len(keys) > 1), key=len)
    return [frozenset(), *(frozenset({key}) for key in values), *groups]


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by dotted path as nested tables."""
    tree: dict[str, Any] = {}
    for key, value in values.items():
        *tables, last = key.split(".")
        node = tree
        for table in tables:
            node = node.setdefault(table, {})
        node[last] = value
    return tree


def _replaced(table: T, changes: Mapping[str, Any]) -> T:
    """Return a table of settings with values replaced, by the names that files use."""
    fields = _attributes(type(table))
    values = {}
    for name, change in changes.items():
        present = getattr(table, fields[name])
        values[fields[name]] = _replaced(present, change) if isinstance(present, Struct) else change
    return msgspec.structs.replace(table, **values)


def value_at(settings: Settings, key: str) -> Any:
    """Return the value of a setting by its dotted path."""
    node: Any = settings
    for part in key.split("."):
        node = getattr(node, _attributes(node.__class__)[part])
    return node


@cache
def _attributes(table: type[Struct]) -> Mapping[str, str]:
    """Return the attributes of a table by the names that files use."""
    return {described.encode_name: described.name for described in msgspec.structs.fields(table)}
