"""From the client to the user and back. Reference, section 15; RFC 6749, 4.1."""

import asyncio
import json
import uuid

import pytest

from tests.workers.auth.auth_pool import ADMIN, AuthPool, told
from tests.workers.auth.federation.oauth_server.flow import CHALLENGE, REDIRECT, Flow, query_of

NOT_FOUND = (404, "oauth_authorization_not_found", "authorization not found")
DECIDED = (400, "validation_failed", "authorization request cannot be processed")


# The client asks


async def test_the_browser_is_sent_to_the_page_of_the_project(flow: Flow):
    auth_pool = flow.auth_pool.having(site_url="https://site.example/app/")
    client = await flow.client()

    response = await Flow(auth_pool).authorize(client)
    location = told(response, "location")

    assert response.status == 302
    assert location.startswith("https://site.example/app/oauth/consent?authorization_id=")
    assert len(query_of(location)["authorization_id"]) == 32
    assert told(response, "cache-control") == "no-store"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"client_id": None}, "validation_failed"),
        ({"client_id": ""}, "validation_failed"),
        ({"client_id": "somebody"}, "validation_failed"),
        ({"client_id": str(uuid.uuid4())}, "oauth_client_not_found"),
        ({"redirect_uri": None}, "validation_failed"),
        ({"redirect_uri": ""}, "validation_failed"),
        ({"redirect_uri": REDIRECT + "/"}, "validation_failed"),
        ({"redirect_uri": REDIRECT + "/more"}, "validation_failed"),
        ({"redirect_uri": REDIRECT + "?a=b"}, "validation_failed"),
        ({"redirect_uri": REDIRECT + "#"}, "validation_failed"),
        ({"redirect_uri": REDIRECT[:-1]}, "validation_failed"),
        ({"redirect_uri": REDIRECT.upper()}, "validation_failed"),
        ({"redirect_uri": REDIRECT.replace("client", "Client")}, "validation_failed"),
        ({"redirect_uri": REDIRECT.replace("callback", "%63allback")}, "validation_failed"),
        ({"redirect_uri": "https%3A%2F%2Fclient.example%2Fcallback"}, "validation_failed"),
        ({"redirect_uri": "https://client.example:443/callback"}, "validation_failed"),
        ({"redirect_uri": "https://client.example/x/../callback"}, "validation_failed"),
        ({"redirect_uri": REDIRECT.replace("https", "http")}, "validation_failed"),
        ({"redirect_uri": "https://evil.example/callback"}, "validation_failed"),
        ({"redirect_uri": f"{REDIRECT},https://evil.example"}, "validation_failed"),
        ({"redirect_uri": f"{REDIRECT}\0"}, "validation_failed"),
        ({"redirect_uri": f" {REDIRECT}"}, "validation_failed"),
    ],
)
async def test_nothing_is_sent_to_an_address_that_is_not_the_clients(
    flow: Flow, changes: dict[str, str | None], code: str
):
    response = await flow.authorize(await flow.client(), **changes)

    assert response.status == 400
    assert json.loads(response.body)["error_code"] == code
    assert told(response, "location") == ""


async def test_a_parameter_that_stands_there_twice_is_refused(flow: Flow):
    id = (await flow.client())["client_id"]
    twice = f"/oauth/authorize?client_id={id}&redirect_uri={REDIRECT}&redirect_uri=https://evil.example/"

    assert (await flow.refused("GET", twice))[:2] == (400, "validation_failed")


@pytest.mark.parametrize(
    "changes",
    [
        {"response_type": None},
        {"response_type": "token"},
        {"response_type": "code token"},
        {"scope": "email admin"},
        {"code_challenge": None, "code_challenge_method": None},
        {"code_challenge": None},
        {"code_challenge_method": None},
        {"code_challenge_method": "none"},
        {"code_challenge": "short"},
        {"code_challenge": CHALLENGE + "!"},
        {"nonce": "x" * 256},
        {"resource": "no address"},
        {"resource": "https://api.example/#a"},
        {"resource": "https://api.example/" + "x" * 2048},
        {"scope": "email " * 1000},
    ],
)
async def test_every_other_fault_is_told_to_the_client(flow: Flow, changes: dict[str, str | None]):
    response = await flow.authorize(await flow.client(), **changes)
    location = told(response, "location")
    query = query_of(location)

    assert response.status == 302
    assert location.startswith(f"{REDIRECT}?")
    assert query["error"] == "invalid_request"
    assert query["error_description"]
    assert query["state"] == "a state"
    assert query["iss"] == flow.auth_pool.context.settings.external_url
    assert "code" not in query


async def test_a_state_that_is_too_long_is_told_too(flow: Flow):
    response = await flow.authorize(await flow.client(), state="x" * 4097)

    assert query_of(told(response, "location"))["error"] == "invalid_request"


async def test_a_deleted_client_asks_nobody(flow: Flow):
    client = await flow.client()
    id = await flow.question(client)
    signed = await flow.auth_pool.sign_up()
    await flow.auth_pool.ok("DELETE", f"/admin/oauth/clients/{client['client_id']}", None, ADMIN)

    assert (await flow.authorize(client)).status == 400
    assert await flow.refused("GET", f"/oauth/authorizations/{id}", signed.caller) == NOT_FOUND


# The page asks


async def test_the_page_learns_what_is_asked(flow: Flow):
    client = await flow.client(client_uri="https://client.example/", logo_uri="https://client.example/l.png")
    signed = await flow.auth_pool.sign_up()
    id = await flow.question(client, scope="openid email", resource="https://api.example/")

    assert await flow.details(id, signed) == {
        "authorization_id": id,
        "redirect_uri": REDIRECT,
        "client": {
            "id": client["client_id"],
            "name": "An application",
            "uri": "https://client.example/",
            "logo_uri": "https://client.example/l.png",
        },
        "user": {"id": signed.id, "email": signed.email},
        "scope": "openid email",
    }
    assert (await flow.details(id, signed))["authorization_id"] == id


async def test_the_usual_scope_is_that_of_the_settings(flow: Flow):
    signed, client = await flow.auth_pool.sign_up(), await flow.client()
    other = Flow(flow.auth_pool.having(oauth_server__default_scope="openid phone"))

    assert (await flow.details(await flow.question(client), signed))["scope"] == "email"
    assert (await flow.details(await other.question(client, scope=""), signed))["scope"] == "openid phone"


async def test_a_question_belongs_to_who_looked_at_it_first(flow: Flow):
    client, first, second = (
        await flow.client(),
        await flow.auth_pool.sign_up(),
        await flow.auth_pool.sign_up(),
    )
    id = await flow.question(client)
    await flow.details(id, first)
    path = f"/oauth/authorizations/{id}"

    assert await flow.refused("GET", path, second.caller) == NOT_FOUND
    for action in ("approve", "deny"):
        body = {"action": action}
        assert await flow.refused("POST", f"{path}/consent", second.caller, body) == NOT_FOUND
    assert "code" in await flow.decide(id, first)


async def test_an_unknown_question_is_not_found(flow: Flow):
    signed = await flow.auth_pool.sign_up()

    for id in ("x" * 32, str(uuid.uuid4()), "%27--"):
        assert await flow.refused("GET", f"/oauth/authorizations/{id}", signed.caller) == NOT_FOUND


async def test_a_question_lives_as_long_as_the_settings_say(flow: Flow):
    signed, id = await flow.auth_pool.sign_up(), await flow.question(await flow.client())
    flow.auth_pool.clock.forward(minutes=9)
    await flow.details(id, signed)
    flow.auth_pool.clock.forward(minutes=1)
    path = f"/oauth/authorizations/{id}"

    assert await flow.refused("GET", path, signed.caller) == NOT_FOUND
    assert await flow.refused("POST", f"{path}/consent", signed.caller, {"action": "approve"}) == NOT_FOUND


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1.evil.example"])
async def test_another_page_is_told_nothing_and_decides_nothing(flow: Flow, origin: str):
    signed, id = await flow.auth_pool.sign_up(), await flow.question(await flow.client())
    path = f"/oauth/authorizations/{id}"

    for method, target in (("GET", path), ("POST", f"{path}/consent")):
        refused = await flow.auth_pool.refused(
            method, target, {"action": "approve"}, signed.caller, origin=origin
        )
        assert refused == (400, "validation_failed", "unauthorized request origin")


async def test_the_projects_own_pages_may_ask(flow: Flow):
    auth_pool = flow.auth_pool.having(
        site_url="https://site.example", additional_redirect_urls=["https://*.other.example/**"]
    )
    signed = await flow.auth_pool.sign_up()
    for origin in ("https://site.example", "https://a.other.example"):
        id = await Flow(auth_pool).question(await flow.client())
        response = await auth_pool.send(
            "GET", f"/oauth/authorizations/{id}", None, signed.caller, origin=origin
        )
        assert response.status == 200, origin


# The user decides


async def test_a_yes_gives_the_client_a_code(flow: Flow):
    signed, client = await flow.auth_pool.sign_up(), await flow.client(redirect_uris=[REDIRECT + "?a=b"])
    id = await flow.question(client, state="ä &=")
    query = await flow.decide(id, signed)
    kept = await flow.auth_pool.value(
        "select authorization_code from auth.oauth_authorizations where authorization_id = $1", id
    )

    assert set(query) == {"a", "code", "state", "iss"}
    assert query["state"] == "ä &="
    assert query["iss"] == flow.auth_pool.context.settings.external_url
    assert query["code"] not in kept


async def test_without_a_state_none_comes_back(flow: Flow):
    id = await flow.question(await flow.client(), state=None)

    assert set(await flow.decide(id, await flow.auth_pool.sign_up())) == {"code", "iss"}


async def test_a_no_is_told_to_the_client(flow: Flow):
    signed, client = await flow.auth_pool.sign_up(), await flow.client()

    query = await flow.decide(await flow.question(client), signed, "deny")

    assert (query["error"], query["state"]) == ("access_denied", "a state")
    assert "code" not in query
    assert await flow.auth_pool.ok("GET", "/user/oauth/grants", None, signed.caller) == []


@pytest.mark.parametrize("action", ["approve", "deny"])
async def test_a_question_is_decided_once(flow: Flow, action: str):
    signed, id = await flow.auth_pool.sign_up(), await flow.question(await flow.client())
    await flow.decide(id, signed, action)
    path = f"/oauth/authorizations/{id}"

    assert await flow.refused("GET", path, signed.caller) == DECIDED
    for again in ("approve", "deny"):
        assert await flow.refused("POST", f"{path}/consent", signed.caller, {"action": again}) == DECIDED


async def test_ten_answers_at_once_are_one(flow: Flow):
    signed, id = await flow.auth_pool.sign_up(), await flow.question(await flow.client())
    path = f"/oauth/authorizations/{id}/consent"
    answered = await asyncio.gather(
        *(flow.auth_pool.send("POST", path, {"action": "approve"}, signed.caller) for _ in range(10))
    )

    assert sorted(each.status for each in answered) == [200] + [400] * 9


@pytest.mark.parametrize("body", [{}, {"action": "APPROVE"}, {"action": ""}])
async def test_an_answer_is_yes_or_no(flow: Flow, body: dict[str, str]):
    signed, id = await flow.auth_pool.sign_up(), await flow.question(await flow.client())

    refused = await flow.refused("POST", f"/oauth/authorizations/{id}/consent", signed.caller, body)

    assert refused == (400, "validation_failed", "action must be approve or deny")


async def test_what_was_allowed_before_is_not_asked_again(flow: Flow):
    signed, client = await flow.auth_pool.sign_up(), await flow.client()
    await flow.decide(await flow.question(client, scope="openid email"), signed)

    same = await flow.details(await flow.question(client, scope="email"), signed)
    more = await flow.details(await flow.question(client, scope="email phone"), signed)

    assert set(same) == {"redirect_url"}
    assert set(query_of(same["redirect_url"])) == {"code", "state", "iss"}
    assert more["scope"] == "email phone"
    assert "authorization_id" in await flow.details(
        await flow.question(await flow.client(), scope="email"), signed
    )


async def test_consents_add_up(flow: Flow):
    signed, client = await flow.auth_pool.sign_up(), await flow.client()
    for scope in ("email", "phone"):
        await flow.decide(await flow.question(client, scope=scope), signed)

    assert "redirect_url" in await flow.details(await flow.question(client, scope="phone email"), signed)


async def test_a_client_cannot_allow_itself_more(flow: Flow):
    signed, client = await flow.auth_pool.sign_up(), await flow.client()
    caller = flow.caller((await flow.tokens(client, signed))["access_token"])
    path = f"/oauth/authorizations/{await flow.question(client, scope='openid profile email phone')}"
    refusal = (403, "no_authorization", "OAuth clients are not allowed to perform these actions")

    assert await flow.refused("GET", path, caller) == refusal
    assert await flow.refused("POST", f"{path}/consent", caller, {"action": "approve"}) == refusal
    assert await flow.refused("GET", "/user/oauth/grants", caller) == refusal
    target = f"/user/oauth/grants?client_id={client['client_id']}"
    assert await flow.refused("DELETE", target, caller) == refusal


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("POST", ""), ("GET", "/x"), ("PUT", "/x"), ("DELETE", "/x"), ("POST", "/x/regenerate_secret")],
)  # fmt: skip
async def test_the_server_is_off_for_administrators_too_unless_it_is_switched_on(
    auth_pool: AuthPool, method: str, path: str
):
    """Other endpoints: `http/test_features_off.py`."""
    assert await auth_pool.refused(method, f"/admin/oauth/clients{path}", {}, ADMIN) == (
        404, "feature_disabled", "OAuth server is disabled",
    )  # fmt: skip


async def test_without_a_consent_page_the_request_is_refused_and_says_what_to_set(flow: Flow):
    client = await flow.client()

    response = await Flow(flow.auth_pool.having(oauth_server__authorization_url_path="")).authorize(client)

    assert response.status == 500
    assert "auth.oauth_server.authorization_url_path" in json.loads(response.body)["msg"]
    assert told(response, "location") == ""
