"""DELETE /admin/users/{id}: for good and softly, and what keeps a user. Reference, section 16.5."""

import base64
import hashlib
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.workers.auth.auth_pool import ADMIN, AuthPool, SignedInUser, number
from tests.workers.auth.second_factors import OPEN_FACTORS, settle, with_app
from tests.workers.auth.test_admin_users import NOT_FOUND, changed, made, seen, sign_in_refused


async def deleted(auth_pool: AuthPool, id: str, *, softly: bool = False) -> Any:
    return await auth_pool.ok("DELETE", f"/admin/users/{id}", {"should_soft_delete": softly}, ADMIN)


async def test_who_is_deleted_is_gone_with_all_that_was_his(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    id = uuid.UUID(signed.id)

    assert await deleted(auth_pool, signed.id) == {}

    for table in ("identities", "sessions", "one_time_tokens", "mfa_factors"):
        assert not await auth_pool.value(f"select count(*) from auth.{table} where user_id = $1", id)
    assert not await auth_pool.value("select count(*) from auth.users where id = $1", id)
    assert await auth_pool.refused("GET", f"/admin/users/{signed.id}", None, ADMIN) == NOT_FOUND
    assert (await auth_pool.sign_up(signed.email)).id != signed.id


def hidden(id: str, value: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256((id + value).encode()).digest()).decode().rstrip("=")


async def softly_deleted(auth_pool: AuthPool) -> tuple[SignedInUser, str]:
    """Delete somebody softly who had everything that an account can have."""
    auth_pool = settle(auth_pool.having(**OPEN_FACTORS))
    signed, _ = await with_app(auth_pool)
    phone = number()
    await changed(
        auth_pool, signed.id, phone=phone, user_metadata={"name": "Ada"}, app_metadata={"plan": "gold"}
    )
    assert await deleted(auth_pool, signed.id, softly=True) == {}
    return signed, phone


async def test_softly_the_row_stays_and_tells_nothing(auth_pool: AuthPool):
    signed, phone = await softly_deleted(auth_pool)
    id = uuid.UUID(signed.id)

    row = await auth_pool.admin.fetchrow("select * from auth.users where id = $1", id)

    assert row is not None
    assert (row["email"], row["phone"]) == (hidden(signed.id, signed.email), hidden(signed.id, phone)[:15])
    assert (row["encrypted_password"], row["raw_user_meta_data"], row["raw_app_meta_data"]) == (
        "",
        "{}",
        "{}",
    )
    assert row["deleted_at"] is not None
    identities = await auth_pool.admin.fetch(
        "select provider_id, identity_data from auth.identities where user_id = $1", id
    )
    assert {each["provider_id"] for each in identities} == {hidden(signed.id, signed.id)}
    assert {each["identity_data"] for each in identities} == {"{}"}
    for table in ("sessions", "mfa_factors", "webauthn_credentials", "one_time_tokens"):
        assert not await auth_pool.value(f"select count(*) from auth.{table} where user_id = $1", id)
    assert signed.email not in await auth_pool.value("select users::text from auth.users where id = $1", id)


async def test_who_was_deleted_softly_is_gone_for_everybody(auth_pool: AuthPool):
    signed, phone = await softly_deleted(auth_pool)
    id = signed.id

    for method, path in (
        ("PUT", f"/admin/users/{id}"),
        ("GET", f"/admin/users/{id}/factors"),
        ("GET", f"/admin/users/{id}/sessions"),
        ("DELETE", f"/admin/users/{id}/sessions/{signed.session_id}"),
        ("PUT", f"/admin/users/{id}/factors/{uuid.uuid4()}"),
    ):
        assert await auth_pool.refused(method, path, {}, ADMIN) == NOT_FOUND
    keys = auth_pool.having(passkey__enabled=True)
    assert await keys.refused("GET", f"/admin/users/{id}/passkeys", None, ADMIN) == NOT_FOUND
    assert (
        await auth_pool.refused("DELETE", f"/admin/users/{id}", {"should_soft_delete": True}, ADMIN)
        == NOT_FOUND
    )
    assert (await auth_pool.ok("GET", f"/admin/users?email={signed.email}", None, ADMIN))["users"] == []
    for name in ({"email": signed.email}, {"email": hidden(id, signed.email)}, {"phone": phone}):
        assert (await sign_in_refused(auth_pool, **name))[0] == 400
    assert (await auth_pool.refused("GET", "/user", None, signed.caller))[1] == "user_not_found"
    assert (await auth_pool.refresh_refused(signed.refresh_token))[0] == 400


async def test_an_admin_sees_what_is_left(auth_pool: AuthPool):
    signed, _ = await softly_deleted(auth_pool)

    left = await seen(auth_pool, signed.id)

    assert (left["id"], left["email"]) == (signed.id, hidden(signed.id, signed.email))
    assert left["deleted_at"]
    assert (left["user_metadata"], left["app_metadata"]) == ({}, {})
    assert "factors" not in left


async def test_the_addresses_are_free_again(auth_pool: AuthPool):
    signed, phone = await softly_deleted(auth_pool)

    again = await auth_pool.sign_up(signed.email)
    await auth_pool.ok("PUT", "/user", {"phone": phone}, again.caller)

    assert again.id != signed.id


async def test_what_is_left_can_be_deleted_later(auth_pool: AuthPool):
    signed, _ = await softly_deleted(auth_pool)

    assert await deleted(auth_pool, signed.id) == {}

    assert not await auth_pool.value("select count(*) from auth.users where id = $1", uuid.UUID(signed.id))
    assert await auth_pool.refused("DELETE", f"/admin/users/{signed.id}", {}, ADMIN) == NOT_FOUND


async def test_without_a_body_an_account_is_deleted_for_good(auth_pool: AuthPool):
    user = await made(auth_pool)

    assert await auth_pool.ok("DELETE", f"/admin/users/{user['id']}", None, ADMIN) == {}
    assert not await auth_pool.value("select count(*) from auth.users where id = $1", uuid.UUID(user["id"]))


@asynccontextmanager
async def notes_of(auth_pool: AuthPool, user_id: str, rule: str) -> AsyncIterator[str]:
    """Return a table of the project with a row that refers to a user."""
    name = f"notes_{uuid.uuid4().hex[:8]}"
    await auth_pool.admin.execute(
        f'create table public."{name}" (id int primary key, owner uuid constraint "{name} of" references auth.users {rule})'
    )
    await auth_pool.admin.execute(f'insert into public."{name}" values (1, $1)', uuid.UUID(user_id))
    try:
        yield name
    finally:
        await auth_pool.admin.execute(f'drop table public."{name}"')


@pytest.mark.parametrize("rule", ["", "on delete restrict", "deferrable initially deferred"])
async def test_a_foreign_key_that_keeps_a_user_is_named(auth_pool: AuthPool, rule: str):
    signed = await auth_pool.sign_up()
    async with notes_of(auth_pool, signed.id, rule) as name:
        status, code, message = await auth_pool.refused("DELETE", f"/admin/users/{signed.id}", {}, ADMIN)

        assert (status, code) == (409, "conflict")
        assert f'"public"."{name}"' in message
        assert f'"{name} of"' in message
        assert "on delete cascade" in message
        await auth_pool.ok("GET", "/user", None, signed.caller)
        await deleted(auth_pool, signed.id, softly=True)
        assert await auth_pool.value(f'select count(*) from public."{name}"') == 1


@pytest.mark.parametrize("rule", ["on delete cascade", "on delete set null"])
async def test_a_foreign_key_that_says_what_to_do_keeps_nobody(auth_pool: AuthPool, rule: str):
    signed = await auth_pool.sign_up()
    async with notes_of(auth_pool, signed.id, rule):
        assert await deleted(auth_pool, signed.id) == {}
