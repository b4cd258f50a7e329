"""Rows of the accounts as values: what `users.sql` and `sessions.sql` give, read from JSON.

Columns that no step looks at are left out. Times know their zone. Source: reference page "auth", section 24.
"""

from datetime import datetime
from uuid import UUID

from msgspec import Struct

from workers.auth.accounts.sessions import claims
from workers.auth.accounts.sessions.claims import Used

Metadata = dict[str, object]


class Identity(Struct, frozen=True):
    """One way in which a user signs in."""

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


class User(Struct, frozen=True):
    """An account with its identities and factors. Rows made by hand may lack almost everything."""

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
    identities: tuple[Identity, ...] = ()
    factors: tuple[Factor, ...] = ()

    def is_banned(self, now: datetime) -> bool:
        """Tell whether the account may not be used now."""
        return self.banned_until is not None and self.banned_until > now

    @property
    def has_verified_factor(self) -> bool:
        """Whether a second factor is set up."""
        return any(each.status == "verified" for each in self.factors)


class Method(Struct, frozen=True):
    """How a session was entered, and when."""

    authentication_method: str
    created_at: datetime
    provider: str | None = None
    """Of single sign-on: the id of its provider."""


class Session(Struct, frozen=True):
    """A sign-in. `key` signs its refresh tokens, `counter` numbers them."""

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
    methods: tuple[Method, ...] = ()

    @property
    def used(self) -> tuple[Used, ...]:
        """How the session was entered, as claims tell it."""
        return tuple(
            Used(claims.Method(each.authentication_method), int(each.created_at.timestamp()), each.provider)
            for each in self.methods
        )
