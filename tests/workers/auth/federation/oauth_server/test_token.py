"""POST /oauth/token: codes and refreshes, and what does not get any. Reference, sections 8.3.8 and 15; RFC 6749; RFC 7636."""

import asyncio
import json
import uuid
from typing import Any
from urllib.parse import urlencode

import pytest

from schemas.settings.auth import Hook
from tests.workers.auth.auth_pool import ADMIN, claims_of
from tests.workers.auth.federation.oauth_server.flow import (
    CHALLENGE,
    FORM,
    REDIRECT,
    VERIFIER,
    Client,
    Flow,
    basic,
    error_of,
)
from workers.auth.accounts.sessions.refresh_rows import is_token

BAD_GRANT = (400, "invalid_grant")
BAD_CLIENT = (400, "invalid_client")
BAD_REQUEST = (400, "invalid_request")
METHODS = ["client_secret_basic", "client_secret_post", "none"]


# Codes


@pytest.mark.parametrize("method", METHODS)
async def test_a_code_gives_tokens(flow: Flow, method: str):
    signed, client = await flow.auth_pool.sign_up(), await flow.client(token_endpoint_auth_method=method)

    body = await flow.tokens(client, signed, scope="email profile")
    claims = claims_of(flow.caller(body["access_token"]))

    assert set(body) == {"access_token", "token_type", "expires_in", "refresh_token", "scope"}
    assert (body["token_type"], body["expires_in"], body["scope"]) == ("bearer", 3600, "email profile")
    assert claims["sub"] == signed.id
    assert (claims["client_id"], claims["scope"]) == (client["client_id"], "email profile")
    assert (claims["aal"], claims["role"]) == ("aal1", "authenticated")
    assert [each["method"] for each in claims["amr"]] == ["oauth_provider/authorization_code"]
    assert claims["session_id"] != signed.session_id


async def test_the_answer_is_kept_by_nobody(flow: Flow):
    client = await flow.public()
    code = await flow.code(client, await flow.auth_pool.sign_up())
    fields = flow.code_fields(code) | {"client_id": client["client_id"]}

    response = await flow.auth_pool.send("POST", "/oauth/token", fields)

    assert response.status == 200  # a JSON body does as well as a form
    assert ("cache-control", "no-store") in response.headers


async def test_a_token_of_a_users_own_session_names_no_client(flow: Flow):
    claims = claims_of((await flow.auth_pool.sign_up()).caller)

    assert "client_id" not in claims
    assert "scope" not in claims


async def test_a_client_that_gets_tokens_is_no_sign_in(flow: Flow):
    signed = await flow.auth_pool.sign_up()
    before = (await flow.auth_pool.ok("GET", "/user", None, signed.caller))["last_sign_in_at"]
    await flow.tokens(await flow.client(), signed)

    assert (await flow.auth_pool.ok("GET", "/user", None, signed.caller))["last_sign_in_at"] == before


async def test_a_code_works_once_and_the_second_use_ends_the_session(either: Flow):
    signed, client = await either.auth_pool.sign_up(), await either.client()
    code = await either.code(client, signed)
    _, first = await either.exchange(client, code)

    again = await either.exchange(client, code)
    refresh = await either.refresh(client, first["refresh_token"])
    userinfo = await either.refused("GET", "/oauth/userinfo", either.caller(first["access_token"]))

    assert error_of(again) == BAD_GRANT
    assert error_of(refresh) == BAD_GRANT
    assert userinfo[:2] == (403, "session_not_found")
    assert await either.auth_pool.sessions_of(signed.id) == {signed.session_id}


async def test_ten_uses_at_once_give_one_session_at_most(flow: Flow):
    signed, client = await flow.auth_pool.sign_up(), await flow.client()
    code = await flow.code(client, signed)

    answered = await asyncio.gather(*(flow.exchange(client, code) for _ in range(10)))

    assert sorted(status for status, _ in answered) == [200] + [400] * 9
    assert await flow.auth_pool.sessions_of(signed.id) == {signed.session_id}


async def test_another_client_gets_nothing_for_a_code_and_ends_nothing(flow: Flow):
    signed, client, other = await flow.auth_pool.sign_up(), await flow.client(), await flow.client()
    code = await flow.code(client, signed)

    before = await flow.exchange(other, code)
    status, body = await flow.exchange(client, code)
    after = await flow.exchange(other, code)

    assert error_of(before) == error_of(after) == BAD_GRANT
    assert status == 200
    assert (await flow.refresh(client, body["refresh_token"]))[0] == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"redirect_uri": REDIRECT + "/"},
        {"redirect_uri": REDIRECT.upper()},
        {"redirect_uri": REDIRECT.replace("callback", "%63allback")},
        {"redirect_uri": "https://client.example/other"},
        {"redirect_uri": "https://evil.example/callback"},
        {"redirect_uri": " "},
        {"code_verifier": VERIFIER[:-1] + "x"},
        {"code_verifier": CHALLENGE},
        {"code_verifier": VERIFIER + " "},
        {"code": "x"},
        {"code": "x" * 5000},
    ],
)
async def test_a_code_is_for_the_request_it_was_asked_by(flow: Flow, changes: dict[str, str]):
    signed = await flow.auth_pool.sign_up()
    client = await flow.client(redirect_uris=[REDIRECT, "https://client.example/other"])
    code = await flow.code(client, signed)

    assert error_of(await flow.exchange(client, code, **changes)) == BAD_GRANT
    assert (await flow.exchange(client, code))[0] == 200


async def test_the_address_need_not_come_again(flow: Flow):
    signed, client = await flow.auth_pool.sign_up(), await flow.client()
    bare, empty = flow.code_fields(await flow.code(client, signed)), await flow.code(client, signed)
    del bare["redirect_uri"]

    assert (await flow.post(bare, client))[0] == 200
    assert (await flow.exchange(client, empty, redirect_uri=""))[0] == 200


async def test_a_token_is_for_the_service_that_was_asked_for(flow: Flow):
    signed, client, api = await flow.auth_pool.sign_up(), await flow.client(), "https://api.example/"
    code = await flow.code(client, signed, resource=api)
    other = await flow.exchange(client, code, resource="https://other.example/")
    nowhere = await flow.exchange(client, await flow.code(client, signed), resource=api)

    assert other[1]["error"] == nowhere[1]["error"] == "invalid_target"
    assert (await flow.exchange(client, code, resource=api))[0] == 200


@pytest.mark.parametrize("name", ["code", "code_verifier"])
async def test_neither_code_nor_verifier_can_be_left_out(flow: Flow, name: str):
    client = await flow.client()
    code = await flow.code(client, await flow.auth_pool.sign_up())
    fields = flow.code_fields(code)
    del fields[name]

    assert error_of(await flow.post(fields, client)) == BAD_REQUEST
    assert error_of(await flow.exchange(client, code, **{name: ""})) == BAD_REQUEST


async def test_the_method_of_pkce_is_that_of_the_question(flow: Flow):
    signed, client = await flow.auth_pool.sign_up(), await flow.client()
    hashed = await flow.code(client, signed)
    plain = await flow.code(client, signed, code_challenge_method="plain")
    downgraded = {"code_challenge_method": "plain", "code_verifier": CHALLENGE}

    assert error_of(await flow.exchange(client, hashed, **downgraded)) == BAD_GRANT
    assert error_of(await flow.exchange(client, plain)) == BAD_GRANT
    assert (await flow.exchange(client, plain, code_verifier=CHALLENGE))[0] == 200


async def test_a_code_lives_for_five_minutes(flow: Flow):
    signed, client = await flow.auth_pool.sign_up(), await flow.client()
    code = await flow.code(client, signed)
    flow.auth_pool.clock.forward(minutes=5)

    assert error_of(await flow.exchange(client, code)) == BAD_GRANT


async def test_the_id_of_a_question_is_no_code(flow: Flow):
    signed, client = await flow.auth_pool.sign_up(), await flow.client()
    id = await flow.question(client)

    assert error_of(await flow.exchange(client, id)) == BAD_GRANT
    await flow.decide(id, signed)
    assert error_of(await flow.exchange(client, id)) == BAD_GRANT


@pytest.mark.parametrize("change", [{"ban_duration": "24h"}, None])
async def test_a_code_of_a_user_who_is_banned_or_gone_is_void(flow: Flow, change: dict[str, str] | None):
    signed, client = await flow.auth_pool.sign_up(), await flow.client()
    code = await flow.code(client, signed)
    body = change or {"should_soft_delete": True}
    await flow.auth_pool.ok("PUT" if change else "DELETE", f"/admin/users/{signed.id}", body, ADMIN)

    assert error_of(await flow.exchange(client, code)) == BAD_GRANT


# Clients


async def tries(flow: Flow, client: Client) -> list[tuple[str, dict[str, str], dict[str, str]]]:
    """Return the ways to show oneself that are not the registered one, with the right secret or none."""
    id, secret = client["client_id"], client.get("client_secret", "a guess")
    ways: dict[str, tuple[dict[str, str], dict[str, str]]] = {
        "client_secret_basic": ({}, {"authorization": basic(id, secret)}),
        "client_secret_post": ({"client_id": id, "client_secret": secret}, {}),
        "none": ({"client_id": id}, {}),
    }
    del ways[client["token_endpoint_auth_method"]]
    return [(name, *way) for name, way in ways.items()]


@pytest.mark.parametrize("method", METHODS)
async def test_a_client_that_shows_itself_otherwise_is_refused(flow: Flow, method: str):
    client = await flow.client(token_endpoint_auth_method=method)
    code = await flow.code(client, await flow.auth_pool.sign_up())

    for name, fields, headers in await tries(flow, client):
        refused = await flow.post(flow.code_fields(code) | fields, None, **headers)
        assert error_of(refused) == BAD_CLIENT, name
    assert (await flow.exchange(client, code))[0] == 200


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
@pytest.mark.parametrize("secret", ["", "another", "Ä"])
async def test_a_wrong_secret_is_refused(flow: Flow, method: str, secret: str):
    client = await flow.client(token_endpoint_auth_method=method)
    code = await flow.code(client, await flow.auth_pool.sign_up())

    assert error_of(await flow.exchange({**client, "client_secret": secret}, code)) == BAD_CLIENT
    assert (await flow.exchange(client, code))[0] == 200


async def test_unknown_and_wrong_clients_read_the_same(flow: Flow):
    client = await flow.client(token_endpoint_auth_method="client_secret_post")
    wrong = await flow.exchange({**client, "client_secret": "x"}, "a code")
    unknown = await flow.exchange({**client, "client_id": str(uuid.uuid4())}, "a code")
    nonsense = await flow.exchange({**client, "client_id": "somebody"}, "a code")

    assert wrong == unknown == nonsense
    assert error_of(wrong) == BAD_CLIENT


async def test_a_deleted_client_gets_nothing_and_its_sessions_end(either: Flow):
    signed, client = await either.auth_pool.sign_up(), await either.public()
    body, code = await either.tokens(client, signed), await either.code(client, signed)
    await either.auth_pool.ok("DELETE", f"/admin/oauth/clients/{client['client_id']}", None, ADMIN)

    assert error_of(await either.exchange(client, code)) == BAD_CLIENT
    assert error_of(await either.refresh(client, body["refresh_token"])) == BAD_CLIENT
    assert await either.auth_pool.sessions_of(signed.id) == {signed.session_id}


async def test_an_old_secret_is_void_once_there_is_a_new_one(flow: Flow):
    client = await flow.client()
    path = f"/admin/oauth/clients/{client['client_id']}/regenerate_secret"
    renewed = await flow.auth_pool.ok("POST", path, None, ADMIN)
    code = await flow.code(client, await flow.auth_pool.sign_up())

    assert error_of(await flow.exchange(client, code)) == BAD_CLIENT
    assert (await flow.exchange(renewed, code))[0] == 200


# Requests


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({}, "unsupported_grant_type"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
        ({"grant_type": "refresh_token"}, "invalid_request"),
        ({"grant_type": "authorization_code"}, "invalid_request"),
        ({"grant_type": "authorization_code", "code": "a\0"}, "invalid_request"),
    ],
)
async def test_requests_that_are_none(flow: Flow, fields: dict[str, str], error: str):
    assert error_of(await flow.post(fields, await flow.client())) == (400, error)


async def test_a_parameter_that_stands_there_twice_is_refused(flow: Flow):
    client = await flow.public()
    code = await flow.code(client, await flow.auth_pool.sign_up())
    fields = [*flow.code_fields(code).items(), ("client_id", client["client_id"]), ("code", "another")]
    response = await flow.auth_pool.send(
        "POST", "/oauth/token", urlencode(fields).encode(), content_type=FORM
    )

    assert error_of((response.status, json.loads(response.body))) == BAD_REQUEST


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"code": 1}'])
async def test_bodies_that_cannot_be_read_are_refused_in_the_shape_of_oauth(flow: Flow, body: bytes):
    response = await flow.auth_pool.send("POST", "/oauth/token", body)

    assert error_of((response.status, json.loads(response.body))) == BAD_REQUEST


# The project's own claims


async def with_hook(flow: Flow, body: str) -> Flow:
    """Ask a function of the database for the claims of access tokens."""
    name = f"claims_{uuid.uuid4().hex}"
    await flow.auth_pool.admin.execute(
        f"create function public.{name}(event jsonb) returns jsonb language plpgsql as $f$ {body} $f$"
    )
    uri = f"pg-functions://postgres/public/{name}"
    return Flow(flow.auth_pool.having(hook__custom_access_token=Hook(enabled=True, uri=uri)))


async def test_the_hook_is_told_of_the_client(flow: Flow):
    signed, client = await flow.auth_pool.sign_up(), await flow.client()
    hooked = await with_hook(
        flow,
        """begin return jsonb_build_object('claims', event->'claims' || jsonb_build_object(
           'told', jsonb_build_array(event->>'authentication_method', event->'claims'->>'client_id'))); end""",
    )
    body = await hooked.tokens(client, signed)

    told = claims_of(hooked.caller(body["access_token"]))["told"]

    assert told == ["oauth_provider/authorization_code", client["client_id"]]


async def test_a_hook_that_fails_is_no_fault_of_the_token(flow: Flow):
    signed, client = await flow.auth_pool.sign_up(), await flow.client()
    body, code = await flow.tokens(client, signed), await flow.code(client, signed)
    hooked = await with_hook(flow, "begin return jsonb_build_object('claims', 1); end")

    refreshed, exchanged = (
        await hooked.refresh(client, body["refresh_token"]),
        await hooked.exchange(client, code),
    )

    assert [status for status, _ in (refreshed, exchanged)] == [500, 500]
    assert (await flow.refresh(client, body["refresh_token"]))[0] == 200
    assert len(await flow.auth_pool.sessions_of(signed.id)) == 2


# Refreshes


@pytest.mark.parametrize("method", METHODS)
async def test_a_refresh_gives_the_next_tokens_of_the_session(flow: Flow, method: str):
    signed, client = await flow.auth_pool.sign_up(), await flow.client(token_endpoint_auth_method=method)
    first = await flow.tokens(client, signed, scope="email profile")

    status, second = await flow.refresh(client, first["refresh_token"])
    before, after = (claims_of(flow.caller(each["access_token"])) for each in (first, second))

    assert status == 200
    assert set(second) == set(first)
    assert second["refresh_token"] != first["refresh_token"]
    for name in ("session_id", "client_id", "scope", "amr", "sub"):
        assert after[name] == before[name]


async def test_a_session_of_a_client_refreshes_with_that_client_only(either: Flow):
    signed, client, other = await either.auth_pool.sign_up(), await either.public(), await either.public()
    body = await either.tokens(client, signed)
    response = await either.auth_pool.send(
        "POST", "/token?grant_type=refresh_token", {"refresh_token": body["refresh_token"]}
    )

    assert error_of((response.status, json.loads(response.body))) == BAD_CLIENT
    assert error_of(await either.refresh(other, body["refresh_token"])) == BAD_CLIENT
    assert (await either.refresh(client, body["refresh_token"]))[0] == 200


async def test_the_session_of_a_client_moves_on_from_rows_like_any_other(flow: Flow):
    with_rows = Flow(flow.auth_pool.having(refresh_token_algorithm_version=1))
    client = await flow.public()
    token = (await with_rows.tokens(client, await flow.auth_pool.sign_up()))["refresh_token"]
    _, second = await with_rows.refresh(client, token)
    moving = Flow(flow.auth_pool.having(refresh_token_upgrade_percentage=100))

    _, third = await moving.refresh(client, second["refresh_token"])

    assert [is_token(each) for each in (token, second["refresh_token"], third["refresh_token"])] == [
        True,
        True,
        False,
    ]
    assert error_of(await moving.refresh(await moving.public(), third["refresh_token"])) == BAD_CLIENT
    assert (await moving.refresh(client, third["refresh_token"]))[0] == 200


async def test_a_session_of_a_user_refreshes_with_no_client(either: Flow):
    signed, client = await either.auth_pool.sign_up(), await either.public()

    assert error_of(await either.refresh(client, signed.refresh_token)) == BAD_CLIENT
    await either.auth_pool.refresh(signed.refresh_token)


async def test_a_refresh_asks_for_less_but_never_for_more(flow: Flow):
    signed, client = await flow.auth_pool.sign_up(), await flow.client()
    body = await flow.tokens(client, signed, scope="email phone")
    token = body["refresh_token"]

    for more in ("email phone profile", "openid", "EMAIL"):
        assert error_of(await flow.refresh(client, token, scope=more)) == (400, "invalid_scope")
    _, fewer = await flow.refresh(client, token, scope="email")
    _, again = await flow.refresh(client, fewer["refresh_token"])

    assert fewer["scope"] == claims_of(flow.caller(fewer["access_token"]))["scope"] == "email"
    assert again["scope"] == "email phone"


async def test_a_refresh_token_that_comes_back_ends_the_session(either: Flow):
    signed, client = await either.auth_pool.sign_up(), await either.public()
    first = (await either.tokens(client, signed))["refresh_token"]
    token = first
    for _ in range(2):
        token = (await either.refresh(client, token))[1]["refresh_token"]
    either.auth_pool.clock.forward(minutes=1)

    assert error_of(await either.refresh(client, first)) == BAD_GRANT
    assert error_of(await either.refresh(client, token)) == BAD_GRANT


@pytest.mark.parametrize("token", ["x", "a" * 12, "A" * 60])
async def test_refresh_tokens_that_are_none(flow: Flow, token: str):
    assert error_of(await flow.refresh(await flow.client(), token)) == BAD_GRANT


async def test_a_client_without_refreshes_gets_none(flow: Flow):
    signed = await flow.auth_pool.sign_up()
    client = await flow.client(grant_types=["authorization_code"])
    body = await flow.tokens(client, signed)

    assert "refresh_token" not in body
    assert error_of(await flow.refresh(client, "x")) == (400, "unauthorized_client")


@pytest.mark.parametrize("setting", [{"sessions__timebox": 60}, {"sessions__inactivity_timeout": 60}])
async def test_the_limits_of_sessions_hold_for_clients_too(flow: Flow, setting: dict[str, Any]):
    flow = Flow(flow.auth_pool.having(**setting))
    signed, client = await flow.auth_pool.sign_up(), await flow.client()
    body = await flow.tokens(client, signed)
    flow.auth_pool.clock.forward(minutes=2)

    assert error_of(await flow.refresh(client, body["refresh_token"])) == BAD_GRANT
