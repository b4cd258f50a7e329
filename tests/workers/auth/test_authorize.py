"""GET /authorize, rule by rule of the reference (11.1)."""

import uuid
from collections.abc import AsyncIterator
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import pytest

from schemas.http import Request
from tests.workers.auth.auth_pool import ANYBODY, AuthPool, told
from tests.workers.auth.oidc_provider import CLIENT_ID, OidcProvider, running
from tests.workers.auth.social_browser import EXTERNAL, SITE, departs, goes, open_for, state_of
from tests.workers.rest.bodies import Inline
from workers.auth.model.pkce import s256
from workers.auth.worker import AuthWorker

APP = "https://app.example.com/welcome"
CHALLENGE = s256("v" * 50)


@pytest.fixture
async def realm() -> AsyncIterator[OidcProvider]:
    async with running() as provider:
        yield provider


def asked_of(address: str) -> dict[str, str]:
    pairs = parse_qsl(urlsplit(address).query, keep_blank_values=True)
    assert len(pairs) == len(dict(pairs)), "a parameter stands twice"
    return dict(pairs)


async def row_of(auth_pool: AuthPool, address: str) -> dict[str, object]:
    row = await auth_pool.admin.fetchrow(
        "select * from auth.flow_state where id = $1", uuid.UUID(state_of(address))
    )
    assert row is not None
    return dict(row)


async def test_a_browser_is_sent_to_the_provider(auth_pool: AuthPool, realm: OidcProvider):
    auth_pool = open_for(auth_pool, realm)

    response = await auth_pool.send("GET", "/authorize?provider=keycloak")
    address = told(response, "location")
    asked = asked_of(address)

    assert (response.status, told(response, "cache-control")) == (302, "no-store")
    assert address.startswith(f"{realm.url}/protocol/openid-connect/auth?")
    assert (asked["client_id"], asked["response_type"]) == (CLIENT_ID, "code")
    assert asked["redirect_uri"] == f"{EXTERNAL}/callback"
    assert uuid.UUID(asked["state"])


@pytest.mark.parametrize("scopes", ["calendar files", "calendar,files", " calendar , files calendar"])
async def test_scopes_are_added_however_they_are_joined(
    auth_pool: AuthPool, realm: OidcProvider, scopes: str
):
    asked = asked_of(await departs(open_for(auth_pool, realm), scopes=scopes))

    assert asked["scope"].split() == ["profile", "email", "calendar", "files"]


async def test_other_parameters_are_passed_on(auth_pool: AuthPool, realm: OidcProvider):
    more = {
        "prompt": "consent",
        "access_type": "offline",
        "login_hint": "ada+x@example.com",
        "hd": "example.com",
    }

    asked = asked_of(await departs(open_for(auth_pool, realm), **more))

    assert {name: asked[name] for name in more} == more


@pytest.mark.parametrize("name", ["client_id", "client_secret", "redirect_uri", "response_type", "state",
    "code_challenge", "code_challenge_method", "code_verifier", "request", "request_uri"])  # fmt: skip
@pytest.mark.parametrize("spelled", [str.upper, str.title])
async def test_reserved_parameters_are_not_passed_on(
    auth_pool: AuthPool, realm: OidcProvider, name: str, spelled
):
    address = await departs(open_for(auth_pool, realm), **{spelled(name): "evil"})

    assert "evil" not in address


@pytest.mark.parametrize("name", ["client_id", "client_secret", "redirect_uri", "response_type", "state",
    "code_verifier", "request", "request_uri", "apikey", "scopes", "invite%5Ftoken"])  # fmt: skip
async def test_reserved_parameters_are_not_passed_on_as_they_are_spelled(
    auth_pool: AuthPool, realm: OidcProvider, name: str
):
    auth_pool = open_for(auth_pool, realm)

    response = await auth_pool.send(
        "GET", f"/authorize?provider=keycloak&{name}=evil&{quote(name[0]) + name[1:]}=evil"
    )

    if "scopes" in name:
        assert "evil=" not in told(response, "location")
        assert "scopes" not in asked_of(told(response, "location"))
    else:
        assert "evil" not in told(response, "location")


async def test_our_own_parameters_are_not_passed_on(auth_pool: AuthPool, realm: OidcProvider):
    asked = asked_of(
        await departs(
            open_for(auth_pool, realm), redirect_to=SITE, apikey="key", skip_http_redirect="true",
            code_challenge=CHALLENGE, code_challenge_method="s256",
        )
    )  # fmt: skip

    assert set(asked) == {
        "client_id", "redirect_uri", "response_type", "state", "scope", "code_challenge", "code_challenge_method"
    }  # fmt: skip


async def test_the_challenge_towards_the_provider_is_ours_and_new_each_time(
    auth_pool: AuthPool, realm: OidcProvider
):
    auth_pool = open_for(auth_pool, realm)

    first = asked_of(await departs(auth_pool, code_challenge=CHALLENGE, code_challenge_method="s256"))
    second = asked_of(await departs(auth_pool))

    assert first["code_challenge_method"] == second["code_challenge_method"] == "S256"
    assert len({CHALLENGE, first["code_challenge"], second["code_challenge"]}) == 3


async def test_the_flow_names_the_provider_the_challenge_and_the_target(
    auth_pool: AuthPool, realm: OidcProvider
):
    auth_pool = open_for(auth_pool, realm, additional_redirect_urls=[APP])

    row = await row_of(
        auth_pool,
        await departs(auth_pool, redirect_to=APP, code_challenge=CHALLENGE, code_challenge_method="S256"),
    )

    assert (row["provider_type"], row["authentication_method"]) == ("keycloak", "oauth")
    assert (row["code_challenge"], row["code_challenge_method"]) == (CHALLENGE, "s256")
    assert (row["referrer"], row["user_id"], row["linking_target_id"]) == (APP, None, None)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", "Unsupported provider: "),
        ("provider=", "Unsupported provider: "),
        ("provider=nobody", "Unsupported provider: Provider nobody could not be found"),
        ("provider=github", "Unsupported provider: provider is not enabled"),
        ("provider=custom:nobody", "Unsupported provider: "),
        ("provider=email", "Unsupported provider: "),
        ("provider=__class__", "Unsupported provider: "),
    ],
)
async def test_unknown_and_disabled_providers_are_refused(
    auth_pool: AuthPool, realm: OidcProvider, query: str, words: str
):
    status, code, message = await open_for(auth_pool, realm).refused("GET", f"/authorize?{query}")

    assert (status, code) == (400, "validation_failed")
    assert message.startswith(words)


@pytest.mark.parametrize("pkce", [{"code_challenge": CHALLENGE}, {"code_challenge_method": "s256"}])
async def test_half_a_challenge_is_refused_and_not_ignored(
    auth_pool: AuthPool, realm: OidcProvider, pkce: dict[str, str]
):
    asked = urlencode({"provider": "keycloak", **pkce})
    refused = await open_for(auth_pool, realm).refused("GET", f"/authorize?{asked}")

    assert refused[:2] == (400, "validation_failed")


@pytest.mark.parametrize("token", ["x", "0" * 56, "pkce_" + "0" * 56, "\0", "é"])
async def test_an_invitation_that_is_none_is_refused(auth_pool: AuthPool, realm: OidcProvider, token: str):
    asked = urlencode({"provider": "keycloak", "invite_token": token})

    assert (await open_for(auth_pool, realm).refused("GET", f"/authorize?{asked}"))[0] in (400, 404)


async def test_an_unknown_invitation_is_told_as_an_unknown_user(auth_pool: AuthPool, realm: OidcProvider):
    refused = await open_for(auth_pool, realm).refused(
        "GET", f"/authorize?provider=keycloak&invite_token={'0' * 56}"
    )

    assert refused[:2] == (404, "user_not_found")


# Where it ends

OPEN = {"additional_redirect_urls": [APP, "https://*.preview.example.com/**", "myapp://done"]}


@pytest.mark.parametrize(
    "target", [APP, "https://a.preview.example.com/x/y?z=1", "myapp://done", f"{SITE}/deep"]
)
async def test_a_listed_target_is_where_it_ends(auth_pool: AuthPool, realm: OidcProvider, target: str):
    place = await goes(open_for(auth_pool, realm, **OPEN), redirect_to=target)

    assert place.address == target.partition("?")[0]
    assert "access_token" in place.fragment


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example",
        "//evil.example",
        f"{APP}@evil.example",
        f"{APP}\r\nSet-Cookie: a=b",
    ],
)
async def test_no_other_target_is_taken(auth_pool: AuthPool, realm: OidcProvider, target: str):
    """All spellings that a browser could read otherwise are in `model/redirects/test_allow_list.py`."""
    place = await goes(open_for(auth_pool, realm, **OPEN), redirect_to=target)

    assert place.address == SITE
    assert "access_token" in place.fragment


async def test_the_header_comes_first_then_the_query_then_the_page_before(
    auth_pool: AuthPool, realm: OidcProvider
):
    auth_pool = open_for(auth_pool, realm, additional_redirect_urls=["https://*.example.com"])
    in_header, in_query, page = (f"https://{name}.example.com" for name in ("header", "query", "page"))

    async def target(header: str, redirect_to: str) -> object:
        query = urlencode({"provider": "keycloak", "redirect_to": redirect_to})
        request = Request(
            "req-1", "GET", "/authorize", query, [("redirect_to", header), ("referer", page)], ANYBODY
        )
        response = await AuthWorker(auth_pool.context).answer(request, Inline(b""))  # type: ignore[arg-type]  # as Body is read
        return (await row_of(auth_pool, told(response, "location")))["referrer"]

    assert await target(in_header, in_query) == in_header
    assert await target("https://evil.example", in_query) == in_query
    assert await target("", "https://evil.example") == page


async def test_a_target_of_the_settings_stands_before_the_site(auth_pool: AuthPool, realm: OidcProvider):
    auth_pool = open_for(auth_pool, realm, redirect_url="https://landing.example.com/in")

    row = await row_of(auth_pool, await departs(auth_pool, redirect_to="https://evil.example"))

    assert row["referrer"] == "https://landing.example.com/in"


async def test_a_browser_gets_a_page_where_a_program_gets_json(auth_pool: AuthPool):
    path = "/authorize?provider=github"

    page = await auth_pool.send("GET", path, accept="text/html,application/xhtml+xml,*/*;q=0.8")
    answer = await auth_pool.send("GET", path, accept="*/*")

    assert (page.status, told(page, "content-type")) == (400, "text/html; charset=utf-8")
    assert b"<p>Unsupported provider: provider is not enabled</p>" in page.body
    assert told(answer, "content-type").startswith("application/json")
