"""Changes the stored settings: check as at a start, store under the next version, notify, apply.

Nothing is stored unless the whole set passes every check, so nothing is half applied. The version in the row decides between two
administrators: the second one gets 409 and looks again.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from broker.subjects import AUTH_SETTINGS
from schemas.schedules import InvalidSchedule, parse_schedule
from schemas.settings.environment import nearest
from schemas.settings.live import LIVE_KEYS, OWNER_KEYS
from schemas.settings.overlay import strict_settings
from schemas.settings.tree import Auth, Settings, SettingsError
from workers.database.transactions.interactive import Transaction
from workers.management.areas.settings.entries import KEYS, audited_value
from workers.management.interface.errors import ManagementError, not_found
from workers.management.interface.operation import OperationContext
from workers.management.interface.rights import Right
from workers.settings.sealed_values import StoredSettings, StoredValue
from workers.sql.files import read_statements

SQL = read_statements("workers.management.operations", "settings.sql")
_MOST_BYTES = 4 * 1024 * 1024
"""Bytes of all stored settings, encrypted."""


async def change_settings(
    context: OperationContext, version: int, values: Mapping[str, Any], removed: Iterable[str] = ()
) -> list[str]:
    """Store values and remove others; return the warnings of the checks. Raises: ManagementError, DatabaseError."""
    live = context.live
    await live.check()
    _check_readable(context)
    _check_version(version, live.stored.version)
    keys = {*values, *removed}
    for key in keys:
        _check_key(context, key, is_removed=key not in values)
    entries = {key: entry for key, entry in live.stored.entries.items() if key not in keys}
    now, actor = datetime.now(UTC).isoformat(timespec="seconds"), context.actor.name
    entries |= {key: StoredValue(value, actor, now) for key, value in values.items()}
    _check_fetched_templates(context, entries)
    _check_backup_schedule(values)
    warnings = await _check_together(context, entries)
    before = {key: live.stored.entries[key].value for key in keys if key in live.stored.entries}
    await _store(context, StoredSettings(live.stored.version + 1, entries))
    context.before = {key: audited_value(key, value) for key, value in before.items()}
    context.after = {key: audited_value(key, values[key]) for key in values}
    await live.check()
    return warnings


def _check_readable(context: OperationContext) -> None:
    """Refuse to store over settings that cannot be read: they would be lost. Raises: ManagementError (409)."""
    if context.live.fault:
        raise ManagementError(
            409,
            "stored_settings_unreadable",
            f"{context.live.fault[:1].upper()}{context.live.fault[1:]}",
            hint="Restore the former key (auth.jwt_secret, or auth.database_encryption.decryption_keys), or `settings.discard`.",
        )


def _check_version(expected: int, present: int) -> None:
    if expected != present:
        raise ManagementError(
            409,
            "changed_meanwhile",
            f"Another administrator changed the settings: version {present} is stored, and you have seen version {expected}",
            hint="Read `settings.list` again, look at what changed (`settings.history`), and repeat your change.",
        )


def _check_key(context: OperationContext, key: str, *, is_removed: bool) -> None:
    """Raises: ManagementError for a setting that this actor cannot change here."""
    stored = key in context.live.stored.entries
    if is_removed and stored and key not in OWNER_KEYS:
        return
    if key not in KEYS:
        raise not_found(f"setting {key[:200]}{nearest(key[:200], KEYS)}")
    if key not in LIVE_KEYS:
        raise ManagementError(
            409,
            "needs_restart",
            f"{key} is read at the start",
            hint="Change it in config.toml or the environment, and restart the platform.",
        )
    if key in OWNER_KEYS and not context.actor.rights.includes(Right.OWNER):
        raise ManagementError(
            403,
            "no_right",
            f"{key} needs the rights of owner: it names a server that the platform connects to, grants rights, or destroys",
        )
    if (variable := context.live.base.fixed.get(key)) and not is_removed:
        raise ManagementError(
            409,
            "fixed_by_environment",
            f"{key} is fixed by {variable} in the environment",
            hint=f"Remove {variable} there and restart the platform; then it can be changed here.",
        )


async def _check_together(context: OperationContext, entries: Mapping[str, StoredValue]) -> list[str]:
    """Check all values as a start does, those of auth in the pool that uses them; return warnings. Raises: ManagementError."""
    live = context.live
    values = {
        key: entry.value
        for key, entry in entries.items()
        if key not in live.effective.ignored or live.stored.entries.get(key) != entry
    }
    try:
        settings, warnings = strict_settings(live.base, values)
    except SettingsError as error:
        raise _invalid(str(error)) from None
    if settings.auth.enabled and _of_auth_pool(settings) != _of_auth_pool(live.settings):
        await request_auth(context, "/check", {"values": values})
    return warnings


def _of_auth_pool(settings: Settings) -> Auth:
    """Return what the pool auth works with: the keys that edges check are not in it."""
    return msgspec.structs.replace(settings.auth, hashed_keys={})


async def request_auth(context: OperationContext, path: str, body: object) -> Any:
    """Send a request to the pool auth, and return its JSON. Raises: ManagementError with its words; Unavailable."""
    response = await context.pools.request(
        AUTH_SETTINGS, "POST", path, request_id=context.request_id, body=msgspec.json.encode(body)
    )
    answer = msgspec.json.decode(response.body)
    if response.status >= 400:
        raise ManagementError(response.status, answer.get("code", "failed"), answer.get("message", ""))
    return answer


def _check_backup_schedule(values: Mapping[str, Any]) -> None:
    """Refuse a schedule of backups that cannot be read: none would be made. Raises: ManagementError (400)."""
    schedule = values.get("management.backup_schedule")
    if not isinstance(schedule, str) or not schedule:
        return
    try:
        parse_schedule(schedule, "GMT")
    except InvalidSchedule as error:
        raise _invalid(f"management.backup_schedule: {error}") from None


def _check_fetched_templates(context: OperationContext, entries: Mapping[str, StoredValue]) -> None:
    """Refuse a new site URL of a developer where templates are fetched from it: it would name a server. Raises: ManagementError."""
    new, old = (entries.get("auth.site_url"), context.live.stored.entries.get("auth.site_url"))
    if context.actor.rights.includes(Right.OWNER) or (new and new.value) == (old and old.value):
        return
    email = context.live.settings.auth.email
    sections = [
        getattr(group, name)
        for group in (email.template, email.notification)
        for name in group.__struct_fields__
    ]
    if any(section.url and "://" not in section.url for section in sections):
        raise ManagementError(
            403,
            "no_right",
            "auth.site_url needs the rights of owner while email templates are fetched from it (auth.email.template.*.url)",
        )


async def _store(context: OperationContext, stored: StoredSettings) -> None:
    """Store all values under the next version, and notify the workers. Raises: ManagementError (409, 413), DatabaseError."""
    sealed = context.live.sealer.seal(stored)
    if len(sealed) > _MOST_BYTES:
        raise ManagementError(
            413, "too_large", f"All stored settings together have at most {_MOST_BYTES} bytes"
        )
    pool = await context.database.own()
    async with pool.transaction() as transaction:
        present = _version(await transaction.rows(SQL["lock"]))
        _check_version(stored.version - 1, present)
        rows = await transaction.rows(SQL["store"], str(stored.version), sealed, str(present))
        if not rows:
            raise _meanwhile()
        await _notify(transaction)


async def discard_settings(context: OperationContext) -> None:
    """Remove all stored settings, readable or not. Raises: DatabaseError."""
    pool = await context.database.own()
    async with pool.transaction() as transaction:
        present = _version(await transaction.rows(SQL["lock"]))
        empty = StoredSettings(present + 1)
        if present and not await transaction.rows(
            SQL["store"], str(empty.version), context.live.sealer.seal(empty), str(present)
        ):
            raise _meanwhile()
        await _notify(transaction)
    await context.live.check()


async def _notify(transaction: Transaction) -> None:
    await transaction.rows(SQL["notify"])


def _version(rows: list[Any]) -> int:
    return int(rows[0][0]) if rows else 0


def _meanwhile() -> ManagementError:
    return ManagementError(
        409, "changed_meanwhile", "Another administrator changed the settings at the same moment"
    )


def _invalid(message: str) -> ManagementError:
    return ManagementError(400, "invalid_settings", message)
