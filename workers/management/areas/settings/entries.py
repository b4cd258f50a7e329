"""Every setting as administrators see it: its value, where that comes from, the value of each source. Pure.

No text of a secret is in an entry: of a secret it only shows whether it is set. Texts that are not secrets by their type but may hold
some (`_MAY_HOLD_SECRETS`) are treated the same.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from schemas.keys.secret import Secret
from schemas.settings.documentation import docstrings
from schemas.settings.environment import own_name
from schemas.settings.forms import KINDS, form, holds_secret, is_table
from schemas.settings.live import LIVE_KEYS, OWNER_KEYS
from schemas.settings.overlay import read_value, value_at
from schemas.settings.tree import Settings
from schemas.settings.types import Duration, Quota, Size
from workers.management.areas.settings.config_file import ConfigFile
from workers.settings.live_settings import LiveSettings

_MAY_HOLD_SECRETS = frozenset({
    "api.app_settings", "auth.sms.test_otp", "auth.email.smtp.headers", "auth.sms.vonage.api_key", "db.settings", "functions", "logs.drain",
})  # fmt: skip
SECRET_KEYS = (
    frozenset(".".join(path) for path, kind in KINDS.items() if holds_secret(kind)) | _MAY_HOLD_SECRETS
)
"""Dotted paths of the settings whose values are not shown."""
_RESTART = "It is read at the start: change it in config.toml or the environment, and restart the platform"


SET_BY_START = frozenset({
    "HEADWATER_DB_URL", "HEADWATER_BROKER_URL", "HEADWATER_GATEWAY_HOST", "HEADWATER_AUTH_ANON_KEY",
    "HEADWATER_AUTH_SERVICE_ROLE_KEY", "HEADWATER_AUTH_SIGNING_KEYS_PATH", "HEADWATER_API_TLS_CERT_PATH",
    "HEADWATER_API_TLS_KEY_PATH", "HEADWATER_EDGE_RUNTIME_PATH", "HEADWATER_API_PORT", "HEADWATER_DB_PORT",
    "HEADWATER_BROKER_PORT", "HEADWATER_INBUCKET_PORT", "HEADWATER_INBUCKET_SMTP_PORT",
    "HEADWATER_DB_AUTH_ADMIN_PASSWORD", "HEADWATER_DB_STORAGE_ADMIN_PASSWORD", "HEADWATER_DB_SCHEDULER_PASSWORD",
    "HEADWATER_DB_MANAGEMENT_PASSWORD", "HEADWATER_REALTIME_LOGIN_PASSWORD", "HEADWATER_DB_POOLER_PORT",
    "HEADWATER_AUTH_SEALING_KEY", "HEADWATER_CERTIFICATES_DIRECTORY_CA",
})  # fmt: skip
"""Variables that a start gives its processes (services/supervisor/environment.py, processes/plan.py), whether or not its own environment has them."""


class SettingSource(Struct, frozen=True):
    """The value of one source. `value` is null for a secret; `place` is a variable, `file:line`, or who changed it and when."""

    is_set: bool
    value: Any = None
    place: str = ""


class SettingEntry(Struct, frozen=True):
    """One setting. `value` is the one that applies, null for a secret; `source` is environment, database, file or default."""

    key: str
    source: str
    place: str
    value: Any
    is_set: bool
    is_secret: bool
    is_live: bool
    """It may be changed by `settings.change`."""
    needs_owner: bool
    type: str
    documentation: str
    variable: str
    """The environment variable that would override it."""
    environment: SettingSource | None = None
    database: SettingSource | None = None
    file: SettingSource | None = None
    default: SettingSource | None = None
    ignored: str = ""
    """Why the stored value does not apply."""
    hint: str = ""
    """Why it cannot be changed here, and what to do."""


@dataclass(frozen=True, slots=True)
class SettingSources:
    """What entries are made from."""

    live: LiveSettings
    file: ConfigFile
    defaults: Settings


def setting_entries(sources: SettingSources, prefix: str = "") -> list[SettingEntry]:
    """Return the entries whose path is `prefix` or begins with `prefix.`; all without one."""
    return [
        setting_entry(sources, key)
        for key in KEYS
        if not prefix or key == prefix or key.startswith(f"{prefix}.")
    ]


def setting_entry(sources: SettingSources, key: str) -> SettingEntry:
    """Return the entry of a setting."""
    live, is_secret = sources.live, key in SECRET_KEYS
    variable = live.base.fixed.get(key, "")
    present, started = value_at(live.settings, key), value_at(live.base.settings, key)
    environment = _source(started, is_secret, _place_of(variable)) if variable else None
    database = _database_source(live, key)
    file = _file_source(sources.file, key)
    ignored = live.effective.ignored.get(key, "")
    default = _source(value_at(sources.defaults, key), is_secret, "")
    source, applied = _winner(environment, None if ignored else database, file, default)
    return SettingEntry(
        key=key,
        source=source,
        place=applied.place,
        value=None if is_secret else plain_value(present),
        is_set=_is_set(present),
        is_secret=is_secret,
        is_live=key in LIVE_KEYS,
        needs_owner=key in OWNER_KEYS,
        type=_FORMS[key],
        documentation=documentation().get(key, ""),
        variable=variable or _VARIABLES[key],
        environment=environment,
        database=database,
        file=file,
        default=default,
        ignored=ignored,
        hint=_hint(key, variable),
    )


def _place_of(variable: str) -> str:
    return f"{variable}, set by the start for its processes" if variable in SET_BY_START else variable


def _winner(
    environment: SettingSource | None,
    database: SettingSource | None,
    file: SettingSource | None,
    default: SettingSource,
) -> tuple[str, SettingSource]:
    for name, source in (("environment", environment), ("database", database), ("file", file)):
        if source is not None:
            return name, source
    return "default", default


def _database_source(live: LiveSettings, key: str) -> SettingSource | None:
    stored = live.stored.entries.get(key)
    if stored is None:
        return None
    place = f"{stored.changed_by}, {stored.changed_at}"
    return SettingSource(_is_set(stored.value), shown_value(key, stored.value), place)


def _file_source(file: ConfigFile, key: str) -> SettingSource | None:
    if key not in file.keys:
        return None
    line = f":{file.lines[key]}" if key in file.lines else ""
    return _source(value_at(file.settings, key), key in SECRET_KEYS, f"{file.name}{line}")


def _source(value: Any, is_secret: bool, place: str) -> SettingSource:
    return SettingSource(_is_set(value), None if is_secret else plain_value(value), place)


def _hint(key: str, variable: str) -> str:
    if key not in LIVE_KEYS:
        return _RESTART
    if variable:
        return f"{variable} in the environment overrides it: remove it there, and restart the platform"
    return ""


def _is_set(value: Any) -> bool:
    """Return whether a value is there: numbers and truth values always are; texts, lists and tables unless they are empty."""
    return bool(value) or isinstance(value, int | float)


def shown_value(key: str, value: Any) -> Any:
    """Return a stored value (JSON) as it may be shown: null for a secret."""
    return None if key in SECRET_KEYS else value


def audited_value(key: str, value: Any) -> Any:
    """Return a stored value as an audit row holds it."""
    return "(secret)" if key in SECRET_KEYS else value


def plain_value(value: Any) -> Any:
    """Return a value of the settings as JSON: durations, sizes and quotas in their notation, secrets as null."""
    match value:
        case Secret():
            return None
        case Duration() | Size() | Quota():
            return str(value)
        case Struct():
            fields = msgspec.structs.fields(value)
            return {field.encode_name: plain_value(getattr(value, field.name)) for field in fields}
        case dict():
            return {name: plain_value(inner) for name, inner in value.items()}
        case list() | tuple():
            return [plain_value(inner) for inner in value]
    return value


def is_same(key: str, stored: Any, other: Settings) -> bool:
    """Return whether a stored value equals the one of other settings."""
    return bool(read_value(key, stored) == value_at(other, key))


@cache
def documentation() -> Mapping[str, str]:
    """Return the text under each key. The sources are parsed at the first call, for a tenth of a second: call that in a thread."""
    return dict(_documented(Settings, ()))


def _documented(table: type[Struct], path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    texts = docstrings(table)
    for field in msgspec.structs.fields(table):
        inner = (*path, field.encode_name)
        if inner in KINDS:
            yield ".".join(inner), " ".join(texts.get(field.name, "").split())
        elif is_table(field.type):
            yield from _documented(field.type, inner)


_FORMS: Mapping[str, str] = {".".join(path): form(kind) for path, kind in KINDS.items()}
_VARIABLES: Mapping[str, str] = {".".join(path): own_name(path) for path in KINDS}
KEYS: Mapping[str, None] = dict.fromkeys(_FORMS)
"""Dotted paths of all settings, in the order of the documentation page."""
