"""The refresh in one exchange, and what leaves it to the transaction; keys that sessions derive, and keys in rows."""

import json
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from jwt.algorithms import ECAlgorithm

from schemas.keys.secret import Secret
from schemas.settings.auth import DatabaseEncryption
from schemas.settings.types import Duration
from tests.workers.auth.auth_pool import AuthPool, SignedInUser, address
from workers.auth.accounts.sessions import counted_refresh
from workers.auth.accounts.sessions.refresh import issue_token, new_key, read_key, read_token
from workers.auth.accounts.sessions.session_keys import marker
from workers.auth.model.request import Device
from workers.auth.model.vault import CannotOpen, SealPurpose, SessionMaster, is_sealed, read_vault

DERIVED = marker(SessionMaster("platform", b""))
"""What the rows of sessions contain that derive their keys where there is no sealing key."""
DEVICE = Device("a test", "2001:db8::7")


async def exchanged(auth_pool: AuthPool, token: str) -> bool:
    """Return whether a token was exchanged without the transaction of `http/grants/refresh.py`."""
    sent = read_token(token)
    assert sent is not None
    context = auth_pool.context
    found = await counted_refresh.try_exchange(
        context, sent, DEVICE, context.now(), action="token_refreshed", log_type="token"
    )
    return found is not None


async def row_of(auth_pool: AuthPool, signed: SignedInUser) -> Any:
    row = await auth_pool.admin.fetchrow(
        "select * from auth.sessions where id = $1", uuid.UUID(signed.session_id)
    )
    return SimpleNamespace(**dict(row or {}))


async def entries_of(auth_pool: AuthPool, signed: SignedInUser) -> list[dict[str, Any]]:
    rows = await auth_pool.admin.fetch(
        "select payload, ip_address from auth.audit_log_entries "
        "where payload ->> 'actor_id' = $1 and payload ->> 'action' = 'token_refreshed' order by created_at",
        signed.id,
    )
    return [{**json.loads(row["payload"]), "address": row["ip_address"]} for row in rows]


async def give_key(auth_pool: AuthPool, signed: SignedInUser) -> str:
    """Store a random key in the session's row; return a token that it signs."""
    id, key = uuid.UUID(signed.session_id), new_key()
    await auth_pool.admin.execute(
        "update auth.sessions set refresh_token_hmac_key = $1 where id = $2",
        auth_pool.context.vault.seal(key, id, SealPurpose.SESSION),
        id,
    )
    return issue_token(id, (await row_of(auth_pool, signed)).refresh_token_counter, read_key(key))


async def test_the_row_of_a_session_contains_no_key(plain: AuthPool) -> None:
    signed = await plain.sign_up()

    assert (await row_of(plain, signed)).refresh_token_hmac_key == DERIVED
    assert await exchanged(plain, signed.refresh_token)
    assert (await row_of(plain, signed)).refresh_token_counter == 1


@pytest.mark.parametrize(
    "metadata", [{}, {"full_name": 'Ann "A" Ünlü'}, {"full_name": ""}, {"full_name": ["a"]}]
)
async def test_both_ways_write_the_same_audit_entry(plain: AuthPool, metadata: dict[str, object]) -> None:
    signed = await plain.sign_up(address(), data=metadata)
    second = await plain.refresh(signed.refresh_token)
    await plain.refresh(await give_key(plain, second))
    derived, stored = await entries_of(plain, signed)

    assert derived == stored
    assert derived["traits"] == {"session_id": signed.session_id}
    assert derived["actor_username"] == signed.email


async def test_a_forged_token_does_not_advance_the_counter(plain: AuthPool) -> None:
    signed = await plain.sign_up()
    other = await plain.sign_up()
    id = uuid.UUID(signed.session_id)
    foreign_key = read_key(new_key())

    assert not await exchanged(plain, issue_token(id, 0, foreign_key))
    assert (await plain.refresh_refused(issue_token(id, 0, foreign_key)))[1] == "refresh_token_not_found"
    assert (await row_of(plain, signed)).refresh_token_counter == 0
    assert (await row_of(plain, other)).refresh_token_counter == 0


async def test_a_session_with_a_key_in_its_row_does_not_accept_the_derived_key(plain: AuthPool) -> None:
    signed = await plain.sign_up()
    stored = await give_key(plain, signed)

    assert not await exchanged(plain, signed.refresh_token)
    assert (await plain.refresh_refused(signed.refresh_token))[1] == "refresh_token_not_found"
    assert (await plain.refresh(stored)).session_id == signed.session_id


@pytest.mark.parametrize(
    "change",
    [
        "update auth.sessions set refresh_token_counter = 5 where id = $1",
        "update auth.sessions set not_after = now() - interval '1 hour' where id = $1",
        "update auth.users set banned_until = now() + interval '1 hour' where id = (select user_id from auth.sessions where id = $1)",
        "update auth.users set deleted_at = now() where id = (select user_id from auth.sessions where id = $1)",
        "delete from auth.sessions where id = $1",
    ],
)
async def test_anything_unusual_changes_nothing(plain: AuthPool, change: str) -> None:
    signed = await plain.sign_up()
    await plain.admin.execute(change, uuid.UUID(signed.session_id))
    before = await row_of(plain, signed)

    assert not await exchanged(plain, signed.refresh_token)
    assert await row_of(plain, signed) == before
    assert await entries_of(plain, signed) == []


async def test_a_locked_session_is_not_waited_for(plain: AuthPool) -> None:
    signed = await plain.sign_up()

    async with plain.admin.transaction():
        await plain.admin.execute(
            "select from auth.sessions where id = $1 for update", uuid.UUID(signed.session_id)
        )
        assert not await exchanged(plain, signed.refresh_token)

    assert await exchanged(plain, signed.refresh_token)


async def test_limits_of_sessions_are_checked(plain: AuthPool) -> None:
    limited = plain.having(sessions__timebox=Duration(3600))
    signed = await limited.sign_up()
    await plain.admin.execute(
        "update auth.sessions set created_at = $1 where id = $2",
        datetime.now(UTC) - timedelta(hours=2),
        uuid.UUID(signed.session_id),
    )

    assert (await limited.refresh_refused(signed.refresh_token))[1] == "session_expired"
    assert (await plain.refresh(signed.refresh_token)).session_id == signed.session_id


async def test_where_a_key_is_configured_the_row_contains_the_key_of_a_session(
    plain: AuthPool, tmp_path: Path
) -> None:
    jwk = {**json.loads(ECAlgorithm.to_jwk(generate_private_key(SECP256R1()))), "key_ops": ["sign"], "kid": "own", "alg": "ES256"}  # fmt: skip
    (tmp_path / "keys.json").write_text(json.dumps([jwk]))
    key = Secret("A" * 43)
    encryption = DatabaseEncryption(True, "one", key, {"one": key})
    for other in (
        plain.having(database_encryption=encryption),
        plain.having(jwt_keys=Secret(json.dumps([jwk]))),
        plain.having(signing_keys_path=str(tmp_path / "keys.json")),
    ):
        before, signed = await plain.sign_up(), await other.sign_up()
        stored = (await row_of(plain, signed)).refresh_token_hmac_key

        assert is_sealed(stored)
        assert stored != DERIVED
        assert (await other.refresh(signed.refresh_token)).session_id == signed.session_id
        assert (await other.refresh(before.refresh_token)).session_id == before.session_id


def test_no_vault_opens_the_mark_of_a_derived_key() -> None:
    """Earlier versions open it as an encrypted key: they must not take it for a key that is known to everyone."""
    vault = read_vault(SimpleNamespace(jwt_secret=Secret("s" * 32), former_jwt_secret=None, sealing_key=None, database_encryption=DatabaseEncryption(), jwt_keys=None, signing_keys_path=""))  # type: ignore[arg-type]  # only what it reads  # fmt: skip

    with pytest.raises(CannotOpen):
        vault.open(DERIVED, uuid.uuid4(), SealPurpose.SESSION)
