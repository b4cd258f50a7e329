"""Encrypts stored values again with the keys that encrypt now, after these have changed: an upgrade, or another sealing key.

`migrate` runs it when the ids of the keys differ from those of its last run. Values are opened with the key that encrypted them, as
long as the settings have it. Each row is replaced only if it still has the value that was read, so a row that a pool writes
meanwhile stays. Values of sign-ins under way are left out: they live for minutes, and the older keys open them. Secrets of functions are in
the blob store; the pool encrypts them again when it starts (workers/functions/deployments).
"""

from uuid import UUID

import asyncpg

from schemas.keys.text_sealer import TextSealer
from schemas.settings.tree import Settings
from schemas.webhooks import target_sealer
from workers.auth.model.vault import CannotOpen, SealPurpose, Vault, read_vault
from workers.database.migrations.migrate import MigrationSessions
from workers.settings.sealed_values import CannotOpenSettings, SettingsSealer
from workers.sql.files import read_statements
from workers.storage.model.s3_keyring import sealer_of

_STATEMENTS = read_statements("workers.sealing", "seal_again.sql")
_OF_SUPERUSER = read_statements("workers.sealing", "stored_settings.sql")
_ROWS = {
    "factors": (SealPurpose.FACTOR, "secrets of authenticator apps"),
    "sessions": (SealPurpose.SESSION, "keys of sessions"),
    "providers": (SealPurpose.PROVIDER_SECRET, "secrets of sign-in providers"),
}
"""Statements of a table of auth: what its values are for, and what a warning calls them."""
_BATCH = 1000


async def seal_again(sessions: MigrationSessions, settings: Settings) -> list[str]:
    """Encrypt all stored values again; return a warning for each kind of which some cannot be decrypted. Raises: the driver's errors."""
    lost = [await _seal_settings(sessions.superuser, SettingsSealer(settings.auth))]
    auth, vault = await sessions.of("supabase_auth_admin"), read_vault(settings.auth)
    lost += [await _seal_rows(auth, vault, name) for name in _ROWS]
    storage = await sessions.of("supabase_storage_admin")
    lost.append(await _seal_access_keys(storage, sealer_of(settings.auth)))
    lost.append(await _seal_webhooks(sessions.superuser, target_sealer(settings.auth)))
    return [
        f"{what} cannot be decrypted: their key is not configured. Bring back the former auth.sealing_key (sealing.key in the "
        "data folder) or auth.jwt_secret as a further one, or enter them again."
        for what in lost
        if what
    ]


async def _seal_settings(superuser: asyncpg.Connection, sealer: SettingsSealer) -> str:
    row = await superuser.fetchrow(_OF_SUPERUSER["stored_settings"])
    if row is None or sealer.is_current(row["sealed"]):
        return ""
    try:
        sealed = sealer.seal(sealer.open(row["version"], row["sealed"]))
    except CannotOpenSettings:
        return "The stored settings"
    await superuser.execute(_OF_SUPERUSER["store_settings"], row["version"], row["sealed"], sealed)
    return ""


async def _seal_rows(session: asyncpg.Connection, vault: Vault, name: str) -> str:
    purpose, label = _ROWS[name]
    lost, last = 0, UUID(int=0)
    while rows := await session.fetch(_STATEMENTS[name], vault.key_id, last, _BATCH):
        changes = [
            (row["id"], row["sealed"], sealed)
            for row in rows
            if (sealed := _sealed_again(vault, row["sealed"], row["id"], purpose)) is not None
        ]
        lost += len(rows) - len(changes)
        if changes:
            await session.execute(_STATEMENTS[f"store_{name}"], *map(list, zip(*changes, strict=True)))
        last = rows[-1]["id"]
    return f"{lost} {label}" if lost else ""


def _sealed_again(vault: Vault, sealed: str, row: UUID, purpose: SealPurpose) -> str | None:
    try:
        return vault.seal(vault.open(sealed, row, purpose), row, purpose)
    except CannotOpen:
        return None


async def _seal_webhooks(superuser: asyncpg.Connection, sealer: TextSealer) -> str:
    lost = 0
    for row in await superuser.fetch(_OF_SUPERUSER["webhooks"]):
        if sealer.is_current(row["sealed"]):
            continue
        if (text := sealer.open(str(row["id"]), row["sealed"])) is None:
            lost += 1
            continue
        await superuser.execute(
            _OF_SUPERUSER["store_webhook"], row["id"], row["sealed"], sealer.seal(str(row["id"]), text)
        )
    return f"{lost} addresses and secrets of webhooks" if lost else ""


async def _seal_access_keys(session: asyncpg.Connection, sealer: TextSealer) -> str:
    rows = await session.fetch(_STATEMENTS["access_keys"])
    lost = 0
    for row in rows:
        key, stored = row["access_key_id"], row["secret"]
        if sealer.is_current(stored):
            continue
        if (secret := sealer.open(key, stored)) is None:
            lost += 1
            continue
        await session.execute(_STATEMENTS["store_access_key"], key, stored, sealer.seal(key, secret))
    return f"{lost} secrets of S3 keys" if lost else ""
