"""OAuth 2.0 with one provider: the authorization URL for the browser, and the exchange of the code that comes back.

Providers differ in the values of `OAuth2`; only `read`, which fetches the user's profile, is a function of each provider. Source: docs/reference/auth.md, sections 11.1 and 26; RFC 6749, 2.3.1, 4.1 and 5; RFC 7636, 4.
"""

import base64
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeAlias
from urllib.parse import quote_plus, urlencode

from schemas.numbers import parse_whole_number
from workers.auth.federation.providers.client import ProviderClient, error_and_description, read_object
from workers.auth.federation.providers.oidc import IdTokenSigner, id_token_claims, signer_of
from workers.auth.federation.providers.profile import Document, member, text
from workers.auth.federation.social.protocol import (
    AuthorizationRedirect,
    AuthorizationRequest,
    AuthorizationResponse,
    ProviderError,
    ProviderTokenResponse,
    ProviderUser,
)

_LONGEST_GRANT_S = 2**31 - 1

Fields: TypeAlias = Mapping[str, str]
Reader: TypeAlias = Callable[["OAuth2", ProviderTokenResponse, Fields], Awaitable[ProviderUser]]


class ClientAuthentication(Enum):
    """How we authenticate at a token endpoint (RFC 6749, 2.3.1)."""

    BODY = auto()
    """Fields of the form."""
    BASIC = auto()
    """The `Authorization` header."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The URLs of a service; `user` and `emails` describe the user."""

    authorize: str = ""
    token: str = ""
    user: str = ""
    emails: str = ""


@dataclass(frozen=True, slots=True)
class OAuth2:
    """One service: a `Provider`."""

    client: ProviderClient
    read: Reader
    endpoints: Endpoints = Endpoints()
    """Empty ones are read from the discovery document of the first signer."""
    scopes: tuple[str, ...] = ()
    uses_pkce: bool = False
    login: ClientAuthentication = ClientAuthentication.BODY
    issuer: str = ""
    signers: tuple[IdTokenSigner, ...] = ()
    """The signers of its ID tokens; empty without ID tokens."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Parameters of every authorization URL."""
    needs_one_of: tuple[str, ...] = ()
    """Parameters of which the application must set one."""
    takes_scopes: bool = True
    """Whether an application may request more scopes."""

    @property
    def name(self) -> str:
        """The name in requests and identities."""
        return self.client.name

    @property
    def is_email_optional(self) -> bool:
        """Whether users without an email address may sign in."""
        return self.client.is_email_optional

    @property
    def redirect_uri(self) -> str:
        """The callback that the settings name for this provider; empty for the default one."""
        return self.client.redirect_uri

    async def authorization_url(self, request: AuthorizationRequest) -> AuthorizationRedirect:
        """Return the authorization URL. Raises: ProviderError."""
        if self.needs_one_of and not any(request.extra_query.get(name) for name in self.needs_one_of):
            raise ProviderError(f"{self.name} needs one of these parameters: {', '.join(self.needs_one_of)}")
        endpoints = await self.resolved()
        parameters = {
            "response_type": "code",
            "client_id": self.client.id,
            "redirect_uri": request.redirect_uri,
            "state": request.state,
        }
        wished = request.scopes if self.takes_scopes else ()
        if scope := " ".join(dict.fromkeys((*self.scopes, *wished))):
            parameters["scope"] = scope
        if request.code_challenge is not None:
            parameters |= {"code_challenge": request.code_challenge, "code_challenge_method": "S256"}
        query = urlencode({**request.extra_query, **self.parameters, **parameters})
        return AuthorizationRedirect(
            f"{endpoints.authorize}{'&' if '?' in endpoints.authorize else '?'}{query}"
        )

    async def exchange(self, response: AuthorizationResponse) -> ProviderTokenResponse:
        """Exchange a code for tokens. Raises: ProviderError."""
        code = response.fields.get("code", "")
        if not code:
            raise ProviderError("Unable to exchange external code: there is none")
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": response.redirect_uri}
        if response.code_verifier:
            form["code_verifier"] = response.code_verifier
        headers = {}
        secret = self.client.secret.reveal()
        if self.login is ClientAuthentication.BASIC and secret:
            headers["authorization"] = _basic(self.client.id, secret)
        else:
            form |= {"client_id": self.client.id, **({"client_secret": secret} if secret else {})}
        endpoints = await self.resolved()
        answer = await self.client.fetch("POST", endpoints.token, headers=headers, form=form)
        return read_grant(read_object(answer, of="tokens"))

    async def user(self, tokens: ProviderTokenResponse, callback_fields: Fields) -> ProviderUser:
        """Return the user behind the tokens. Raises: ProviderError."""
        return await self.read(self, tokens, callback_fields)

    async def resolved(self) -> Endpoints:
        """Return the endpoints, completed from the discovery document. Raises: ProviderError."""
        configured = self.endpoints
        if (configured.authorize and configured.token) or not self.signers:
            return configured
        metadata = await self.signers[0].metadata(self.client)
        return Endpoints(
            configured.authorize or text(metadata, "authorization_endpoint"),
            configured.token or text(metadata, "token_endpoint"),
            configured.user or text(metadata, "userinfo_endpoint"),
            configured.emails,
        )

    async def id_claims(self, id_token: str, access_token: str = "") -> Document:
        """Verify an ID token of this provider for one of our client ids, and return its claims. Raises: ProviderError."""
        if not id_token or not self.signers:
            raise ProviderError("Error getting user profile from external provider: it gave no ID token")
        signer = signer_of(id_token, self.signers)
        return await id_token_claims(self.client, id_token, signer, access_token=access_token)


def read_grant(answer: Document) -> ProviderTokenResponse:
    """Parse the answer of a token endpoint. Raises: ProviderError, also for an error with status 200."""
    token = text(answer, "access_token")
    if member(answer, "error") or not token:
        error, words = error_and_description(answer)
        reason = words or error or "the answer has no access token"
        raise ProviderError(f"Unable to exchange external code: {reason}", error=error)
    return ProviderTokenResponse(
        access_token=token,
        refresh_token=text(answer, "refresh_token"),
        expires_in=parse_whole_number(text(answer, "expires_in"), most=_LONGEST_GRANT_S),
        id_token=text(answer, "id_token"),
        raw=answer,
    )


def _basic(name: str, secret: str) -> str:
    pair = f"{quote_plus(name)}:{quote_plus(secret)}".encode()
    return f"Basic {base64.b64encode(pair).decode()}"
