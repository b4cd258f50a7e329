"""What every endpoint of the accounts has: the settings, the database, the threads that hash, the key that signs."""

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from schemas.keys.signing import SigningKey
from schemas.settings.auth import PASSWORD_REQUIREMENTS, Auth
from schemas.settings.types import Duration
from workers.auth.accounts.codes.networks import remember
from workers.auth.accounts.passwords.hashing import Hashing
from workers.auth.accounts.passwords.strength import StrengthRules
from workers.auth.accounts.sessions.claims import Method, TokenSession, TokenUser, access_claims, expiry
from workers.auth.accounts.sessions.rotation import Rules
from workers.auth.accounts.sessions.sessions import (
    Beginning,
    Device,
    ForClient,
    Granted,
    Limits,
    begin,
    begin_alone,
    beginning,
    end_one,
)
from workers.auth.accounts.users.shown import Shown, user_shown
from workers.auth.delivery.email.outbox import Outbox
from workers.auth.delivery.hooks.runner import Hooks, sign_customized
from workers.auth.federation.providers.documents import Documents
from workers.auth.flows.redirects import RedirectRules
from workers.auth.model.rows import User
from workers.auth.services import Services
from workers.auth.vault import Vault
from workers.database.interactive import Transaction
from workers.database.pool import Pool
from workers.database.session import Rows, Statement, Work
from workers.http_client.client import Outgoing

_SETTINGS = (("search_path", "auth"),)


@dataclass(frozen=True, slots=True)
class Accounts:
    """One configuration of the accounts, with what it works on."""

    settings: Auth
    database: Pool
    hashing: Hashing
    key: SigningKey
    clock: Callable[[], float] = field(default=time.time)
    public_keys: tuple[Mapping[str, object], ...] = ()
    """The JWKs that verify access tokens, for everybody to see."""
    vault: Vault = field(kw_only=True)
    """Seals what must be read again."""
    code_key: bytes = field(kw_only=True, repr=False)
    """Key of the hashes of one-time codes."""
    redirects: RedirectRules = field(kw_only=True)
    """Where browsers may be sent."""
    outgoing: Outgoing = field(kw_only=True)
    """Requests to other services."""
    outbox: Outbox = field(kw_only=True)
    """What is sent to people."""
    hooks: Hooks = field(kw_only=True)
    """What the project wants to be asked."""
    services: Services = field(default=Services(), kw_only=True)
    """Where services live that are asked by our own wish."""
    documents: Documents = field(default_factory=Documents, kw_only=True)
    """What providers publish, kept for an hour."""

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Give a transaction as the role that owns the accounts."""
        async with self.database.transaction(_SETTINGS) as transaction:
            yield transaction

    async def run(self, *statements: Statement) -> list[Rows]:
        """Run statements that are known beforehand as such a transaction, in one round trip; give the rows of each."""
        return await self.database.run(Work(_SETTINGS, statements))

    def now(self) -> datetime:
        """Give the present time."""
        return datetime.fromtimestamp(self.clock(), UTC)

    @property
    def strength(self) -> StrengthRules:
        """Give what is asked of a new password."""
        own = self.settings
        required = (*PASSWORD_REQUIREMENTS[own.password_requirements], *own.password.required_characters)
        return StrengthRules(own.minimum_password_length, own.password.max_length, required)

    @property
    def limits(self) -> Limits:
        """Give the limits of sessions."""
        own = self.settings
        return Limits(
            timebox=_span(own.sessions.timebox),
            inactivity=_span(own.sessions.inactivity_timeout),
            low_aal=_span(own.sessions.allow_low_aal),
            single_per_user=own.sessions.single_per_user,
            tags=tuple(own.sessions.tags),
        )

    @property
    def rotation(self) -> Rules:
        """Give the rules of refresh tokens."""
        own = self.settings
        return Rules(
            reuse_interval=timedelta(seconds=own.refresh_token_reuse_interval),
            allows_reuse=own.refresh_token_allow_reuse,
            moving=own.refresh_token_upgrade_percentage if own.refresh_token_algorithm_version == 2 else 0,
        )

    async def begin_session(
        self,
        transaction: Transaction,
        user: User,
        method: Method,
        device: Device,
        *,
        client: ForClient | None = None,
        not_after: datetime | None = None,
        more: Sequence[Statement] = (),
    ) -> Granted:
        """Begin a session as the settings want it: `sessions.begin`."""
        new = self._beginning(user, method, device, client=client, not_after=not_after)
        # A client of the OAuth server asks from where it runs itself: its user is elsewhere.
        known = () if client else remember(self.code_key, user, device.address)
        return await begin(transaction, new, method, device, (*more, *known))

    async def begin_session_alone(
        self,
        user: User,
        method: Method,
        device: Device,
        *,
        before: Sequence[Statement] = (),
        more: Sequence[Statement] = (),
    ) -> tuple[Granted, User]:
        """Begin a session as a transaction of its own: `sessions.begin_alone`."""
        new = self._beginning(user, method, device)
        known = remember(self.code_key, user, device.address)
        return await begin_alone(self.run, new, user, method, device, before=before, more=(*more, *known))

    def _beginning(
        self,
        user: User,
        method: Method,
        device: Device,
        *,
        client: ForClient | None = None,
        not_after: datetime | None = None,
    ) -> Beginning:
        return beginning(
            self.vault,
            user,
            method,
            device,
            device.tag if device.tag in self.settings.sessions.tags else "",
            client=client,
            not_after=not_after,
            has_rows=self.settings.refresh_token_algorithm_version < 2,
        )

    async def session_shown(self, user: User, granted: Granted) -> Shown:
        """Give the object of a session, with a new access token.

        Not within a transaction: the project's own service may be asked for the claims. If it fails, a session that has
        just begun ends. Raises: AuthError.
        """
        issued_at = int(self.clock())
        session, low_aal = granted.session, self.limits.low_aal
        expires_at = expiry(
            issued_at,
            self.settings.jwt_expiry,
            amr=granted.methods,
            has_verified_factor=user.has_verified_factor,
            session_began_at=int(session.created_at.timestamp()),
            low_aal_s=None if low_aal is None else int(low_aal.total_seconds()),
        )
        claims = access_claims(
            _token_user(user),
            TokenSession(
                str(session.id),
                granted.methods,
                client_id=str(session.oauth_client_id) if session.oauth_client_id else None,
                scope=session.scopes,
            ),
            issued_at=issued_at,
            expires_at=expires_at,
            issuer=self.settings.jwt_issuer or self.settings.external_url,
        )
        token, expires_at = await self._signed(claims, user, granted)
        return {
            "access_token": token,
            "token_type": "bearer",
            "expires_in": max(0, expires_at - issued_at),
            "expires_at": expires_at,
            "refresh_token": granted.refresh_token,
            "user": user_shown(user),
        }

    async def _signed(self, claims: Shown, user: User, granted: Granted) -> tuple[str, int]:
        """Give the access token and when it ends, with the claims that the project wants."""
        try:
            wanted = await self.hooks.custom_access_token(user.id, claims, granted.method, granted.address)
            return sign_customized(wanted, self.key)
        except BaseException:  # a request that was given up leaves no session behind either
            if granted.is_new:
                async with self.transaction() as transaction:
                    await end_one(transaction, granted.session.id)
            raise


def _token_user(user: User) -> TokenUser:
    return TokenUser(
        id=str(user.id),
        aud=user.aud or "",
        role=user.role or "",
        email=user.email or "",
        phone=user.phone or "",
        app_metadata=user.raw_app_meta_data or {},
        user_metadata=user.raw_user_meta_data or {},
        is_anonymous=user.is_anonymous,
    )


def _span(duration: Duration | None) -> timedelta | None:
    """Read a duration of the settings; 0 is none."""
    return timedelta(seconds=float(duration)) if duration else None
