"""What a provider is: three steps, and the values that they take and give. Providers live in `workers/auth/federation/providers/`.

    authorization_url   where the browser is sent                 Departure -> Destination
    exchange            what came back, for tokens                Arrival -> Grant
    user                the tokens, for the person behind them    Grant, fields of the callback -> ProviderUser

A provider holds its settings and the requests to other services (`accounts.outgoing`), and no more: what must be kept
between the steps is given back (`Destination.kept`) and comes again (`Arrival.kept`), sealed in the database meanwhile.
Who the person is here is decided by `workers/auth/accounts/users/linking.py`. Source: reference page "auth", sections 11 and 26; RFC
6749; RFC 7636; RFC 5849 for OAuth 1.0a.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


class ProviderFailed(Exception):
    """A provider refused, or gave what cannot be understood. `description` is shown to the user: it names no secret.

    `error` is the provider's own word for it (RFC 6749, 5.2), empty if it gave none.
    """

    def __init__(self, description: str, *, error: str = "") -> None:
        super().__init__(description)
        self.description, self.error = description, error


@dataclass(frozen=True, slots=True)
class ProviderEmail:
    """An address that a provider knows of a person. Who is verified has shown to the provider that it is his."""

    address: str
    is_verified: bool = False
    is_primary: bool = False


@dataclass(frozen=True, slots=True)
class ProviderUser:
    """A person as a provider describes him.

    `subject` is the provider's own id of him, which never changes and is given to nobody else. `claims` have the keys of
    reference section 11.4; `sub`, `email` and `email_verified` need not be among them, `linking` adds them. What is not
    known has no key.
    """

    subject: str
    emails: tuple[ProviderEmail, ...] = ()
    claims: Mapping[str, object] = field(default_factory=dict)

    @property
    def primary(self) -> ProviderEmail | None:
        """Give the address that an account here gets: a verified one if there is one, of those the primary one."""
        ranked = sorted(self.emails, key=lambda each: (not each.is_verified, not each.is_primary))
        return ranked[0] if ranked else None


@dataclass(frozen=True, slots=True)
class Departure:
    """A browser that is to be sent to a provider.

    `scopes` are wished for besides the usual ones of the provider. `extra_query` is passed on as it is: the reserved names
    of section 11.1 are taken out already. `code_challenge` (S256) is there if and only if the provider `uses_pkce`.
    """

    state: str = field(repr=False)
    redirect_uri: str
    scopes: tuple[str, ...] = ()
    extra_query: Mapping[str, str] = field(default_factory=dict)
    code_challenge: str | None = None


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a browser is sent. `kept` is a secret for the way back, as the token of an OAuth 1.0a request; else empty."""

    url: str
    kept: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A browser that came back without an error: the fields of the callback, and what was kept meanwhile.

    `fields` hold `code`, or `oauth_token` and `oauth_verifier` of OAuth 1.0a; the provider refuses if its own is missing.
    """

    fields: Mapping[str, str] = field(repr=False)
    redirect_uri: str
    code_verifier: str = field(default="", repr=False)
    """Empty unless the provider `uses_pkce`."""
    kept: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Grant:
    """What a provider gives for a code. `raw` is its whole answer, for providers that tell of the user there."""

    access_token: str = field(repr=False)
    refresh_token: str = field(default="", repr=False)
    expires_in: int | None = None
    id_token: str = field(default="", repr=False)
    raw: Mapping[str, object] = field(default_factory=dict, repr=False)


class Provider(Protocol):
    """One service whose users may sign in. Made anew for each request, by `providers.registry.find_provider`."""

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
        """Whether people without an e-mail address may sign in."""
        ...

    @property
    def issuer(self) -> str:
        """The issuer that an `iss` at the callback must equal (RFC 9207); empty if the provider has none, or several."""
        ...

    @property
    def redirect_uri(self) -> str:
        """The callback that the settings name for this provider; empty for the usual one."""
        ...

    async def authorization_url(self, departure: Departure) -> Destination:
        """Give where the browser goes. Raises: ProviderFailed."""
        ...

    async def exchange(self, arrival: Arrival) -> Grant:
        """Exchange what came back for tokens. Raises: ProviderFailed."""
        ...

    async def user(self, grant: Grant, callback_fields: Mapping[str, str]) -> ProviderUser:
        """Give the person behind the tokens. ID tokens are verified here: signature, issuer, audience, times.

        Raises: ProviderFailed.
        """
        ...
