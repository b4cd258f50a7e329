"""The context of code that starts sessions and issues tokens (`model/context.py` lists the contexts).

A sign-in ends with two calls. `start_session` writes the session in the transaction of the sign-in, together with its audit
entries. `session_json` runs after the commit: it asks the access-token hook, which may take seconds, and signs the token.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from schemas.keys.signing import SigningKey
from schemas.settings.types import Duration
from workers.auth.accounts.codes.networks import remember
from workers.auth.accounts.passwords.hashing import Hashing
from workers.auth.accounts.passwords.strength import StrengthRules, rules_of
from workers.auth.accounts.sessions.rotation import RotationRules
from workers.auth.accounts.sessions.sessions import (
    NewSession,
    OAuthSession,
    SessionGrant,
    SessionLimits,
    end_one,
    new_session,
    start,
    start_alone,
)
from workers.auth.delivery.context import DeliveryContext
from workers.auth.delivery.hooks.runner import sign_customized
from workers.auth.model.claims import SignInMethod, TokenSession, TokenUser, access_claims, expiry
from workers.auth.model.request import Device
from workers.auth.model.rows import AuthUser
from workers.auth.model.user_json import JsonObject, user_json
from workers.database.transactions.interactive import Transaction
from workers.database.transactions.model import Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountContext(DeliveryContext):
    """A `DeliveryContext` that can also hash passwords, start sessions and sign access tokens."""

    hashing: Hashing
    key: SigningKey

    @property
    def strength(self) -> StrengthRules:
        """Return the rules that the settings set for new passwords."""
        return rules_of(self.settings)

    @property
    def limits(self) -> SessionLimits:
        """Return the limits that the settings set for sessions."""
        settings = self.settings.sessions
        return SessionLimits(
            timebox=_timedelta(settings.timebox),
            inactivity=_timedelta(settings.inactivity_timeout),
            low_aal=_timedelta(settings.allow_low_aal),
            single_per_user=settings.single_per_user,
            tags=tuple(settings.tags),
        )

    @property
    def rotation(self) -> RotationRules:
        """Return the rules that the settings set for refresh tokens."""
        settings = self.settings
        counts = settings.refresh_token_algorithm_version == 2
        return RotationRules(
            reuse_interval=timedelta(seconds=settings.refresh_token_reuse_interval),
            allows_reuse=settings.refresh_token_allow_reuse,
            moving=settings.refresh_token_upgrade_percentage if counts else 0,
        )

    async def start_session(
        self,
        transaction: Transaction,
        user: AuthUser,
        method: SignInMethod,
        device: Device,
        *,
        client: OAuthSession | None = None,
        not_after: datetime | None = None,
        more: Sequence[Statement] = (),
    ) -> SessionGrant:
        """Start a session as the settings prescribe: `sessions.start`."""
        new = self._new_session(user, method, device, client=client, not_after=not_after)
        # The request of an OAuth client comes from the client's server: its network is not the user's.
        network = () if client else remember(self.code_key, user, device.address)
        return await start(transaction, new, method, device, (*more, *network))

    async def start_session_alone(
        self,
        user: AuthUser,
        method: SignInMethod,
        device: Device,
        *,
        before: Sequence[Statement] = (),
        more: Sequence[Statement] = (),
    ) -> tuple[SessionGrant, AuthUser]:
        """Start a session as a transaction of its own, in one round trip: `sessions.start_alone`."""
        new = self._new_session(user, method, device)
        network = remember(self.code_key, user, device.address)
        return await start_alone(self.run, new, user, method, device, before=before, more=(*more, *network))

    def _new_session(
        self,
        user: AuthUser,
        method: SignInMethod,
        device: Device,
        *,
        client: OAuthSession | None = None,
        not_after: datetime | None = None,
    ) -> NewSession:
        return new_session(
            self.vault,
            user,
            method,
            device,
            device.tag if device.tag in self.settings.sessions.tags else "",
            client=client,
            not_after=not_after,
            has_rows=self.settings.refresh_token_algorithm_version < 2,
        )

    async def session_json(self, user: AuthUser, grant: SessionGrant) -> JsonObject:
        """Return the JSON of a session, with a new access token.

        Must not be called within a transaction: the access-token hook may take seconds. If the hook fails or the request is
        cancelled, a session that has just started is deleted. Raises: AuthError.
        """
        issued_at = int(self.clock())
        session, low_aal = grant.session, self.limits.low_aal
        expires_at = expiry(
            issued_at,
            self.settings.jwt_expiry,
            amr=grant.methods,
            has_verified_factor=user.has_verified_factor,
            session_started_at=int(session.created_at.timestamp()),
            low_aal_s=None if low_aal is None else int(low_aal.total_seconds()),
        )
        claims = access_claims(
            token_user(user),
            TokenSession(
                str(session.id),
                grant.methods,
                client_id=str(session.oauth_client_id) if session.oauth_client_id else None,
                scope=session.scopes,
            ),
            issued_at=issued_at,
            expires_at=expires_at,
            issuer=self.settings.jwt_issuer or self.settings.external_url,
        )
        token, expires_at = await self._sign(claims, user, grant)
        return {
            "access_token": token,
            "token_type": "bearer",
            "expires_in": max(0, expires_at - issued_at),
            "expires_at": expires_at,
            "refresh_token": grant.refresh_token,
            "user": user_json(user),
        }

    async def _sign(self, claims: JsonObject, user: AuthUser, grant: SessionGrant) -> tuple[str, int]:
        """Ask the access-token hook for the final claims; return the signed token and its expiry."""
        try:
            customized = await self.hooks.custom_access_token(user.id, claims, grant.method, grant.address)
            return sign_customized(customized, self.key)
        except BaseException:  # also on cancellation: the client never gets the tokens of this session
            if grant.is_new:
                async with self.transaction() as transaction:
                    await end_one(transaction, grant.session.id)
            raise


def token_user(user: AuthUser) -> TokenUser:
    """Return a user as tokens contain it."""
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


def _timedelta(duration: Duration | None) -> timedelta | None:
    """Convert a duration of the settings; 0 means no limit."""
    return timedelta(seconds=float(duration)) if duration else None
