"""Twitter's three steps of OAuth 1.0a, with a stand-in that checks every signature."""

import re
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import pytest
from aiohttp import web
from authlib.oauth1.rfc5849.signature import construct_base_string, hmac_sha1_signature

from tests.workers.auth.auth_pool import told
from tests.workers.auth.federation.providers.conftest import Abroad
from tests.workers.auth.federation.providers.stand_ins import CALLBACK, CLIENT, SECRET, ReceivedRequest
from workers.auth.federation.social.protocol import (
    AuthorizationRedirect,
    AuthorizationRequest,
    AuthorizationResponse,
    ProviderError,
    SocialProvider,
)

API = "https://api.twitter.com"
SECRETS = {"": "", "request-1": "request-secret", "access-1": "access-secret"}
USER = {
    "id": 6253282, "id_str": "6253282", "name": "Ada Lovelace", "screen_name": "ada", "email": "ada@example.com",
    "profile_image_url_https": "https://pbs.twimg.com/ada_normal.png",
}  # fmt: skip


def is_signed(seen: ReceivedRequest, **wanted: str) -> bool:
    """Check a request as Twitter does: its parameters, and the signature over all of them."""
    told = dict(re.findall(r'(\w+)="([^"]*)"', seen.headers.get("authorization", "")))
    given = {name: unquote(value) for name, value in told.items()}
    made = given.pop("oauth_signature", "")
    base = construct_base_string(seen.method, seen.url, [*given.items(), *seen.query.items()])
    expected = hmac_sha1_signature(base, SECRET, SECRETS.get(given.get("oauth_token", ""), "?"))
    return made == expected and given["oauth_consumer_key"] == CLIENT and wanted.items() <= given.items()


def form(**fields: str) -> web.Response:
    return web.Response(text=urlencode(fields), content_type="text/html")


REFUSED = {"errors": [{"code": 32, "message": "Could not authenticate you."}]}


@pytest.fixture
async def twitter(abroad: Abroad) -> SocialProvider:
    def answer(made: Any, **wanted: str) -> Any:
        return lambda seen: made() if is_signed(seen, **wanted) else web.json_response(REFUSED, status=401)

    back = f"{CALLBACK}?state=state-1"
    asked: dict[tuple[str, str], Any] = {
        ("POST", f"{API}/oauth/request_token"): answer(
            lambda: form(
                oauth_token="request-1", oauth_token_secret="request-secret", oauth_callback_confirmed="true"
            ),
            oauth_callback=back,
        ),
        ("POST", f"{API}/oauth/access_token"): answer(
            lambda: form(
                oauth_token="access-1", oauth_token_secret="access-secret", user_id="1", screen_name="ada"
            ),
            oauth_token="request-1",
            oauth_verifier="verifier-1",
        ),
        ("GET", f"{API}/1.1/account/verify_credentials.json"): answer(lambda: USER, oauth_token="access-1"),
    }
    abroad.network.answers |= asked
    return await abroad.with_provider("twitter").provider("twitter")


async def leave(twitter: SocialProvider) -> AuthorizationRedirect:
    return await twitter.authorization_url(
        AuthorizationRequest("state-1", CALLBACK, extra_query={"lang": "en"})
    )


async def test_a_sign_in_leads_from_the_browser_to_the_person(twitter: SocialProvider):
    destination = await leave(twitter)
    arrival = AuthorizationResponse(
        {"oauth_token": "request-1", "oauth_verifier": "verifier-1"}, CALLBACK, secret=destination.secret
    )
    grant = await twitter.exchange(arrival)
    person = await twitter.user(grant, {})

    parts = urlsplit(destination.url)
    assert parts._replace(query="").geturl() == f"{API}/oauth/authenticate"
    assert dict(parse_qsl(parts.query)) == {"oauth_token": "request-1", "lang": "en"}
    assert (grant.access_token, grant.refresh_token) == ("access-1", "")
    assert person.subject == "6253282"
    assert [(each.address, each.is_verified) for each in person.emails] == [("ada@example.com", True)]
    assert dict(person.claims) == {
        "iss": f"{API}/1.1/account/verify_credentials.json",
        "name": "Ada Lovelace",
        "preferred_username": "ada",
        "picture": "https://pbs.twimg.com/ada_normal.png",
        "full_name": "Ada Lovelace",
        "avatar_url": "https://pbs.twimg.com/ada_normal.png",
        "user_name": "ada",
        "provider_id": "6253282",
    }


async def test_the_secret_of_the_request_token_is_kept_out_of_sight(twitter: SocialProvider):
    destination = await leave(twitter)

    assert "request-secret" in destination.secret
    assert "request-secret" not in destination.url + repr(destination)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"oauth_token": "request-1"},
        {"oauth_verifier": "verifier-1"},
        {"oauth_token": "another", "oauth_verifier": "verifier-1"},
        {"denied": "request-1"},
    ],
)
async def test_a_callback_of_another_request_is_refused(twitter: SocialProvider, fields: dict[str, str]):
    kept = (await leave(twitter)).secret

    with pytest.raises(ProviderError):
        await twitter.exchange(AuthorizationResponse(fields, CALLBACK, secret=kept))


async def test_a_callback_with_nothing_kept_is_refused(twitter: SocialProvider):
    with pytest.raises(ProviderError):
        await twitter.exchange(
            AuthorizationResponse({"oauth_token": "", "oauth_verifier": "verifier-1"}, CALLBACK)
        )


async def test_a_refusal_is_told(twitter: SocialProvider):
    kept = (await leave(twitter)).secret

    with pytest.raises(ProviderError, match="status 401"):
        await twitter.exchange(
            AuthorizationResponse(
                {"oauth_token": "request-1", "oauth_verifier": "forged"}, CALLBACK, secret=kept
            )
        )


async def test_a_callback_that_twitter_does_not_take_is_refused(abroad: Abroad, twitter: SocialProvider):
    abroad.network.answers["POST", f"{API}/oauth/request_token"] = form(
        oauth_token="a", oauth_token_secret="b"
    )

    with pytest.raises(ProviderError, match="callback"):
        await leave(twitter)


async def test_a_browser_goes_all_the_way(abroad: Abroad, twitter: SocialProvider):
    """The secret of the request token waits in the database meanwhile, sealed."""
    del twitter
    network = abroad.network
    network.answers["POST", f"{API}/oauth/request_token"] = lambda seen: (
        form(oauth_token="request-1", oauth_token_secret="request-secret", oauth_callback_confirmed="true")
        if is_signed(seen)
        else web.json_response(REFUSED, status=401)
    )
    auth_pool = abroad.having(external_url="http://127.0.0.1:8000/auth/v1").with_provider("twitter").auth_pool

    left = await auth_pool.send("GET", "/authorize?provider=twitter")
    (asked,) = network.asked(f"{API}/oauth/request_token")
    header = unquote(unquote(asked.headers["authorization"]))
    state = re.search(r"callback\?state=([0-9a-f-]{36})", header)
    assert state is not None
    kept = await auth_pool.value("select string_agg(code_verifier, ' ') from auth.oauth_client_states")
    back = await auth_pool.send(
        "GET", f"/callback?state={state[1]}&oauth_token=request-1&oauth_verifier=verifier-1"
    )

    assert told(left, "location") == f"{API}/oauth/authenticate?oauth_token=request-1"
    assert "request-secret" not in kept
    assert "provider_token=access-1" in told(back, "location")
