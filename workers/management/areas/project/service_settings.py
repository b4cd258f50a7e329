"""The settings of the services under the names of the official Management API, read from the settings tree. Pure.

Names of auth are the environment names of the official auth server in lower case, without their prefix. Secrets are never shown:
their names stay without a value. Durations are whole seconds, durations of sessions hours; lists are joined by commas.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, get_origin

import msgspec

from schemas.keys.secret import Secret
from schemas.settings.auth_delivery import SENDERS
from schemas.settings.forms import KINDS
from schemas.settings.gotrue_names import EXTRA_NAMES, GOTRUE_NAMES, GOTRUE_PREFIX
from schemas.settings.tree import Settings
from schemas.settings.types import Duration, Quota

_HOURS = frozenset({"sessions_timebox", "sessions_inactivity_timeout"})
_TEXTS = frozenset({"smtp_port"})
"""Numbers that the official interface writes as texts."""
_CODES = "sms_test_otp"
"""Codes that sign in: as secret as a password, though the settings do not mark them."""
_KIB = 1024


def auth_settings(settings: Settings) -> dict[str, object]:
    """Return the settings of auth by their official names."""
    values: dict[str, object] = {}
    for variable, alias in GOTRUE_NAMES.items():
        if variable in EXTRA_NAMES:
            continue
        name = variable.removeprefix(GOTRUE_PREFIX).lower()
        value = _at(settings, alias.path)
        if name == _CODES or value is _MISSING or isinstance(value, Secret) or _holds_secrets(value):
            continue
        values[name] = _official(name, not value if alias.inverse else value, alias.separator)
    values["refresh_token_rotation_enabled"] = settings.auth.enable_refresh_token_rotation
    email = settings.auth.email
    for templates, suffix in ((email.template, ""), (email.notification, "_notification")):
        for name in templates.__struct_fields__:
            values[f"mailer_templates_{name}{suffix}_content"] = getattr(templates, name).content
    values["sms_provider"] = next(
        (sender for sender in SENDERS if getattr(getattr(settings.auth.sms, sender), "enabled", False)), None
    )
    return values


def secret_names(settings: Settings) -> dict[str, str]:
    """Return the secrets of auth by their official names."""
    pairs = {
        variable.removeprefix(GOTRUE_PREFIX).lower(): _at(settings, alias.path)
        for variable, alias in GOTRUE_NAMES.items()
        if variable not in EXTRA_NAMES
    }
    secrets = {name: value.reveal() for name, value in pairs.items() if isinstance(value, Secret)}
    return secrets | {_CODES: str(_official(_CODES, pairs[_CODES], ","))}


class _Missing:
    pass


_MISSING = _Missing()


def _at(settings: Settings, path: tuple[str, ...]) -> object:
    """Return the value at a path of the tree; `_MISSING` if an optional section on the way is not set."""
    value: object = settings
    for key in path:
        value = value.get(key, _MISSING) if isinstance(value, Mapping) else getattr(value, key, _MISSING)
        if value is None or value is _MISSING:
            return value
    return value


def _holds_secrets(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(isinstance(item, Secret) for item in value.values())
    return isinstance(value, list) and any(isinstance(item, Secret) for item in value)


def _official(name: str, value: object, separator: str) -> object:
    if name in _HOURS and isinstance(value, float):
        return value / 3600
    if isinstance(value, Quota):
        return value.most
    if isinstance(value, Duration):
        return round(value)
    if name in _TEXTS and isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return separator.join(str(item) for item in value)
    if isinstance(value, Mapping):
        return separator.join(f"{key}={item}" for key, item in value.items())
    if isinstance(value, float) and value.is_integer():
        return round(value)
    return msgspec.to_builtins(value, enc_hook=str)


def api_settings(settings: Settings) -> dict[str, object]:
    """Return the settings of REST by their official names."""
    api = settings.api
    return {
        "db_schema": ",".join(api.schemas),
        "db_extra_search_path": ",".join(api.extra_search_path),
        "max_rows": api.max_rows or 0,
        "db_pool": settings.db.pool_size,
        "db_pool_acquisition_timeout": round(settings.pools.longest_wait),
        "db_pool_max_lifetime": 0,
        "db_pool_max_idletime": 0,
    }


def storage_settings(settings: Settings) -> dict[str, object]:
    """Return the settings of storage by their official names."""
    storage = settings.storage
    return {
        "fileSizeLimit": round(storage.file_size_limit),
        "features": {
            "imageTransformation": {"enabled": storage.image_transformation.enabled},
            "s3Protocol": {"enabled": storage.s3_protocol.enabled},
            "purgeCache": {"enabled": False},
            "icebergCatalog": {"enabled": False, "maxNamespaces": 0, "maxTables": 0, "maxCatalogs": 0},
            "vectorBuckets": {"enabled": False, "maxBuckets": 0, "maxIndexes": 0},
        },
        "capabilities": {"list_v2": True, "iceberg_catalog": False, "object_versioning": True},
        "external": {"upstreamTarget": "main"},
        "migrationVersion": None,
    }


def realtime_settings(settings: Settings) -> dict[str, object]:
    """Return the settings of realtime by their official names; rates as whole numbers, 0 is unlimited."""
    realtime = settings.realtime
    return {
        "private_only": realtime.private_only,
        "connection_pool": settings.db.pool_size,
        "postgres_changes_pool": None,
        "max_concurrent_users": realtime.max_concurrent_users,
        "max_events_per_second": round(realtime.max_events_per_second),
        "max_bytes_per_second": round(realtime.max_bytes_per_second),
        "max_channels_per_client": realtime.max_channels_per_client,
        "max_joins_per_second": round(realtime.max_joins_per_second),
        "max_presence_events_per_second": round(realtime.max_presence_events_per_second),
        "max_payload_size_in_kb": realtime.max_payload // _KIB,
        "suspend": not realtime.enabled,
        "presence_enabled": realtime.presence_enabled,
    }


AUTH_NAMES = tuple(
    name.removeprefix(GOTRUE_PREFIX).lower() for name in GOTRUE_NAMES if name not in EXTRA_NAMES
)
"""The official names of the settings of auth, those of secrets too."""

READERS: dict[str, Callable[[Settings], dict[str, object]]] = {
    "auth": auth_settings,
    "api": api_settings,
    "storage": storage_settings,
    "realtime": realtime_settings,
}
"""The areas, and what returns the settings of each."""


_MAIL_TEMPLATE = re.compile(r"mailer_templates_(\w+?)(_notification)?_content", re.ASCII)
_KEYS = {
    "api": {
        "db_schema": "api.schemas",
        "db_extra_search_path": "api.extra_search_path",
        "max_rows": "api.max_rows",
    },
    "storage": {"fileSizeLimit": "storage.file_size_limit"},
    "realtime": {
        name: f"realtime.{name}"
        for name in (
            "private_only",
            "presence_enabled",
            "max_concurrent_users",
            "max_events_per_second",
            "max_bytes_per_second",
            "max_channels_per_client",
        )
    },
}
"""Settings beside those of auth that have a key of the same meaning: official name -> key."""
_LISTS = frozenset({"api.schemas", "api.extra_search_path"})
_ORDERED = frozenset({"db_schema", "db_extra_search_path"})
"""Lists whose order means something: the first schema is the one of requests that name none, a search path is tried in its order."""


def official_change(area: str, name: str, value: object) -> tuple[str, object] | None:
    """Return the key and the value that an official name and its value mean; None for a name without a key."""
    if area != "auth":
        key = _KEYS[area].get(name)
        if key is None:
            return None
        return key, _listed(value, ",") if key in _LISTS else value
    if name == "refresh_token_rotation_enabled":
        return "auth.enable_refresh_token_rotation", value
    if match := _MAIL_TEMPLATE.fullmatch(name):
        group = "notification" if match[2] else "template"
        return f"auth.email.{group}.{match[1]}.content", value
    alias = GOTRUE_NAMES.get(f"{GOTRUE_PREFIX}{name.upper()}")
    if alias is None:
        return None
    key = ".".join(alias.path)
    if name in _HOURS and isinstance(value, int | float):
        return key, value * 3600
    if alias.inverse:
        return key, not value
    is_list = get_origin(KINDS.get(tuple(alias.path))) is list
    return key, _listed(value, alias.separator) if is_list else value


def _listed(value: object, separator: str) -> object:
    """Return a list for a text of items; other values are left to the checks of the settings."""
    if value is None:
        return []
    return (
        [item.strip() for item in value.split(separator) if item.strip()] if isinstance(value, str) else value
    )


def differing(current: Mapping[str, Any], requested: Mapping[str, Any], path: str = "") -> list[str]:
    """Return the names of requested values that differ from the current ones; nested ones are joined by dots."""
    names: list[str] = []
    for name, value in requested.items():
        present = current.get(name)
        if isinstance(value, dict) and isinstance(present, dict):
            names += differing(present, value, f"{path}{name}.")
        elif not _is_same(present, value, is_ordered=name in _ORDERED):
            names.append(path + name)
    return names


def _is_same(present: object, requested: object, *, is_ordered: bool) -> bool:
    """Return whether two values mean the same: unset and empty do, and so do lists in another order unless it counts."""
    if (
        isinstance(present, str)
        and isinstance(requested, str)
        and "," in present + requested
        and not is_ordered
    ):
        return sorted(present.split(",")) == sorted(requested.split(","))
    return present == requested or (present in (None, "") and requested in (None, ""))
