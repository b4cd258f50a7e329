"""Makes a copied database that of a branch: empties what belongs to the parent alone, and seals again what the branch shall open.

Emptied: sessions and everything with which one could begin (refresh tokens, codes, open sign-ins), administrators with their tokens and
audit, key pairs of S3, uploads in progress, events that wait, secrets of the vault, secrets of custom providers, subscriptions. Sealed anew with
the branch's key: secrets of authenticator apps, and the stored settings that a branch takes over. Users keep their passwords.

Rows of tables on which a tenant can create triggers are deleted in a session of the tables' owner (workers/database/sessions/throwaway_logins.py).
"""

from collections.abc import Mapping
from contextlib import AsyncExitStack

import asyncpg
import msgspec

from schemas.branches import PreparedCopy, PrepareTask
from schemas.keys.secret import Secret
from schemas.settings.auth import Auth
from schemas.settings.cleared import ClearedKeys
from schemas.settings.tree import Settings
from workers.auth.model.vault import CannotOpen, SealPurpose, is_sealed, read_vault
from workers.branches.base_schema import read_schema
from workers.branches.masking import mask_copy
from workers.database.sessions.passwords import STOP_LOGGING, verifier
from workers.database.sessions.throwaway_logins import UnknownRole, login_as
from workers.project.project_connection import OWNER, open_as_superuser
from workers.settings.sealed_values import CannotOpenSettings, SettingsSealer, StoredSettings
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.branches", "prepare_copy.sql")
EMPTIED: Mapping[str, tuple[str, ...]] = {
    "supabase_auth_admin": (
        "auth.refresh_tokens",
        "auth.mfa_amr_claims",
        "auth.mfa_challenges",
        "auth.webauthn_challenges",
        "auth.oauth_authorizations",
        "auth.oauth_client_states",
        "auth.browser_departures",
        "auth.saml_relay_states",
        "auth.flow_state",
        "auth.one_time_tokens",
        "auth.web3_nonces",
        "auth.mfa_recovery_codes",
        "auth.mfa_recovery_code_sets",
        "auth.custom_oauth_providers",
        "auth.sessions",
    ),
    "supabase_storage_admin": (
        "storage.s3_access_keys",
        "storage.tus_uploads",
        "storage.s3_multipart_uploads_parts",
        "storage.s3_multipart_uploads",
        "storage.events_outbox",
    ),
    OWNER: ("vault.secrets",),
}
"""Tables that are emptied, by the role in whose session that is done; tables with references to others first."""
_FACTORS = "select id, secret from auth.mfa_factors where secret is not null"
_DATABASE_HOOK = "pg-functions:"


async def prepare_copy(task: PrepareTask, settings: Settings) -> PreparedCopy:
    """Prepare a copied database, which runs; `settings` are the parent's. Raises: the driver's errors, ProjectRejected, BranchRejected."""
    parent = msgspec.structs.replace(settings.auth, sealing_key=_secret(task.parent_sealing_key))
    branch = msgspec.structs.replace(
        parent,
        jwt_secret=Secret(task.jwt_secret),
        former_jwt_secret=None,
        sealing_key=_secret(task.sealing_key),
        database_encryption=type(settings.auth.database_encryption)(),
    )
    warnings: list[str] = []
    async with open_as_superuser(task.url) as superuser:
        for row in await superuser.fetch(_STATEMENTS["drop_subscriptions"]):
            await superuser.execute(row["statement"])
        if emptying := await superuser.fetchval(_STATEMENTS["empty_own_tables"]):
            await superuser.execute(emptying)
        if await superuser.fetchval(_STATEMENTS["has_history"]):
            await superuser.execute(_STATEMENTS["empty_history"])
        warnings += await _reseal_settings(superuser, parent, branch, ClearedKeys(task.cleared))
        for role, tables in EMPTIED.items():
            await _empty(superuser, task.url, role, tables)
        warnings += await _reseal_factors(superuser, task.url, parent, branch)
        warnings += await _warn_of_other_systems(superuser)
        masked = await mask_copy(superuser, task.url, task.masking)
        schema = await read_schema(task.url)  # while the URL's password is valid
        async with superuser.transaction():
            await superuser.execute(STOP_LOGGING)
            await superuser.execute(
                await superuser.fetchval(_STATEMENTS["set_password"], verifier(task.password))
            )
    return PreparedCopy(schema, warnings, masked)


def _secret(text: str) -> Secret | None:
    return Secret(text) if text else None


async def _empty(superuser: asyncpg.Connection, url: str, role: str, tables: tuple[str, ...]) -> None:
    """Delete all rows of tables, those of them that exist, in a session of a role."""
    existing = {row["name"] for row in await superuser.fetch(_STATEMENTS["existing"], list(tables))}
    async with AsyncExitStack() as stack:
        try:
            session = await stack.enter_async_context(
                login_as(superuser, url, role, fires_event_triggers=False)
            )
        except UnknownRole:  # a database that the platform never migrated
            return
        for table in tables:
            if table in existing:
                await session.execute(f"delete from {table}")  # noqa: S608 - a name of the table above


async def _reseal_settings(
    superuser: asyncpg.Connection, parent: Auth, branch: Auth, cleared: ClearedKeys
) -> list[str]:
    """Seal the stored settings that a branch takes over with its key; return warnings."""
    if not await superuser.fetchval(_STATEMENTS["has_stored_settings"]):
        return []
    row = await superuser.fetchrow(_STATEMENTS["stored_settings"])
    if row is None:
        return []
    try:
        stored = SettingsSealer(parent).open(row["version"], row["sealed"])
    except CannotOpenSettings as error:
        await superuser.execute(_STATEMENTS["delete_stored_settings"])
        return [f"The settings that administrators changed were left out: {error}"]
    rest = taken_over(stored, cleared)
    await superuser.execute(_STATEMENTS["store_settings"], SettingsSealer(branch).seal(rest))
    return []


def taken_over(stored: StoredSettings, cleared: ClearedKeys) -> StoredSettings:
    """Return the stored settings without those that a branch does not take over (pure)."""
    hooks = {
        key.split(".")[2]
        for key, entry in stored.entries.items()
        if key.startswith("auth.hook.")
        and key.endswith(".uri")
        and not str(entry.value).startswith(_DATABASE_HOOK)
    }
    entries = {
        key: entry
        for key, entry in stored.entries.items()
        if not cleared.has(key) and not (key.startswith("auth.hook.") and key.split(".")[2] in hooks)
    }
    return StoredSettings(stored.version, entries)


async def _reseal_factors(superuser: asyncpg.Connection, url: str, parent: Auth, branch: Auth) -> list[str]:
    """Seal the secrets of authenticator apps with the branch's key; return warnings."""
    if not await superuser.fetch(_STATEMENTS["existing"], ["auth.mfa_factors"]):
        return []
    old, new, lost = read_vault(parent), read_vault(branch), 0
    async with login_as(superuser, url, "supabase_auth_admin", fires_event_triggers=False) as session:
        for row in await session.fetch(_FACTORS):
            if not is_sealed(row["secret"]):
                continue
            try:
                text = old.open(row["secret"], row["id"], SealPurpose.FACTOR)
                sealed = new.seal(text, row["id"], SealPurpose.FACTOR)
            except CannotOpen:
                lost += 1
                continue
            await session.execute("update auth.mfa_factors set secret = $1 where id = $2", sealed, row["id"])
    return (
        [f"{lost} authenticator apps of users cannot be used in the branch: their key is not configured"]
        if lost
        else []
    )


async def _warn_of_other_systems(superuser: asyncpg.Connection) -> list[str]:
    """Return a warning for each thing in the database that may still point to other systems."""
    warnings = []
    if servers := await superuser.fetchval(_STATEMENTS["foreign_servers"]):
        warnings.append(
            f"Foreign servers reach from the branch what they reach from the parent: {servers}. Drop them in the branch."
        )
    if names := await superuser.fetchval(_STATEMENTS["own_parameters"]):
        warnings.append(
            f"The database stores parameters that may hold keys of the parent: {names}. Set them anew in the branch."
        )
    return warnings
