"""Operations on settings: list them with their sources, change, reset, compare with the file, export, look at the history."""

import asyncio
from typing import Annotated, Any

from msgspec import Struct

from schemas.settings.tree import Settings
from workers.database.transactions.interactive import statement
from workers.database.transactions.model import TransactionSpec
from workers.management.areas.settings.change import SQL, change_settings, discard_settings
from workers.management.areas.settings.config_file import read_config_file
from workers.management.areas.settings.entries import (
    SECRET_KEYS,
    SettingEntry,
    SettingSources,
    documentation,
    is_same,
    setting_entries,
    setting_entry,
)
from workers.management.areas.settings.toml_fragment import toml_fragment
from workers.management.interface import argument_limits as limits
from workers.management.interface.argument_limits import PageLimit
from workers.management.interface.errors import invalid_arguments
from workers.management.interface.identity.store import opened_rows
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import NoArguments

_MOST_ID = 2**63 - 1
_MOST_KEYS = 500
_MOST_KEY = 200


class SettingsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A dotted path (`auth`, `auth.email.smtp`, `api.max_rows`), or all settings."""

    prefix: str = ""


class SettingsList(Struct, frozen=True):
    """Settings with their sources. `version` is the version of the stored values, for `settings.change`; `fault`: they cannot be read."""

    version: int
    settings: list[SettingEntry]
    file: str = ""
    fault: str = ""
    file_fault: str = ""


class SettingValues(Struct, frozen=True, forbid_unknown_fields=True):
    """New values by dotted path, and the version that `settings.list` showed. Null unsets what can be unset."""

    version: int
    values: Annotated[dict[str, Any], limits.members(_MOST_KEYS)]


class SettingsReset(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings by dotted path whose stored values are removed, and the version that `settings.list` showed."""

    version: int
    keys: Annotated[list[str], limits.entries(_MOST_KEYS)]


class SettingsVersion(Struct, frozen=True, forbid_unknown_fields=True):
    """The version that `settings.list` showed."""

    version: int


class ChangedSettings(Struct, frozen=True):
    """The new version, the changed settings, and what the checks warn of."""

    version: int
    settings: list[SettingEntry]
    warnings: list[str]


class SettingsHistoryQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Changes before an id (the last of the page before), of one setting or of all."""

    before: int | None = None
    key: str | None = None
    limit: PageLimit = 100


class SettingsHistoryRow(Struct, frozen=True):
    """One change: the stored values before and after it; secrets are `(secret)`."""

    id: int
    at: str
    actor: str
    operation: str
    before: dict[str, Any]
    after: dict[str, Any]


class SettingsHistory(Struct, frozen=True):
    """Changes, the newest first; `next` is `before` of the next page, null at the end."""

    rows: list[SettingsHistoryRow]
    next: int | None


class SettingsDrift(Struct, frozen=True):
    """Stored settings that differ from the file, and those that equal it, which `settings.adopt` removes."""

    version: int
    different: list[SettingEntry]
    equal: list[str]


class SettingsFragment(Struct, frozen=True):
    """The stored values as a fragment of config.toml; `secrets` are those that it names in comments only."""

    toml: str
    secrets: list[str]


async def list_settings(context: OperationContext, arguments: SettingsQuery) -> SettingsList:
    """Return settings with the value that applies, its source, and the value of each source."""
    await context.live.check()
    sources = await _read_sources(context)
    return SettingsList(
        context.live.stored.version,
        setting_entries(sources, arguments.prefix.strip(".")),
        sources.file.name,
        context.live.fault,
        sources.file.fault,
    )


async def change(context: OperationContext, arguments: SettingValues) -> ChangedSettings:
    """Store values; every process uses them within moments, without a restart."""
    _check_count("values", len(arguments.values))
    _check_keys(list(arguments.values))
    warnings = await change_settings(context, arguments.version, arguments.values)
    return await _changed(context, list(arguments.values), warnings)


async def reset(context: OperationContext, arguments: SettingsReset) -> ChangedSettings:
    """Remove stored values, so that those of the file or the defaults apply again."""
    _check_count("keys", len(arguments.keys))
    _check_keys(arguments.keys)
    warnings = await change_settings(context, arguments.version, {}, arguments.keys)
    return await _changed(context, arguments.keys, warnings)


async def history(context: OperationContext, arguments: SettingsHistoryQuery) -> SettingsHistory:
    """Return a page of the changes, from the audit log."""
    most = context.settings.max_rows
    if not 1 <= arguments.limit <= most:
        raise invalid_arguments(f"`limit` must be 1 to {most}")
    if arguments.before is not None and not 0 <= arguments.before <= _MOST_ID:
        raise invalid_arguments("`before` must be the id of a row")
    if arguments.key is not None:
        _check_keys([arguments.key])
    values = (arguments.before, arguments.key, arguments.limit)
    pool = await context.database.own()
    [history_rows] = await pool.run(TransactionSpec((), [statement(SQL["history"], *values)]))
    rows = opened_rows(pool, history_rows, SettingsHistoryRow)
    return SettingsHistory(rows, rows[-1].id if len(rows) == arguments.limit else None)


async def drift(context: OperationContext, arguments: NoArguments) -> SettingsDrift:
    """Compare the stored settings with the file."""
    del arguments
    await context.live.check()
    sources = await _read_sources(context)
    equal = _equal_keys(context, sources)
    different = [
        setting_entry(sources, key) for key in sorted(context.live.stored.entries) if key not in equal
    ]
    return SettingsDrift(context.live.stored.version, different, equal)


async def export(context: OperationContext, arguments: NoArguments) -> SettingsFragment:
    """Return the stored values as TOML that can be put into config.toml and committed."""
    del arguments
    await context.live.check()
    values = context.live.stored.values
    return SettingsFragment(toml_fragment(values, SECRET_KEYS), sorted(SECRET_KEYS & values.keys()))


async def adopt(context: OperationContext, arguments: SettingsVersion) -> ChangedSettings:
    """Remove the stored values that equal the file's: from now on the file decides about them."""
    await context.live.check()
    keys = _equal_keys(context, await _read_sources(context))
    if not keys:
        return await _changed(context, [], [])
    return await _changed(context, keys, await change_settings(context, arguments.version, {}, keys))


async def discard(context: OperationContext, arguments: NoArguments) -> SettingsList:
    """Remove all stored settings, also those that cannot be decrypted any more."""
    await discard_settings(context)
    return await list_settings(context, SettingsQuery("none"))


async def _read_sources(context: OperationContext) -> SettingSources:
    """Read the file and the documentation, in a thread."""
    file, _ = await asyncio.to_thread(lambda: (read_config_file(), documentation()))
    return SettingSources(context.live, file, Settings())


def _equal_keys(context: OperationContext, sources: SettingSources) -> list[str]:
    """Return the stored settings that the file sets to the same value."""
    if sources.file.fault:
        return []
    ignored = context.live.effective.ignored
    return [
        key
        for key, value in sorted(context.live.stored.values.items())
        if key in sources.file.keys and key not in ignored and is_same(key, value, sources.file.settings)
    ]


def _check_count(name: str, count: int) -> None:
    if not 1 <= count <= _MOST_KEYS:
        raise invalid_arguments(f"`{name}` must name 1 to {_MOST_KEYS} settings")


def _check_keys(keys: list[str]) -> None:
    if any(len(key) > _MOST_KEY or "\0" in key for key in keys):
        raise invalid_arguments("A setting is named by its dotted path, such as auth.site_url")


async def _changed(context: OperationContext, keys: list[str], warnings: list[str]) -> ChangedSettings:
    sources = await _read_sources(context)
    return ChangedSettings(
        context.live.stored.version, [setting_entry(sources, key) for key in keys], warnings
    )


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, developer = Right.READER, Right.DEVELOPER
    hidden = frozenset({"values"})
    return [
        Operation("settings.list", "List settings with their sources", SettingsQuery, SettingsList, reader, list_settings),
        Operation(
            "settings.change", "Change settings while the platform runs", SettingValues, ChangedSettings, developer, change,
            changes=True, secrets=hidden,
        ),
        Operation("settings.reset", "Remove stored settings", SettingsReset, ChangedSettings, developer, reset, changes=True),
        Operation("settings.history", "List changes of settings", SettingsHistoryQuery, SettingsHistory, reader, history),
        Operation("settings.drift", "Compare stored settings with the file", NoArguments, SettingsDrift, reader, drift),
        Operation("settings.export", "Write stored settings as TOML", NoArguments, SettingsFragment, reader, export),
        Operation(
            "settings.adopt", "Let the file decide where it equals the database", SettingsVersion, ChangedSettings, developer,
            adopt, changes=True,
        ),
        Operation(
            "settings.discard", "Remove all stored settings", NoArguments, SettingsList, Right.OWNER, discard,
            changes=True, is_confirmed=True,
        ),
    ]  # fmt: skip
