"""Accounts taken before their owner comes: who signs up with the address of somebody else must not stay when the owner comes."""

import asyncio
import uuid
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from tests.attacks.browser import SITE, Browser, fields_of
from tests.attacks.client import Received, send
from tests.conformance import confirming
from tests.conformance.auth_post import email_to
from tests.platform import Platform, platform

CHOSEN = "chosen by the attacker"
OPEN = {
    "HEADWATER_AUTH_EMAIL_ENABLE_CONFIRMATIONS": "false",
    "HEADWATER_AUTH_EMAIL_SECURE_PASSWORD_CHANGE": "false",
    "HEADWATER_AUTH_SMS_ENABLE_CONFIRMATIONS": "false",
}


@pytest.fixture(scope="module")
def trusting() -> Iterator[Platform]:
    """A platform that confirms sign-ups at once, as the default is, with a provider beside it."""
    with (
        confirming.provider() as provider,
        platform(environment=confirming.settings(provider) | OPEN) as running,
    ):
        yield running


def auth(target: Platform, method: str, path: str, body: object = None, token: str = "") -> Received:
    return send(
        target, method, f"/auth/v1{path}", body, {"authorization": f"Bearer {token}"} if token else None
    )


def signed_up(target: Platform, email: str) -> dict[str, str]:
    """Sign up with somebody's address, and return the session."""
    answer = auth(target, "POST", "/signup", {"email": email, "password": CHOSEN})
    assert answer.status == 200, answer
    session: dict[str, str] = answer.json
    return session


def address() -> str:
    return f"owner-{uuid.uuid4().hex}@example.com"


def signs_in_by_provider(target: Platform, email: str) -> dict[str, str]:
    """Sign in by the provider, which has verified the address, and return the session."""
    query = urlencode({"provider": "keycloak", "login_hint": email, "redirect_to": SITE})
    return fields_of(Browser().follow(f"{target.url}/auth/v1/authorize?{query}"))


def remaining(target: Platform, email: str, session: dict[str, str]) -> list[str]:
    """Return the ways into an account that whoever signed up first still has."""
    ways = {
        "password": auth(target, "POST", "/token?grant_type=password", {"email": email, "password": CHOSEN}),
        "refresh": auth(
            target, "POST", "/token?grant_type=refresh_token", {"refresh_token": session["refresh_token"]}
        ),
        "token": auth(target, "GET", "/user", token=session["access_token"]),
    }
    return [name for name, answer in ways.items() if answer.status == 200]


def test_whoever_signed_up_first_is_gone_when_the_owner_comes_by_a_provider(trusting: Platform) -> None:
    email = address()
    attacker = signed_up(trusting, email)
    factor = auth(trusting, "POST", "/factors", {"factor_type": "totp"}, attacker["access_token"])
    assert factor.status == 200, factor

    owner = signs_in_by_provider(trusting, email)

    user = auth(trusting, "GET", "/user", token=owner["access_token"]).json
    assert user["id"] == attacker["user"]["id"]  # type: ignore[index]  # a session holds its user
    assert (user["email"], user["app_metadata"]["providers"], user.get("factors")) == (
        email,
        ["keycloak"],
        None,
    )
    assert remaining(trusting, email, attacker) == []


@pytest.mark.parametrize("way", ["otp", "magiclink", "recover"])
def test_whoever_signed_up_first_is_gone_when_the_owner_reads_a_code(trusting: Platform, way: str) -> None:
    email = address()
    attacker = signed_up(trusting, email)
    assert auth(trusting, "POST", f"/{way}", {"email": email}).status == 200
    code = asyncio.run(email_to(trusting, email)).code

    entered = auth(
        trusting,
        "POST",
        "/verify",
        {"type": "email" if way != "recover" else "recovery", "email": email, "token": code},
    )

    assert entered.status == 200, entered
    assert remaining(trusting, email, attacker) == []
    assert auth(trusting, "GET", "/user", token=entered.json["access_token"]).status == 200


def test_the_owner_keeps_everything_after_the_first_proof(trusting: Platform) -> None:
    email = address()
    signed_up(trusting, email)
    owner = signs_in_by_provider(trusting, email)
    assert (
        auth(trusting, "PUT", "/user", {"password": "the owner's own"}, owner["access_token"]).status == 200
    )
    kept = auth(
        trusting, "POST", "/token?grant_type=password", {"email": email, "password": "the owner's own"}
    ).json

    signs_in_by_provider(trusting, email)
    assert auth(trusting, "POST", "/magiclink", {"email": email}).status == 200
    code = asyncio.run(email_to(trusting, email)).code
    assert (
        auth(trusting, "POST", "/verify", {"type": "magiclink", "email": email, "token": code}).status == 200
    )

    assert auth(trusting, "GET", "/user", token=kept["access_token"]).status == 200
    again = auth(
        trusting, "POST", "/token?grant_type=password", {"email": email, "password": "the owner's own"}
    )
    assert again.status == 200


def test_whoever_signed_up_with_a_number_first_is_gone_when_the_owner_reads_a_code(
    trusting: Platform,
) -> None:
    phone = f"+4917{uuid.uuid4().int % 10**9:09d}"
    attacker = auth(trusting, "POST", "/signup", {"phone": phone, "password": CHOSEN}).json
    assert auth(trusting, "POST", "/otp", {"phone": phone}).status == 200
    code = asyncio.run(email_to(trusting, f"{phone.removeprefix('+')}@sms.localhost")).code

    entered = auth(trusting, "POST", "/verify", {"type": "sms", "phone": phone, "token": code})

    assert entered.status == 200, entered
    again = auth(trusting, "POST", "/token?grant_type=password", {"phone": phone, "password": CHOSEN})
    assert again.status == 400
    assert auth(trusting, "GET", "/user", token=attacker["access_token"]).status == 403


def back_from_provider(target: Platform, browser: Browser, email: str) -> str:
    """Sign in at the provider, and return the address that leads back, not opened."""
    query = urlencode({"provider": "keycloak", "login_hint": email, "redirect_to": SITE})
    callback = f"{target.url}/auth/v1/callback"
    return browser.follow(f"{target.url}/auth/v1/authorize?{query}", stop=callback)


def test_a_sign_in_that_was_begun_elsewhere_does_not_end_in_the_victim_s_browser(trusting: Platform) -> None:
    attacker, victim = Browser(), Browser()
    back = back_from_provider(trusting, attacker, address())
    back_from_provider(trusting, victim, address())  # the victim has a sign-in of its own under way

    for browser in (Browser(), victim):
        landed = fields_of(browser.open(back).headers["location"])
        assert (landed.get("error_code"), "access_token" in landed) == ("bad_oauth_state", False)
    assert "access_token" in fields_of(attacker.open(back).headers["location"])


def test_an_identity_is_linked_in_the_browser_that_opened_the_address_alone(trusting: Platform) -> None:
    session = signed_up(trusting, address())
    query = urlencode({"provider": "keycloak", "skip_http_redirect": "true", "login_hint": address()})
    answer = auth(trusting, "GET", f"/user/identities/authorize?{query}", token=session["access_token"])
    attacker = Browser()
    back = attacker.follow(answer.json["url"], stop=f"{trusting.url}/auth/v1/callback")

    landed = fields_of(Browser().open(back).headers["location"])
    again = Browser().open(answer.json["url"])

    assert (landed.get("error_code"), "access_token" in landed) == ("bad_oauth_state", False)
    assert (again.status, again.json["error_code"]) == (400, "bad_oauth_state")
    assert "access_token" in fields_of(attacker.open(back).headers["location"])


@pytest.mark.parametrize(
    "uri",
    [
        "ms-settings:privacy",
        "search-ms:query=x",
        "ldap://evil.example/",
        "intent://x#Intent;end",
        "intent:x",
        "myapp:/x",
    ],
)
def test_a_client_that_registers_itself_has_no_scheme_of_the_system(trusting: Platform, uri: str) -> None:
    body = {"redirect_uris": [uri], "client_name": "helper", "token_endpoint_auth_method": "none"}

    answer = auth(trusting, "POST", "/oauth/clients/register", body)

    assert (answer.status, answer.json["error"]) == (400, "invalid_redirect_uri")


@pytest.mark.parametrize(
    "uri", ["com.example.app:/in", "http://127.0.0.1:5000/in", "https://client.example/in"]
)
def test_a_client_that_registers_itself_may_be_an_application(trusting: Platform, uri: str) -> None:
    body = {"redirect_uris": [uri], "client_name": "helper", "token_endpoint_auth_method": "none"}

    assert auth(trusting, "POST", "/oauth/clients/register", body).status == 201
