"""Acting as a user, ending all sessions, unlinking an identity: what administrators may beside the standard. Reference, section 28."""

import json
from uuid import uuid4

import pytest

from tests.workers.auth.auth_pool import ADMIN, AuthPool, address, claims_of, number


async def test_an_administrator_acts_as_a_user_and_changes_nothing_of_the_account(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    before = await auth_pool.value("select last_sign_in_at from auth.users where id = $1", signed.id)

    body = {"expires_in": 60, "actor": "ada@example.com"}
    made = await auth_pool.ok("POST", f"/admin/users/{signed.id}/token", body, ADMIN)
    acting = auth_pool.signed({**made, "user": {"id": signed.id}})
    claims = claims_of(acting.caller)

    assert (claims["sub"], claims["role"], claims["exp"] - claims["iat"]) == (signed.id, "authenticated", 60)
    assert claims["act"] == {"sub": "ada@example.com", "kind": "administrator"}
    assert "session_id" not in claims
    assert (await auth_pool.ok("GET", "/user", None, acting.caller))["id"] == signed.id
    for method, path, sent in (
        ("PUT", "/user", {"password": "another password"}),
        ("POST", "/factors", {"factor_type": "totp"}),
        ("DELETE", f"/sessions/{signed.session_id}", None),
        ("POST", "/logout", None),
    ):
        assert (await auth_pool.refused(method, path, sent, acting.caller))[:2] == (
            403,
            "no_authorization",
        ), path
    assert await auth_pool.sessions_of(signed.id) == {signed.session_id}
    assert before == await auth_pool.value("select last_sign_in_at from auth.users where id = $1", signed.id)
    entry = await auth_pool.value(
        "select payload from auth.audit_log_entries where payload #>> '{traits,acting}' is not null"
        " and payload #>> '{traits,user_id}' = $1",
        signed.id,
    )
    assert json.loads(entry)["traits"]["acting"] == "ada@example.com"


@pytest.mark.parametrize(
    "body", [{}, {"actor": ""}, {"actor": "a", "expires_in": 0}, {"actor": "a", "expires_in": 3601}]
)
async def test_acting_needs_a_name_and_a_bounded_time(auth_pool: AuthPool, body: dict[str, object]):
    signed = await auth_pool.sign_up()

    refused = await auth_pool.refused("POST", f"/admin/users/{signed.id}/token", body, ADMIN)

    assert refused[:2] == (400, "validation_failed")


async def test_nobody_acts_as_a_banned_or_unknown_user(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    await auth_pool.ok("PUT", f"/admin/users/{signed.id}", {"ban_duration": "1h"}, ADMIN)
    body = {"actor": "a"}

    assert (await auth_pool.refused("POST", f"/admin/users/{signed.id}/token", body, ADMIN))[
        1
    ] == "user_banned"
    assert (await auth_pool.refused("POST", f"/admin/users/{uuid4()}/token", body, ADMIN))[
        1
    ] == "user_not_found"


async def test_all_sessions_of_a_user_end(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    await auth_pool.sign_in(signed.email)
    other = await auth_pool.sign_up()

    await auth_pool.ok("DELETE", f"/admin/users/{signed.id}/sessions", None, ADMIN)

    assert await auth_pool.sessions_of(signed.id) == set()
    assert await auth_pool.sessions_of(other.id) == {other.session_id}


async def test_an_identity_is_unlinked_but_not_the_last_one(auth_pool: AuthPool):
    body = {"email": address(), "phone": number(), "email_confirm": True, "phone_confirm": True}
    user = await auth_pool.ok("POST", "/admin/users", body, ADMIN)
    of = {row["provider"]: row["identity_id"] for row in user["identities"]}

    await auth_pool.ok("DELETE", f"/admin/users/{user['id']}/identities/{of['phone']}", None, ADMIN)
    left = await auth_pool.ok("GET", f"/admin/users/{user['id']}", None, ADMIN)
    last = await auth_pool.refused(
        "DELETE", f"/admin/users/{user['id']}/identities/{of['email']}", None, ADMIN
    )
    wrong = await auth_pool.refused("DELETE", f"/admin/users/{user['id']}/identities/x", None, ADMIN)

    assert (left["email"], left["phone"]) == (body["email"], "")
    assert last[1] == "single_identity_not_deletable"
    assert wrong[0] == 404
