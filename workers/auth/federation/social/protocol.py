"""The interface of a provider: three steps, and the values between them. Providers live in `federation/providers/`.

    authorization_url   where the browser is sent                   AuthorizationRequest -> AuthorizationRedirect
    exchange            the code that comes back, for tokens        AuthorizationResponse -> TokenResponse
    user                the tokens, for the user behind them        TokenResponse, fields of the callback -> ProviderUser

A provider object holds its settings and the client for outgoing requests, and no state between the steps: a secret for the
way back (`AuthorizationRedirect.secret`) is sealed in the database and comes again in `AuthorizationResponse.secret`.
Which account such a user gets is decided by `decision.py`.
Source: docs/reference/auth.md, sections 11 and 26; RFC 6749; RFC 7636; RFC 5849 for OAuth 1.0a.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

RESERVED_PARAMETERS = frozenset({
    "client_id", "client_secret", "redirect_uri", "response_type", "state", "code_challenge", "code_challenge_method",
    "code_verifier", "request", "request_uri",
})  # fmt: skip
"""Parameters of an authorization request that only we set; the comparison ignores upper and lower case. The last two could replace all others."""


class ProviderError(Exception):
    """A provider rejected a request, or its answer cannot be read. `description` is shown to the user and holds no secret.

    `error` is the provider's own error code (RFC 6749, 5.2), empty if it gave none.
    """

    def __init__(self, description: str, *, error: str = "") -> None:
        super().__init__(description)
        self.description, self.error = description, error


@dataclass(frozen=True, slots=True)
class ProviderEmail:
    """An email address of a user at a provider. Verified: the user has proven to the provider that it is his."""

    address: str
    is_verified: bool = False
    is_primary: bool = False


@dataclass(frozen=True, slots=True)
class ProviderUser:
    """A user as a provider describes him.

    `subject` is the provider's id of him: it never changes, and no other user ever gets it. `claims` have the keys of
    docs/reference/auth.md, section 11.4; `sub`, `email` and `email_verified` may be missing, the sign-in adds them. Unknown
    values have no key.
    """

    subject: str
    emails: tuple[ProviderEmail, ...] = ()
    claims: Mapping[str, object] = field(default_factory=dict)

    @property
    def primary(self) -> ProviderEmail | None:
        """Return the address for a new account: verified addresses first, the primary one first among equals."""
        ranked = sorted(self.emails, key=lambda email: (not email.is_verified, not email.is_primary))
        return ranked[0] if ranked else None


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """The request that a browser takes to a provider (RFC 6749, 4.1.1).

    `scopes` come on top of the provider's default ones. `extra_query` is passed on unchanged, without RESERVED_PARAMETERS.
    `code_challenge` (S256) is set if and only if the provider `uses_pkce`.
    """

    state: str = field(repr=False)
    redirect_uri: str
    scopes: tuple[str, ...] = ()
    extra_query: Mapping[str, str] = field(default_factory=dict)
    code_challenge: str | None = None


@dataclass(frozen=True, slots=True)
class AuthorizationRedirect:
    """The URL that a browser is sent to, and a secret for the way back: the request token of OAuth 1.0a, else empty."""

    url: str
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class AuthorizationResponse:
    """A callback without an error (RFC 6749, 4.1.2): its fields, and what was stored since the request.

    `fields` hold `code`, or `oauth_token` and `oauth_verifier` of OAuth 1.0a; the provider raises if its own are missing.
    """

    fields: Mapping[str, str] = field(repr=False)
    redirect_uri: str
    code_verifier: str = field(default="", repr=False)
    """Empty unless the provider `uses_pkce`."""
    secret: str = field(default="", repr=False)
    """`AuthorizationRedirect.secret`."""


@dataclass(frozen=True, slots=True)
class ProviderTokenResponse:
    """The answer of a token endpoint (RFC 6749, 5.1). `raw` is all of it, for providers that describe the user there."""

    access_token: str = field(repr=False)
    refresh_token: str = field(default="", repr=False)
    expires_in: int | None = None
    id_token: str = field(default="", repr=False)
    raw: Mapping[str, object] = field(default_factory=dict, repr=False)


class SocialProvider(Protocol):
    """One service whose users may sign in. `providers.registry.find_provider` makes a new one for each request."""

    @property
    def name(self) -> str:
        """The name in requests and identities: `github`, `custom:acme`."""
        ...

    @property
    def uses_pkce(self) -> bool:
        """Whether the provider takes a code challenge (S256)."""
        ...

    @property
    def is_email_optional(self) -> bool:
        """Whether users without an email address may sign in."""
        ...

    @property
    def issuer(self) -> str:
        """The issuer that an `iss` in the callback must equal (RFC 9207); empty if there is not exactly one."""
        ...

    @property
    def redirect_uri(self) -> str:
        """The callback that the settings name for this provider; empty for the default one."""
        ...

    async def authorization_url(self, request: AuthorizationRequest) -> AuthorizationRedirect:
        """Return where the browser goes. Raises: ProviderError."""
        ...

    async def exchange(self, response: AuthorizationResponse) -> ProviderTokenResponse:
        """Exchange the code of a callback for tokens. Raises: ProviderError."""
        ...

    async def user(self, tokens: ProviderTokenResponse, callback_fields: Mapping[str, str]) -> ProviderUser:
        """Return the user behind the tokens. ID tokens are verified here: signature, issuer, audience, times.

        Raises: ProviderError.
        """
        ...
