"""Read the environment (pure): variables -> values of the settings tree, each with the variable that set it.

Our own names are the path of a key in capitals behind `HEADWATER_`: `environment_names()` is their table. The names of the official
auth and storage servers (`gotrue_names.py`, `storage_names.py`) are read as well, in their own notations: booleans as `t` or `F`,
comma-separated lists, mappings as `key:value,key:value`. An empty one of those counts as not set. Our names win over them.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import NoneType
from typing import Any, NamedTuple, get_args, get_origin

import msgspec

from schemas.settings.auth_delivery import SENDERS
from schemas.settings.forms import KINDS, decode_value, form, holds_secret, texts
from schemas.settings.gotrue_names import (
    EXTRA_NAMES,
    GOTRUE_NAMES,
    GOTRUE_PREFIX,
    SMS_PROVIDER,
    WITHOUT_MEANING,
    Alias,
)
from schemas.settings.process_environment import PROCESS_VARIABLES
from schemas.settings.storage_names import STORAGE_NAMES
from schemas.settings.tree import SettingsError

ENVIRONMENT_PREFIX = "HEADWATER_"
_UNMARKED = EXTRA_NAMES | STORAGE_NAMES.keys()
"""Names of the official servers without a prefix."""

_RANKS = {
    name: rank for rank, name in enumerate((*reversed(GOTRUE_NAMES), SMS_PROVIDER, *reversed(STORAGE_NAMES)))
}
"""Names of the official servers, later ones win."""

_REPORT_MARK = "STORAGE_S3_URL"
_REPORTED = frozenset({"S3_PROTOCOL_ACCESS_KEY_ID", "S3_PROTOCOL_ACCESS_KEY_SECRET"})
"""Settings of the official storage server that `headwater status -o env` prints as well."""

_TRUTH = dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True) | dict.fromkeys(
    ("0", "f", "F", "false", "FALSE", "False"), False
)
_PAIR = re.compile(r"\s*([^:=]*[^:=\s])\s*[:=]\s*(.*?)\s*", re.DOTALL)


class EnvironmentValue(NamedTuple):
    """A value of the environment: the variable, the key it sets, the value."""

    variable: str
    path: tuple[str, ...]
    value: Any


@dataclass(frozen=True, slots=True)
class Environment:
    """The values of an environment in increasing precedence, with warnings."""

    values: list[EnvironmentValue] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def variables(self) -> dict[str, str]:
        """The variable that set each key, by the key's dotted path."""
        return {".".join(value.path): value.variable for value in self.values}


@cache
def environment_names() -> dict[str, tuple[tuple[str, ...], Any]]:
    """Return every environment name of ours with the path of its key and the key's type."""
    return {own_name(path): (path, kind) for path, kind in KINDS.items()}


def own_name(path: Iterable[str]) -> str:
    """Return the environment name of a key's path."""
    return ENVIRONMENT_PREFIX + "_".join(path).upper()


def is_setting(variable: str) -> bool:
    """Return whether a variable is read for the settings, by its name alone."""
    return variable.startswith((ENVIRONMENT_PREFIX, GOTRUE_PREFIX)) or variable in _UNMARKED


def without_report(environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return an environment without the names that come from a report of addresses and keys.

    `headwater status -o env` prints the S3 key pair of a running platform under names that the official storage server reads as
    settings. `STORAGE_S3_URL` is printed beside them and is a setting of no server: where it is set, they are a report.
    """
    if _REPORT_MARK not in environment:
        return environment
    return {name: text for name, text in environment.items() if name not in _REPORTED}


def read_environment(environment: Mapping[str, str]) -> Environment:
    """Read all settings of an environment. Raises: SettingsError that names an unusable variable."""
    environment = without_report(environment)
    names, result = environment_names(), Environment()
    for variable in sorted((name for name in environment if name in _RANKS), key=_RANKS.__getitem__):
        if (text := environment[variable]).strip():
            result.values.extend(_official(variable, text))
    unknown = [name for name in environment if name.startswith(GOTRUE_PREFIX) and not _is_official(name)]
    result.warnings.extend(_unknown(name, [*GOTRUE_NAMES, SMS_PROVIDER]) for name in unknown)
    for variable, text in environment.items():
        if not variable.startswith(ENVIRONMENT_PREFIX) or variable in PROCESS_VARIABLES:
            continue
        if variable in names:
            path, kind = names[variable]
            result.values.append(EnvironmentValue(variable, path, from_text(text, kind, variable)))
        else:
            result.warnings.append(_unknown(variable, names))
    return result


def from_text(text: str, kind: Any, variable: str) -> Any:
    """Parse an environment text: lists as JSON or comma separated, mappings as JSON, the rest as is.

    Raises: SettingsError that names the variable.
    """
    _check_characters(text, variable)
    value: Any = text
    if get_origin(kind) is list and text[:1] not in ("[", "{"):
        value = [part.strip() for part in text.split(",") if part.strip()]
    elif get_origin(kind) in (list, dict):
        value = _from_json(text, kind, variable)
    elif text == "" and NoneType in get_args(kind) and not holds_secret(kind):
        value = None
    return _fitting(value, kind, variable)


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a suggestion of the most similar name, if one is similar."""
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.8)
    return f"; did you mean {near[0]}?" if near else ""


def _unknown(variable: str, names: Iterable[str]) -> str:
    return f"unknown environment variable {variable} is ignored{nearest(variable, names)}"


def _is_official(variable: str) -> bool:
    return variable in GOTRUE_NAMES or variable == SMS_PROVIDER or variable.startswith(WITHOUT_MEANING)


def _official(variable: str, text: str) -> list[EnvironmentValue]:
    """Read one variable of the official servers. Of the SMS senders, only the named one is enabled."""
    if variable != SMS_PROVIDER:
        aliases = STORAGE_NAMES.get(variable) or (GOTRUE_NAMES[variable],)
        return [
            EnvironmentValue(variable, alias.path, _from_alias(text, alias, variable)) for alias in aliases
        ]
    if text.strip() not in SENDERS:
        raise SettingsError(f"{variable} must be one of {', '.join(SENDERS)}")
    return [
        EnvironmentValue(variable, ("auth", "sms", name, "enabled"), name == text.strip()) for name in SENDERS
    ]


def _from_alias(text: str, alias: Alias, variable: str) -> Any:
    """Parse a text of an official server's environment into a value of our key."""
    kind = KINDS[alias.path]
    _check_characters(text, variable)
    if kind is str or (holds_secret(kind) and get_origin(kind) is not dict):
        return text
    text = text.strip()
    if kind is bool:
        truth = _TRUTH.get(text)
        if truth is None:
            raise SettingsError(f"{variable} must be {form(bool)}")
        return truth is not alias.inverse
    if get_origin(kind) is list and alias.separator == ":":
        return [part.replace("\\:", ":") for part in re.split(r"(?<!\\):", text) if part]
    if get_origin(kind) is dict and text[:1] != "{":
        return _fitting(_pairs(text, kind, variable), kind, variable)
    return from_text(text + alias.unit, kind, variable)


def _pairs(text: str, kind: Any, variable: str) -> dict[str, str]:
    matches = [_PAIR.fullmatch(part) for part in text.split(",") if part.strip()]
    pairs = [(pair[1], pair[2]) for pair in matches if pair]
    if len(pairs) < len(matches):
        raise SettingsError(f"{variable} must be {form(kind)}, as name:value,name:value")
    return dict(pairs)


def _from_json(text: str, kind: Any, variable: str) -> Any:
    try:
        return texts(msgspec.json.decode(text))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise SettingsError(f"{variable} is not valid JSON; it takes {form(kind)}") from None


def _check_characters(text: str, variable: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SettingsError(f"{variable} is not valid UTF-8") from None


def _fitting(value: Any, kind: Any, variable: str) -> Any:
    try:
        msgspec.convert(value, kind, strict=False, dec_hook=decode_value)
    except msgspec.ValidationError:
        raise SettingsError(f"{variable} must be {form(kind)}") from None
    return value
