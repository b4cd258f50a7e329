"""Stored values are encrypted again at a start whose keys are others than those of the last one, and none is lost by it."""

import uuid
from collections.abc import Callable
from functools import partial

import asyncpg
import msgspec
import pytest

from schemas.keys.sealing_keys import current_key_id
from schemas.keys.secret import Secret
from schemas.settings.auth import Auth
from schemas.settings.tree import Settings
from workers.auth.model.vault import CannotOpen, SealPurpose, read_vault
from workers.database.migrations.migrate import Resealing, migrate
from workers.functions.deployments.setup import sealer_of as functions_sealer
from workers.sealing.seal_again import seal_again
from workers.settings.sealed_values import CannotOpenSettings, SettingsSealer, StoredSettings, StoredValue
from workers.storage.model.s3_keyring import sealer_of as s3_sealer

LEAKED = Auth(jwt_secret=Secret("a signing secret that a reader has seen"))
UPGRADED = msgspec.structs.replace(LEAKED, sealing_key=Secret("one sealing key of 32 characters or more"))
ROTATED = msgspec.structs.replace(
    UPGRADED,
    jwt_secret=Secret("another signing secret of some length"),
    sealing_key=Secret("two sealing keys of 32 characters or more,one sealing key of 32 characters or more"),
)
ROW = uuid.UUID(int=7)
SETTINGS = StoredSettings(1, {"auth.email.smtp.pass": StoredValue("hunter2")})


def of(auth: Auth) -> Settings:
    return Settings(auth=auth)


async def start(url: str, auth: Auth) -> list[str]:
    """Do what a start does with the database; return its warnings."""
    warnings: list[str] = []
    resealing = Resealing(current_key_id(auth), seal_again)
    await migrate(url, of(auth), warn=warnings.append, resealing=resealing)
    return warnings


async def stored(connection: asyncpg.Connection) -> dict[str, str]:
    """Return the encrypted value of each kind."""
    statements = {
        "settings": "select sealed from headwater.stored_settings",
        "factor": "select secret from auth.mfa_factors",
        "session": "select refresh_token_hmac_key from auth.sessions",
        "provider": "select client_secret from auth.custom_oauth_providers",
        "s3": "select secret from storage.s3_access_keys",
    }
    return {name: await connection.fetchval(statement) for name, statement in statements.items()}


def opened(values: dict[str, str], auth: Auth) -> dict[str, object]:
    """Open each value with keys of these settings; None where they cannot."""
    vault = read_vault(auth)

    def attempt(open: Callable[[], object]) -> object:
        try:
            return open()
        except (CannotOpen, CannotOpenSettings):
            return None

    purposes = {
        "factor": SealPurpose.FACTOR,
        "session": SealPurpose.SESSION,
        "provider": SealPurpose.PROVIDER_SECRET,
    }
    return {
        "settings": attempt(lambda: SettingsSealer(auth).open(1, values["settings"])),
        "s3": s3_sealer(auth).open("key_1", values["s3"]),
        **{
            name: attempt(partial(vault.open, values[name], ROW, purpose))
            for name, purpose in purposes.items()
        },
    }


async def fill(connection: asyncpg.Connection, auth: Auth) -> None:
    """Store a value of each kind as a version without sealing keys did."""
    vault, user = read_vault(auth), uuid.uuid4()
    await connection.execute("insert into auth.users (id) values ($1)", user)
    await connection.execute(
        "insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at, secret) "
        "values ($1, $2, 'totp', 'verified', now(), now(), $3)",
        ROW, user, vault.seal("a factor", ROW, SealPurpose.FACTOR),
    )  # fmt: skip
    await connection.execute(
        "insert into auth.sessions (id, user_id, refresh_token_hmac_key) values ($1, $2, $3)",
        ROW, user, vault.seal("a session", ROW, SealPurpose.SESSION),
    )  # fmt: skip
    await connection.execute(
        "insert into auth.custom_oauth_providers (id, provider_type, identifier, name, client_id, client_secret, issuer) "
        "values ($1, 'oidc', 'custom:acme', 'Acme', 'id', $2, 'https://acme.example')",
        ROW, vault.seal("a provider", ROW, SealPurpose.PROVIDER_SECRET),
    )  # fmt: skip
    await connection.execute(
        "insert into storage.s3_access_keys (access_key_id, secret, claims) values ('key_1', $1, '{\"role\": \"anon\"}')",
        s3_sealer(auth).seal("key_1", "an access key"),
    )
    await connection.execute(
        "insert into headwater.stored_settings (version, sealed) values (1, $1)",
        SettingsSealer(auth).seal(SETTINGS),
    )


async def test_an_upgrade_and_a_rotation_seal_again_and_lose_nothing(database: str) -> None:
    await migrate(database, of(LEAKED))
    connection = await asyncpg.connect(database)
    try:
        await fill(connection, LEAKED)
        before = await stored(connection)
        warnings = [await start(database, UPGRADED)]
        upgraded = await stored(connection)
        warnings.append(await start(database, ROTATED))
        rotated = await stored(connection)
        warnings.append(await start(database, ROTATED))
        again = await stored(connection)
        lost = await start(database, Auth(sealing_key=Secret("a sealing key that no value was sealed with")))
    finally:
        await connection.close()
    whole = {
        "settings": SETTINGS,
        "factor": "a factor",
        "session": "a session",
        "provider": "a provider",
        "s3": "an access key",
    }
    nothing = dict.fromkeys(whole)

    assert opened(before, LEAKED) == whole
    assert opened(upgraded, UPGRADED) == whole
    assert opened(upgraded, LEAKED) == nothing  # the signing secret opens none of them any more
    assert opened(upgraded, msgspec.structs.replace(UPGRADED, jwt_secret=Secret("x" * 32))) == whole
    assert opened(rotated, ROTATED) == whole
    assert opened(rotated, UPGRADED) == nothing
    assert again == rotated
    assert warnings == [[], [], []]
    assert len(lost) == 5
    assert all("Bring back" in warning for warning in lost)


@pytest.mark.parametrize("auth", [UPGRADED, ROTATED])
def test_a_value_of_one_purpose_opens_as_no_other(auth: Auth) -> None:
    vault = read_vault(auth)
    sealed = vault.seal("a secret", ROW, SealPurpose.FACTOR)

    for purpose in set(SealPurpose) - {SealPurpose.FACTOR}:
        with pytest.raises(CannotOpen):
            vault.open(sealed, ROW, purpose)


def test_secrets_of_functions_survive_an_upgrade_and_a_rotation() -> None:
    old, new, last = (functions_sealer(of(auth)) for auth in (LEAKED, UPGRADED, ROTATED))
    sealed = old.seal("NAME", "a value")

    again = new.seal("NAME", new.open("NAME", sealed) or "")

    assert not new.is_current(sealed)
    assert new.is_current(again)
    assert last.open("NAME", again) == "a value"
    assert old.open("NAME", again) is None


def test_a_former_signing_secret_opens_what_it_sealed() -> None:
    values = read_vault(LEAKED).seal("a secret", ROW, SealPurpose.FACTOR)
    rotated = Auth(
        jwt_secret=Secret("another signing secret of some length"), former_jwt_secret=LEAKED.jwt_secret
    )

    assert read_vault(rotated).open(values, ROW, SealPurpose.FACTOR) == "a secret"
