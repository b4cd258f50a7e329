"""Rows of auth as values: the JSON that `users.sql`, `sessions.sql` and `flow_state.sql` return, decoded.

Columns that no code reads are left out. Times have a time zone. Source: docs/reference/auth.md, section 24.
"""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID, uuid4

from msgspec import Struct

from schemas.keys.secret_record import SecretRecord
from workers.auth.model import claims
from workers.auth.model.claims import MethodUse

Metadata = dict[str, object]


class UserIdentity(Struct, frozen=True):
    """One way in which a user signs in: the account at a provider, or an address."""

    id: UUID
    user_id: UUID
    provider: str
    provider_id: str
    identity_data: Metadata
    email: str | None = None
    last_sign_in_at: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


class Factor(Struct, frozen=True):
    """A second factor of a user, without its secret."""

    id: UUID
    factor_type: str
    status: str
    created_at: datetime
    updated_at: datetime
    friendly_name: str | None = None
    phone: str | None = None
    last_challenged_at: datetime | None = None
    web_authn_aaguid: UUID | None = None
    last_webauthn_challenge_data: object = None


class AuthUser(SecretRecord, Struct, frozen=True):
    """A user with identities and factors. Rows that the project inserted by SQL may lack almost everything."""

    id: UUID
    aud: str | None = None
    role: str | None = None
    email: str | None = None
    phone: str | None = None
    encrypted_password: str | None = None
    email_confirmed_at: datetime | None = None
    phone_confirmed_at: datetime | None = None
    confirmed_at: datetime | None = None
    invited_at: datetime | None = None
    confirmation_sent_at: datetime | None = None
    recovery_sent_at: datetime | None = None
    email_change: str | None = None
    email_change_confirm_status: int | None = None
    email_change_sent_at: datetime | None = None
    phone_change: str | None = None
    phone_change_sent_at: datetime | None = None
    reauthentication_sent_at: datetime | None = None
    last_sign_in_at: datetime | None = None
    raw_app_meta_data: Metadata | None = None
    raw_user_meta_data: Metadata | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    banned_until: datetime | None = None
    deleted_at: datetime | None = None
    is_sso_user: bool = False
    is_anonymous: bool = False
    identities: tuple[UserIdentity, ...] = ()
    factors: tuple[Factor, ...] = ()

    def is_banned(self, now: datetime) -> bool:
        """Return whether the user is banned now."""
        return self.banned_until is not None and self.banned_until > now

    @property
    def has_verified_factor(self) -> bool:
        """Return whether a second factor is set up."""
        return any(factor.status == "verified" for factor in self.factors)


@dataclass(frozen=True, slots=True)
class NewUser:
    """A user to be created. With an address it gets an identity of the provider `email` or `phone`."""

    aud: str
    role: str
    email: str = ""
    phone: str = ""
    password_hash: str = field(default="", repr=False)
    email_confirmed_at: datetime | None = None
    phone_confirmed_at: datetime | None = None
    app_metadata: Metadata = field(default_factory=dict)
    user_metadata: Metadata = field(default_factory=dict)
    profile: Metadata = field(default_factory=dict)
    """Metadata from the sign-up, which the identities store as well."""
    is_anonymous: bool = False
    banned_until: datetime | None = None
    is_proven: bool = True
    """False for addresses that count as confirmed only because confirmations are switched off."""
    id: UUID = field(default_factory=uuid4)

    @property
    def provider(self) -> str:
        """Return the provider of the first identity."""
        if self.is_anonymous:
            return "anonymous"
        return "email" if self.email else "phone"


class SessionMethod(Struct, frozen=True):
    """A method by which a session was authenticated, and when it was last used."""

    authentication_method: str
    created_at: datetime
    provider: str | None = None
    """For single sign-on: the id of its provider."""


class AuthSession(SecretRecord, Struct, frozen=True):
    """A session. `refresh_token_hmac_key` signs its refresh tokens, `refresh_token_counter` numbers them."""

    id: UUID
    user_id: UUID
    created_at: datetime
    aal: str | None = None
    not_after: datetime | None = None
    refreshed_at: datetime | None = None
    tag: str | None = None
    oauth_client_id: UUID | None = None
    scopes: str | None = None
    refresh_token_hmac_key: str | None = None
    refresh_token_counter: int | None = None
    methods: tuple[SessionMethod, ...] = ()

    @property
    def amr(self) -> tuple[MethodUse, ...]:
        """How the session was authenticated, as claims state it."""
        return tuple(
            MethodUse(
                claims.SignInMethod(use.authentication_method),
                int(use.created_at.timestamp()),
                use.provider,
            )
            for use in self.methods
        )
