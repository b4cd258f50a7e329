"""A browser that signs in by a provider: it follows the redirects between the pool auth and the provider, step by step."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import aiohttp

from schemas.caller import Caller
from schemas.http import Response
from schemas.keys.secret import Secret
from schemas.settings.auth_providers import ProviderSettings as Settings
from tests.workers.auth.auth_pool import AuthPool, SignedInUser, told
from tests.workers.auth.oidc_provider import CLIENT_ID, CLIENT_SECRET, OidcProvider

SITE = "http://127.0.0.1:3000"
EXTERNAL = "https://api.example.com/auth/v1"
VERIFIER = "v" * 50
FORM = "application/x-www-form-urlencoded"


def open_for(auth_pool: AuthPool, provider: OidcProvider, **changes: object) -> AuthPool:
    """Return the pool with the provider as its `keycloak`."""
    settings = Settings(
        enabled=True, client_id=CLIENT_ID, secret=Secret(CLIENT_SECRET), url=provider.url,
        email_optional=bool(changes.pop("email_optional", False)),
    )  # fmt: skip
    usual = {"external__keycloak": settings, "external_url": EXTERNAL, "enable_manual_linking": True}
    return auth_pool.having(**usual, **changes)


@dataclass(frozen=True)
class Landed:
    """Where a browser ended: the address without query and fragment, and the fields of both."""

    status: int
    address: str
    query: dict[str, str]
    fragment: dict[str, str]

    @property
    def error(self) -> tuple[str, str, str]:
        """What it says went wrong: the same in the query and in the fragment."""
        names = ("error", "error_code", "error_description")
        assert self.fragment.get("sb") == ""
        assert [self.query.get(name) for name in names] == [self.fragment.get(name) for name in names]
        return self.query["error"], self.query.get("error_code", ""), self.query["error_description"]


def landed(response: Response) -> Landed:
    """Read a redirect."""
    assert response.status in (302, 303), response
    assert told(response, "cache-control") == "no-store"
    parts = urlsplit(told(response, "location"))
    address = parts._replace(query="", fragment="").geturl()
    query, fragment = (
        dict(parse_qsl(text, keep_blank_values=True)) for text in (parts.query, parts.fragment)
    )
    return Landed(response.status, address, query, fragment)


async def departs(auth_pool: AuthPool, **query: str) -> str:
    """Ask for a sign-in and give the provider's address."""
    response = await auth_pool.send("GET", "/authorize?" + urlencode({"provider": "keycloak", **query}))
    assert response.status == 302, response
    return told(response, "location")


async def visits(address: str) -> str:
    """Go to the provider and give the query, or form, with which it sends the browser back."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(address, allow_redirects=False) as response,
    ):
        if response.status == 200:
            return await response.text()
        assert response.status == 302, await response.text()
        back = urlsplit(response.headers["location"])
        assert back._replace(query="").geturl() == f"{EXTERNAL}/callback"
        return back.query


async def returns(auth_pool: AuthPool, query: str) -> Landed:
    """Come back from the provider."""
    return landed(await auth_pool.send("GET", f"/callback?{query}"))


async def goes(auth_pool: AuthPool, **query: str) -> Landed:
    """Sign in by the provider, all the way."""
    return await returns(auth_pool, await visits(await departs(auth_pool, **query)))


async def enters(auth_pool: AuthPool, **query: str) -> SignedInUser:
    """Sign in by the provider, all the way, with success."""
    return signed(auth_pool, await goes(auth_pool, **query))


def signed(auth_pool: AuthPool, place: Landed) -> SignedInUser:
    """Read the session of an implicit flow as a client does: the token says who it is."""
    assert "access_token" in place.fragment, place
    body: dict[str, Any] = dict(place.fragment)
    made = auth_pool.signed({**body, "user": {}})
    claims = made.caller.decoded()  # type: ignore[union-attr]  # fails the test if the token was refused
    user = {"id": claims["sub"], "email": claims["email"]}
    return SignedInUser({**body, "user": user}, made.caller)


async def user_of(auth_pool: AuthPool, who: Caller | SignedInUser) -> dict[str, Any]:
    """Return the account of somebody who is signed in."""
    found: dict[str, Any] = await auth_pool.ok(
        "GET", "/user", caller=who.caller if isinstance(who, SignedInUser) else who
    )
    return found


async def links(auth_pool: AuthPool, who: SignedInUser, **query: str) -> Landed:
    """Link the provider's identity to an account, all the way."""
    asked = urlencode({"provider": "keycloak", "skip_http_redirect": "true", **query})
    address = (await auth_pool.ok("GET", f"/user/identities/authorize?{asked}", caller=who.caller))["url"]
    return await returns(auth_pool, await visits(await auth_pool.go_on(address)))


def state_of(address: str) -> str:
    """Return the state in an address or a query."""
    return dict(parse_qsl(address.partition("?")[2] or address))["state"]
