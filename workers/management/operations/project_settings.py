"""Operations on the settings of the services under their official names: read them, and change them where that is possible."""

from typing import Any

from msgspec import Struct

from schemas.settings.live import LIVE_KEYS
from workers.database.transactions.interactive import statement
from workers.management.areas.project.service_settings import (
    READERS,
    differing,
    official_change,
    secret_names,
)
from workers.management.areas.settings.change import change_settings as change_live_settings
from workers.management.interface.errors import ManagementError, invalid_arguments
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import Done, NoArguments
from workers.sql.files import read_statements

_SQL = read_statements("workers.management.operations", "project_settings.sql")
_MOST_NAMED = 20


class SettingsArea(Struct, frozen=True, forbid_unknown_fields=True):
    """A group of settings: auth, api, storage or realtime."""

    area: str


class ServiceSettingsChange(Struct, frozen=True, forbid_unknown_fields=True):
    """Values to set in an area, by their official names."""

    area: str
    values: dict[str, Any]


class ServiceSettings(Struct, frozen=True):
    """The settings of an area by their official names, without secrets."""

    values: dict[str, Any]


async def read_settings(context: OperationContext, arguments: SettingsArea) -> ServiceSettings:
    """Return the settings of an area that are in force."""
    return ServiceSettings(_current(context, arguments.area))


async def change_settings(context: OperationContext, arguments: ServiceSettingsChange) -> Done:
    """Set values of an area. Values that are set already change nothing."""
    current = _current(context, arguments.area)
    names = differing(current | _secrets(context, arguments), arguments.values)
    if names:
        await apply_settings(context, arguments.area, {name: arguments.values.get(name) for name in names})
    return Done()


async def apply_settings(context: OperationContext, area: str, values: dict[str, Any]) -> None:
    """Store settings that differ from the present ones, as `settings.change` does: all of them or none.

    Raises: ManagementError (409) with the names of those that are read at the start, or that have no counterpart here.
    """
    changes = {name: official_change(area, name, value) for name, value in values.items()}
    others = sorted(name for name, change in changes.items() if change is None or change[0] not in LIVE_KEYS)
    if others:
        raise ManagementError(
            409,
            "settings_from_file",
            f"Nothing was changed: these settings of {area} are read at the start: {', '.join(others[:_MOST_NAMED])}",
            hint="Change them in supabase/config.toml of the platform, and restart it: `headwater stop`, `headwater start`.",
        )
    await context.live.check()
    stored = dict(change for change in changes.values() if change is not None)
    await change_live_settings(context, context.live.stored.version, stored)


async def database_settings(context: OperationContext, arguments: NoArguments) -> ServiceSettings:
    """Return the settings of Postgres that are not its defaults and that the official interface names."""
    del arguments
    [rows] = await context.database.read(
        statement(_SQL["changed"], list_text(POSTGRES_SETTINGS)),
        timeout_s=context.settings.statement_timeout_s,
    )
    [values] = decode_rows(rows, dict[str, Any])
    return ServiceSettings(values)


def list_text(names: tuple[str, ...]) -> str:
    """Return plain names as the text of an array of Postgres (pure)."""
    return "{" + ",".join(f'"{name}"' for name in names) + "}"


def _current(context: OperationContext, area: str) -> dict[str, Any]:
    if area not in READERS:
        raise invalid_arguments(f"`area` must be one of {', '.join(READERS)}")
    return READERS[area](context.configuration)


def _secrets(context: OperationContext, arguments: ServiceSettingsChange) -> dict[str, str]:
    """Return the secrets that the change names, to see whether it changes them."""
    if arguments.area != "auth":
        return {}
    return {
        name: value for name, value in secret_names(context.configuration).items() if name in arguments.values
    }


POSTGRES_SETTINGS = (
    "effective_cache_size",
    "logical_decoding_work_mem",
    "maintenance_work_mem",
    "track_activity_query_size",
    "max_connections",
    "max_locks_per_transaction",
    "max_parallel_maintenance_workers",
    "max_parallel_workers",
    "max_parallel_workers_per_gather",
    "max_replication_slots",
    "max_slot_wal_keep_size",
    "max_standby_archive_delay",
    "max_standby_streaming_delay",
    "max_wal_size",
    "max_wal_senders",
    "max_worker_processes",
    "session_replication_role",
    "shared_buffers",
    "statement_timeout",
    "track_commit_timestamp",
    "wal_keep_size",
    "wal_sender_timeout",
    "work_mem",
    "checkpoint_timeout",
    "hot_standby_feedback",
)
"""Settings of Postgres that the official interface has."""


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation(
            "project.settings",
            "Return the settings of a service under their official names",
            SettingsArea,
            ServiceSettings,
            Right.READER,
            read_settings,
        ),
        Operation(
            "project.change_settings",
            "Change settings of a service under their official names",
            ServiceSettingsChange,
            Done,
            Right.DEVELOPER,
            change_settings,
            changes=True,
            secrets=frozenset({"values"}),
        ),
        Operation(
            "project.database_settings",
            "Return the settings of Postgres that are not its defaults",
            NoArguments,
            ServiceSettings,
            Right.READER,
            database_settings,
        ),
    ]
