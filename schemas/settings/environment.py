"""Reading of the environment (pure): from variables to values of the tree, each with the name it came under.

Our own names are the path of a key in capitals behind `HEADWATER_`: `environment_names()` is their table. The names of
the official auth and storage servers (`gotrue_names.py`, `storage_names.py`) are read as well, in their own spellings:
truth values as `t` or `F`, lists by comma, mappings as `key:value,key:value`. An empty one of those is as if it were
not set. Ours win over them.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, NamedTuple, get_args, get_origin

import msgspec

from schemas.settings.auth_delivery import SENDERS
from schemas.settings.forms import KINDS, form, holds_secret, made, texts
from schemas.settings.gotrue_names import (
    EXTRA_NAMES,
    GOTRUE_NAMES,
    GOTRUE_PREFIX,
    SMS_PROVIDER,
    WITHOUT_MEANING,
    Alias,
)
from schemas.settings.storage_names import STORAGE_NAMES
from schemas.settings.tree import SettingsError

ENVIRONMENT_PREFIX = "HEADWATER_"
RESERVED_ENVIRONMENT = frozenset(
    {
        "HEADWATER_ALIVE_FILE",
        "HEADWATER_CONFIG",
        "HEADWATER_DATA",
        "HEADWATER_FORK_FD",
        "HEADWATER_LISTEN_FDS",
        "HEADWATER_POSTGRES_TOOLS",
        "HEADWATER_READY_FD",
        "HEADWATER_PROCESS",
        "HEADWATER_MIGRATE_URL",
        "HEADWATER_PROJECT_FOLDER",
        "HEADWATER_PROJECT_URL",
        "HEADWATER_SHADOW_URL",
        "HEADWATER_VERSION",
    }
)
"""Names the supervisor uses to speak to its children."""

_UNMARKED = EXTRA_NAMES | STORAGE_NAMES.keys()
"""Names of the official servers that no prefix tells."""

_TRUTH = dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True) | dict.fromkeys(
    ("0", "f", "F", "false", "FALSE", "False"), False
)
_PAIR = re.compile(r"\s*([^:=]*[^:=\s])\s*[:=]\s*(.*?)\s*", re.DOTALL)


class Given(NamedTuple):
    """A value of the environment: the name it came under, the key it sets, the value."""

    variable: str
    path: tuple[str, ...]
    value: Any


@dataclass(frozen=True, slots=True)
class Environment:
    """What an environment says, the later values over the earlier ones, with what is to be told."""

    given: list[Given] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def variables(self) -> dict[str, str]:
        """Give the name each key was set under, by the key's dotted path."""
        return {".".join(each.path): each.variable for each in self.given}


def environment_names() -> dict[str, tuple[tuple[str, ...], Any]]:
    """Give every environment name of ours with the path of its key and the key's type."""
    return {own_name(path): (path, kind) for path, kind in KINDS.items()}


def own_name(path: Iterable[str]) -> str:
    """Spell the path of a key as a name of the environment."""
    return ENVIRONMENT_PREFIX + "_".join(path).upper()


def is_setting(variable: str) -> bool:
    """Say whether a variable is read for the settings, by its name alone."""
    return variable.startswith((ENVIRONMENT_PREFIX, GOTRUE_PREFIX)) or variable in _UNMARKED


def read_environment(environment: Mapping[str, str]) -> Environment:
    """Read all settings of an environment. Raises: SettingsError that names a variable which cannot be used."""
    names, found = environment_names(), Environment()
    for variable in (*reversed(GOTRUE_NAMES), SMS_PROVIDER, *reversed(STORAGE_NAMES)):
        if (text := environment.get(variable, "")).strip():
            found.given.extend(_foreign(variable, text))
    unknown = [name for name in environment if name.startswith(GOTRUE_PREFIX) and not _is_foreign(name)]
    found.warnings.extend(_unknown(name, [*GOTRUE_NAMES, SMS_PROVIDER]) for name in unknown)
    for variable, text in environment.items():
        if not variable.startswith(ENVIRONMENT_PREFIX) or variable in RESERVED_ENVIRONMENT:
            continue
        if variable in names:
            path, kind = names[variable]
            found.given.append(Given(variable, path, from_text(text, kind, variable)))
        else:
            found.warnings.append(_unknown(variable, names))
    return found


def from_text(text: str, kind: Any, variable: str) -> Any:
    """Read an environment text: lists as JSON or comma separated, mappings as JSON, the rest as is.

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


def nearest(name: str, known: Iterable[str]) -> str:
    """Name the known name that was meant, if one is near."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
    return f"; did you mean {near[0]}?" if near else ""


def _unknown(variable: str, known: Iterable[str]) -> str:
    return f"unknown environment variable {variable} is ignored{nearest(variable, known)}"


def _is_foreign(variable: str) -> bool:
    return variable in GOTRUE_NAMES or variable == SMS_PROVIDER or variable.startswith(WITHOUT_MEANING)


def _foreign(variable: str, text: str) -> list[Given]:
    """Read one variable of the official servers. Of the senders of messages, the one that is named is enabled alone."""
    if variable != SMS_PROVIDER:
        aliases = STORAGE_NAMES.get(variable) or (GOTRUE_NAMES[variable],)
        return [Given(variable, alias.path, _from_alias(text, alias, variable)) for alias in aliases]
    if text.strip() not in SENDERS:
        raise SettingsError(f"{variable} must be one of {', '.join(SENDERS)}")
    return [Given(variable, ("auth", "sms", name, "enabled"), name == text.strip()) for name in SENDERS]


def _from_alias(text: str, alias: Alias, variable: str) -> Any:
    """Read a text of an official server's environment into a value of our key."""
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
    found = [_PAIR.fullmatch(part) for part in text.split(",") if part.strip()]
    pairs = [(pair[1], pair[2]) for pair in found if pair]
    if len(pairs) < len(found):
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
        msgspec.convert(value, kind, strict=False, dec_hook=made)
    except msgspec.ValidationError:
        raise SettingsError(f"{variable} must be {form(kind)}") from None
    return value
