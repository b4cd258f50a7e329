"""OAuth 2.0 with one provider: the address that a browser is sent to, and the exchange of the code that comes back.

What differs between services are values of `OAuth2`; only `read`, which finds the person behind the tokens, is code of
each. Source: reference page "auth", sections 11.1 and 26; RFC 6749, 2.3.1, 4.1 and 5; RFC 7636, 4.
"""

import base64
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeAlias
from urllib.parse import quote_plus, urlencode

from schemas.numbers import parse_whole_number
from workers.auth.federation.providers.client import Client, read_object, told
from workers.auth.federation.providers.oidc import Signer, id_token_claims, signer_of
from workers.auth.federation.providers.profile import Document, member, text
from workers.auth.federation.social.protocol import (
    Arrival,
    Departure,
    Destination,
    Grant,
    ProviderFailed,
    ProviderUser,
)

_LONGEST_GRANT_S = 2**31 - 1

Fields: TypeAlias = Mapping[str, str]
Reader: TypeAlias = Callable[["OAuth2", Grant, Fields], Awaitable[ProviderUser]]


class Login(Enum):
    """How we say to a token endpoint who we are."""

    BODY = auto()
    """Fields of the form."""
    BASIC = auto()
    """The `Authorization` header."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where a service answers; `user` and `emails` tell of the person."""

    authorize: str = ""
    token: str = ""
    user: str = ""
    emails: str = ""


@dataclass(frozen=True, slots=True)
class OAuth2:
    """One service: a `Provider`."""

    client: Client
    read: Reader
    endpoints: Endpoints = Endpoints()
    """Those that are empty are read from the discovery document of the first signer."""
    scopes: tuple[str, ...] = ()
    uses_pkce: bool = False
    login: Login = Login.BODY
    issuer: str = ""
    signers: tuple[Signer, ...] = ()
    """Who signs its ID tokens; none where it gives none."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """What stands in every address that a browser is sent to."""
    needs_one_of: tuple[str, ...] = ()
    """Parameters of which a client must give one."""
    takes_scopes: bool = True
    """Whether a client may ask for more scopes."""

    @property
    def name(self) -> str:
        """The name in requests and identities."""
        return self.client.name

    @property
    def is_email_optional(self) -> bool:
        """Whether people without an e-mail address may sign in."""
        return self.client.is_email_optional

    @property
    def redirect_uri(self) -> str:
        """The callback that the settings name for this provider; empty for the usual one."""
        return self.client.redirect_uri

    async def authorization_url(self, departure: Departure) -> Destination:
        """Give where the browser goes. Raises: ProviderFailed."""
        if self.needs_one_of and not any(departure.extra_query.get(name) for name in self.needs_one_of):
            raise ProviderFailed(f"{self.name} needs one of these parameters: {', '.join(self.needs_one_of)}")
        endpoints = await self.resolved()
        own = {
            "response_type": "code",
            "client_id": self.client.id,
            "redirect_uri": departure.redirect_uri,
            "state": departure.state,
        }
        wished = departure.scopes if self.takes_scopes else ()
        if scope := " ".join(dict.fromkeys((*self.scopes, *wished))):
            own["scope"] = scope
        if departure.code_challenge is not None:
            own |= {"code_challenge": departure.code_challenge, "code_challenge_method": "S256"}
        query = urlencode({**departure.extra_query, **self.parameters, **own})
        return Destination(f"{endpoints.authorize}{'&' if '?' in endpoints.authorize else '?'}{query}")

    async def exchange(self, arrival: Arrival) -> Grant:
        """Exchange a code for tokens. Raises: ProviderFailed."""
        code = arrival.fields.get("code", "")
        if not code:
            raise ProviderFailed("Unable to exchange external code: there is none")
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": arrival.redirect_uri}
        if arrival.code_verifier:
            form["code_verifier"] = arrival.code_verifier
        headers = {}
        secret = self.client.secret.reveal()
        if self.login is Login.BASIC and secret:
            headers["authorization"] = _basic(self.client.id, secret)
        else:
            form |= {"client_id": self.client.id, **({"client_secret": secret} if secret else {})}
        endpoints = await self.resolved()
        answered = await self.client.fetch("POST", endpoints.token, headers=headers, form=form)
        return read_grant(read_object(answered, of="tokens"))

    async def user(self, grant: Grant, callback_fields: Fields) -> ProviderUser:
        """Give the person behind the tokens. Raises: ProviderFailed."""
        return await self.read(self, grant, callback_fields)

    async def resolved(self) -> Endpoints:
        """Give the addresses, those that are published among them. Raises: ProviderFailed."""
        given = self.endpoints
        if (given.authorize and given.token) or not self.signers:
            return given
        found = await self.signers[0].metadata(self.client)
        return Endpoints(
            given.authorize or text(found, "authorization_endpoint"),
            given.token or text(found, "token_endpoint"),
            given.user or text(found, "userinfo_endpoint"),
            given.emails,
        )

    async def id_claims(self, id_token: str, access_token: str = "") -> Document:
        """Verify an ID token of this provider for one of our client ids, and give its claims. Raises: ProviderFailed."""
        if not id_token or not self.signers:
            raise ProviderFailed("Error getting user profile from external provider: it gave no ID token")
        signer = signer_of(id_token, self.signers)
        return await id_token_claims(self.client, id_token, signer, access_token=access_token)


def read_grant(answered: Document) -> Grant:
    """Read the answer of a token endpoint. Raises: ProviderFailed, also for errors that come with status 200."""
    token = text(answered, "access_token")
    if member(answered, "error") or not token:
        error, words = told(answered)
        reason = words or error or "the answer has no access token"
        raise ProviderFailed(f"Unable to exchange external code: {reason}", error=error)
    return Grant(
        access_token=token,
        refresh_token=text(answered, "refresh_token"),
        expires_in=parse_whole_number(text(answered, "expires_in"), most=_LONGEST_GRANT_S),
        id_token=text(answered, "id_token"),
        raw=answered,
    )


def _basic(name: str, secret: str) -> str:
    pair = f"{quote_plus(name)}:{quote_plus(secret)}".encode()
    return f"Basic {base64.b64encode(pair).decode()}"
