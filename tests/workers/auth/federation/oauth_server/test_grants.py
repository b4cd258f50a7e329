"""What a user allowed, and how he takes it back. Reference, section 15."""

import asyncio
import uuid

import pytest

from tests.workers.auth.auth_pool import ADMIN
from tests.workers.auth.federation.oauth_server.flow import Flow, error_of

GRANTS = "/user/oauth/grants"
NOT_FOUND = (404, "oauth_consent_not_found", "OAuth consent not found")


async def test_a_user_sees_what_he_allowed(flow: Flow):
    signed = await flow.auth_pool.sign_up()
    first = await flow.client(client_name="first", client_uri="https://client.example/")
    second = await flow.public(client_name="second")
    await flow.tokens(first, signed, scope="openid email")
    await flow.tokens(second, signed)

    shown = await flow.auth_pool.ok("GET", GRANTS, None, signed.caller)

    assert [each["client"]["name"] for each in shown] == ["second", "first"]
    assert set(shown[1]) == {"client", "scopes", "granted_at"}
    assert shown[1]["scopes"] == ["openid", "email"]
    assert shown[1]["client"] == {
        "id": first["client_id"], "name": "first", "uri": "https://client.example/", "logo_uri": "",
    }  # fmt: skip
    assert await flow.auth_pool.ok("GET", GRANTS, None, (await flow.auth_pool.sign_up()).caller) == []


async def test_what_is_taken_back_is_void_at_once(either: Flow):
    signed, client, other = await either.auth_pool.sign_up(), await either.client(), await either.client()
    body, kept = await either.tokens(client, signed), await either.tokens(other, signed)
    code, id = await either.code(client, signed), await either.question(client, scope="phone")
    await either.details(id, signed)

    await either.auth_pool.ok("DELETE", f"{GRANTS}?client_id={client['client_id']}", None, signed.caller)

    assert error_of(await either.refresh(client, body["refresh_token"])) == (400, "invalid_grant")
    assert error_of(await either.exchange(client, code)) == (400, "invalid_grant")
    refused = await either.refused("GET", "/oauth/userinfo", either.caller(body["access_token"]))
    assert refused[:2] == (403, "session_not_found")
    path = f"/oauth/authorizations/{id}/consent"
    assert (await either.refused("POST", path, signed.caller, {"action": "approve"}))[0] == 400
    assert (await either.refresh(other, kept["refresh_token"]))[0] == 200
    assert len(await either.auth_pool.ok("GET", GRANTS, None, signed.caller)) == 1


async def test_what_was_taken_back_is_asked_again(flow: Flow):
    signed, client = await flow.auth_pool.sign_up(), await flow.client()
    await flow.tokens(client, signed, scope="email phone")
    await flow.auth_pool.ok("DELETE", f"{GRANTS}?client_id={client['client_id']}", None, signed.caller)

    shown = await flow.details(await flow.question(client, scope="email"), signed)
    await flow.tokens(client, signed, scope="email")
    again = await flow.auth_pool.ok("GET", GRANTS, None, signed.caller)

    assert shown["scope"] == "email"
    assert [each["scopes"] for each in again] == [["email"]]


async def test_a_code_that_is_exchanged_meanwhile_leaves_no_session(flow: Flow):
    signed, client = await flow.auth_pool.sign_up(), await flow.public()
    codes = [await flow.code(client, signed) for _ in range(5)]
    target = f"{GRANTS}?client_id={client['client_id']}"

    await asyncio.gather(
        *(flow.exchange(client, code) for code in codes),
        flow.auth_pool.ok("DELETE", target, None, signed.caller),
    )

    assert await flow.auth_pool.sessions_of(signed.id) == {signed.session_id}


async def test_a_yes_and_a_change_of_mind_at_once_do_not_wait_for_each_other(flow: Flow):
    signed, client = await flow.auth_pool.sign_up(), await flow.public()
    await flow.tokens(client, signed)
    target = f"{GRANTS}?client_id={client['client_id']}"
    ids = [await flow.question(client, scope="email phone") for _ in range(4)]
    for id in ids:
        await flow.details(id, signed)

    answered = await asyncio.gather(
        *(
            flow.auth_pool.send(
                "POST", f"/oauth/authorizations/{id}/consent", {"action": "approve"}, signed.caller
            )
            for id in ids
        ),
        *(flow.auth_pool.send("DELETE", target, None, signed.caller) for _ in range(4)),
    )

    assert {each.status for each in answered} <= {200, 204, 400, 404}


async def test_what_was_not_allowed_cannot_be_taken_back(flow: Flow):
    signed, other, client = (
        await flow.auth_pool.sign_up(),
        await flow.auth_pool.sign_up(),
        await flow.client(),
    )
    await flow.tokens(client, other)
    target = f"{GRANTS}?client_id={client['client_id']}"

    assert await flow.refused("DELETE", target, signed.caller) == NOT_FOUND
    assert await flow.refused("DELETE", f"{GRANTS}?client_id={uuid.uuid4()}", signed.caller) == NOT_FOUND
    assert len(await flow.auth_pool.ok("GET", GRANTS, None, other.caller)) == 1


@pytest.mark.parametrize("query", ["", "?client_id=", "?client_id=x"])
async def test_the_client_must_be_named(flow: Flow, query: str):
    signed = await flow.auth_pool.sign_up()

    assert (await flow.refused("DELETE", GRANTS + query, signed.caller))[:2] == (400, "validation_failed")


async def test_a_deleted_client_is_no_longer_listed(flow: Flow):
    signed, client = await flow.auth_pool.sign_up(), await flow.client()
    await flow.tokens(client, signed)
    await flow.auth_pool.ok("DELETE", f"/admin/oauth/clients/{client['client_id']}", None, ADMIN)

    assert await flow.auth_pool.ok("GET", GRANTS, None, signed.caller) == []
