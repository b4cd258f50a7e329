"""Options stored in the database: read on the login role's connection, applied over the settings of the project.

A project sets them with `alter role authenticator set pgrst.<option> = '...'` (options set `in database x` take
precedence over general ones) or in a pre-config function that calls `set_config('pgrst.<option>', ..., true)`; those of the
role take precedence. `notify pgrst, 'reload config'` reloads them. Source: docs/reference/rest.md, section 2.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import asyncpg
import msgspec

from broker.observability.observations import Observation
from schemas.claims_path import parse_claims_path
from schemas.keys.secret import Secret
from schemas.numbers import parse_whole_number
from schemas.settings.tree import Api
from schemas.settings.types import MOST
from workers.sql.compose import concat, qualified, raw, render
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.database.schema_cache", "database_options.sql")
_TRUE = frozenset({"true", "on", "yes", "1", "t"})
_FALSE = frozenset({"false", "off", "no", "0", "f"})


class OptionsIgnored(Observation, frozen=True):
    """Options stored in the database cannot be used and are ignored."""

    level: ClassVar[str] = "warning"
    reasons: tuple[str, ...]


class OptionsReloadFailed(Observation, frozen=True):
    """The options stored in the database could not be read; the previous ones stay in use."""

    level: ClassVar[str] = "error"
    reason: str


@dataclass(frozen=True, slots=True)
class _Option:
    """A field of `Api` (or of its `jwt`), and how its text is parsed. A parser raises ValueError that says what is expected."""

    field: str
    read: Callable[[str], Any]


def _claims_path(value: str) -> str:
    try:
        parse_claims_path(value)
    except ValueError:
        raise ValueError("must be a JSON path like $.role") from None
    return value


def _name(value: str) -> str | None:
    return value or None


def _names(value: str) -> list[str]:
    return [name for part in value.split(",") if (name := part.strip())]


def _at_least_one_name(value: str) -> list[str]:
    names = _names(value)
    if not names:
        raise ValueError("must name at least one")
    return names


def _flag(value: str) -> bool:
    lowered = value.strip().lower()
    if lowered not in _TRUE | _FALSE:
        raise ValueError("must be true or false")
    return lowered in _TRUE


def _count(value: str) -> int:
    number = parse_whole_number(value.strip(), most=MOST)
    if number is None:
        raise ValueError("must be a whole number")
    return number


def _limit(value: str) -> int | None:
    return _count(value) or None


def _choice(*allowed: str) -> Callable[[str], str]:
    def read(value: str) -> str:
        if value not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}")
        return value

    return read


_OPTIONS = {
    "db_schemas": _Option("schemas", _at_least_one_name),
    "db_extra_search_path": _Option("extra_search_path", _names),
    "db_anon_role": _Option("anon_role", _name),
    "max_rows": _Option("max_rows", _limit),
    "pre_request": _Option("pre_request", _name),
    "root_spec": _Option("root_spec", _name),
    "tx_end": _Option(
        "tx_end", _choice("commit", "commit-allow-override", "rollback", "rollback-allow-override")
    ),
    "aggregates_enabled": _Option("aggregates_enabled", _flag),
    "require_filters": _Option("require_filters", _flag),
    "plan_enabled": _Option("plan_enabled", _flag),
    "prepared_statements": _Option("prepared_statements", _flag),
    "hoisted_tx_settings": _Option("hoisted_tx_settings", _names),
    "openapi_mode": _Option("openapi_mode", _choice("follow-privileges", "ignore-privileges", "disabled")),
    "openapi_security_active": _Option("openapi_security_active", _flag),
    "openapi_server_proxy_uri": _Option("openapi_server_proxy_uri", _name),
    "jwt_secret": _Option("jwt.secret", Secret),
    "jwt_secret_is_base64": _Option("jwt.secret_is_base64", _flag),
    "jwt_aud": _Option("jwt.audience", _name),
    "jwt_role_claim_key": _Option("jwt.role_claim_key", _claims_path),
    "jwt_cache_max_entries": _Option("jwt.cache_max_entries", _count),
    "cors_allowed_origins": _Option("cors_allowed_origins", _names),
    "server_timing_enabled": _Option("server_timing_enabled", _flag),
    "server_trace_header": _Option("server_trace_header", _name),
    "error_verbosity": _Option("error_verbosity", _choice("verbose", "minimal")),
    "legacy_target_names": _Option("legacy_target_names", _flag),
}
_SPELLINGS = {
    "db_schema": "db_schemas",
    "db_max_rows": "max_rows",
    "db_pre_request": "pre_request",
    "db_root_spec": "root_spec",
    "db_tx_end": "tx_end",
    "db_aggregates_enabled": "aggregates_enabled",
    "db_plan_enabled": "plan_enabled",
    "db_prepared_statements": "prepared_statements",
    "db_hoisted_tx_settings": "hoisted_tx_settings",
    "server_cors_allowed_origins": "cors_allowed_origins",
    "client_error_verbosity": "error_verbosity",
}
"""Alternative names that projects written for PostgREST use."""


async def read_options(
    connection: asyncpg.Connection, pre_config: str | None, timeout_s: float
) -> dict[str, str]:
    """Read the options stored in the database, by name without the prefix.

    Raises: asyncpg.PostgresError, also when the pre-config function fails; TimeoutError, OSError.
    """
    names = [*_OPTIONS, *_SPELLINGS]
    options: dict[str, str] = {}
    async with connection.transaction(readonly=True):
        if pre_config:
            await connection.execute(_STATEMENTS["forget"], names, timeout=timeout_s)
            await connection.execute(_call(pre_config), timeout=timeout_s)
            set_now = await connection.fetch(_STATEMENTS["of_session"], names, timeout=timeout_s)
            options = {row["name"]: row["value"] for row in set_now}
        of_role = await connection.fetch(_STATEMENTS["of_role"], timeout=timeout_s)
    return options | {row["name"]: row["value"] for row in of_role}


def _call(function: str) -> str:
    text, _ = render(concat(raw("select "), qualified(*function.split(".")), raw("()")))
    return text


def apply_options(api: Api, rows: Mapping[str, str]) -> tuple[Api, list[str]]:
    """Return the settings with options applied, and a warning, without the value, for each option that cannot be used."""
    changes: dict[str, Any] = {}
    warnings = []
    for name, value in sorted(rows.items()):
        option = _OPTIONS.get(_SPELLINGS.get(name, name))
        if option is None:
            warnings.append(f"unknown option pgrst.{name} is ignored")
            continue
        try:
            changes[option.field] = option.read(value)
        except ValueError as error:
            warnings.append(f"option pgrst.{name} is ignored: it {error}")
    direct = {name: value for name, value in changes.items() if not name.startswith("jwt.")}
    of_jwt = {name.removeprefix("jwt."): value for name, value in changes.items() if name.startswith("jwt.")}
    jwt = msgspec.structs.replace(api.jwt, **of_jwt)
    return msgspec.structs.replace(api, **direct, jwt=jwt), warnings
