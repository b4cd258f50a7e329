"""Sessions: begun at every sign-in, refreshed by token, ended by logout. Each function runs in the caller's transaction.

Source: reference page "auth", sections 2.4, 7 and 8. Raises, all of them: DatabaseError, Disconnected.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from workers.auth import refusals
from workers.auth.claims import Method, Used
from workers.auth.errors import OAuthError
from workers.auth.refresh import RefreshToken, issue_token, new_key, read_key
from workers.auth.rows import Session, User
from workers.database.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth", "sessions.sql")


@dataclass(frozen=True, slots=True)
class Device:
    """From where a session is used."""

    user_agent: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long sessions live, and when an older refresh token is still taken; None is no limit."""

    timebox: timedelta | None = None
    inactivity: timedelta | None = None
    low_aal: timedelta | None = None
    single_per_user: bool = False
    reuse_interval: timedelta = timedelta(seconds=10)
    allows_reuse: bool = False
    rotates: bool = True


@dataclass(frozen=True, slots=True)
class Granted:
    """A session with the refresh token that is current now."""

    session: Session
    refresh_token: str

    @property
    def methods(self) -> tuple[Used, ...]:
        """Give how the session was entered, as claims tell it."""
        return self.session.used


class ReuseDetected(Exception):
    """A refresh token was used that is long replaced: its session must end, although the request fails."""


async def begin(
    transaction: Transaction, user: User, method: Method, device: Device, tag: str = ""
) -> Granted:
    """Begin a session of a user who has just signed in."""
    id, key = uuid4(), new_key()
    await transaction.rows(
        _SQL["insert"], str(id), str(user.id), "aal1", device.user_agent, device.address, tag, key
    )
    await transaction.rows(_SQL["insert_method"], str(id), method.value)
    await transaction.rows(_SQL["signed_in"], str(user.id))
    session = await transaction.one(_SQL["by_id"], Session, str(id))
    if session is None:  # a trigger of the project put it away
        raise refusals.NO_SESSION_FOUND()
    return Granted(session, issue_token(id, 0, read_key(key)))


async def find(transaction: Transaction, id: UUID) -> Session | None:
    """Find a session."""
    return await transaction.one(_SQL["by_id"], Session, str(id))


async def lock(transaction: Transaction, id: UUID) -> Session | None:
    """Find a session and keep others from refreshing it; None if it is gone or another process has it."""
    return await transaction.one(_SQL["lock"], Session, str(id))


def refuse_foreign(session: Session, token: RefreshToken) -> None:
    """Raise if a token is not the session's; before anything else, so that nobody learns of sessions not his own.

    Raises: AuthError (400); OAuthError (400) if the session is an OAuth client's, which refreshes elsewhere.
    """
    key = read_key(session.refresh_token_hmac_key or "")
    if not key or not token.is_signed_by(key):
        raise refusals.REFRESH_TOKEN_NOT_FOUND()
    if session.oauth_client_id is not None:
        raise OAuthError("invalid_client", "This session is refreshed by its OAuth client")


async def refresh(
    transaction: Transaction,
    session: Session,
    token: RefreshToken,
    limits: Limits,
    device: Device,
    now: datetime,
) -> Granted:
    """Take a token of a locked session and give the current one, rotated if the token was the current one.

    The session's key has signed the token (`refuse_foreign`).
    Raises: AuthError for a token that was never given; ReuseDetected for one that is long replaced.
    """
    key, current = read_key(session.refresh_token_hmac_key or ""), session.refresh_token_counter or 0
    if token.counter > current:
        raise refusals.FOREIGN_REFRESH_TOKEN()
    if token.counter == current:
        await transaction.rows(_SQL["rotate"], str(session.id), device.user_agent, device.address)
        return Granted(session, issue_token(session.id, current + 1, key))
    if not _may_reuse(session, token.counter, current, limits, now):
        raise ReuseDetected
    return Granted(session, issue_token(session.id, current, key))


async def refuse_expired(
    transaction: Transaction, session: Session, user: User, limits: Limits, now: datetime
) -> None:
    """Raise if a session has come to its end by one of the limits. Raises: AuthError (400)."""
    if (session.not_after is not None and session.not_after <= now) or _is_over(
        session.created_at, limits.timebox, now
    ):
        raise refusals.SESSION_EXPIRED()
    if _is_over(session.refreshed_at or session.created_at, limits.inactivity, now):
        raise refusals.SESSION_INACTIVE()
    is_low = user.has_verified_factor and session.aal != "aal2"
    if is_low and _is_over(session.created_at, limits.low_aal, now):
        raise refusals.SESSION_LOW_AAL()
    if limits.single_per_user:
        newest = await transaction.rows(_SQL["newest_of_user"], str(user.id), session.tag or "")
        if newest and (newest[0][0] or b"").decode() != str(session.id):
            raise refusals.SESSION_REPLACED()


async def end_one(transaction: Transaction, id: UUID) -> None:
    """End one session."""
    await transaction.rows(_SQL["end_one"], str(id))


async def end_others(transaction: Transaction, user_id: UUID, kept: UUID) -> None:
    """End all sessions of a user but one."""
    await transaction.rows(_SQL["end_others"], str(user_id), str(kept))


async def end_all(transaction: Transaction, user_id: UUID) -> None:
    """End all sessions of a user."""
    await transaction.rows(_SQL["end_all"], str(user_id))


def _may_reuse(session: Session, counter: int, current: int, limits: Limits, now: datetime) -> bool:
    """Tell whether an older token is still taken: a client may have failed to keep the newer one, or many tabs refresh."""
    if limits.allows_reuse or counter == current - 1:
        return True
    last = session.refreshed_at
    return last is not None and now - last.replace(tzinfo=last.tzinfo or UTC) < limits.reuse_interval


def _is_over(since: datetime, lasts: timedelta | None, now: datetime) -> bool:
    return lasts is not None and since + lasts <= now
