"""grant_type=refresh_token: exchanges a refresh token for new tokens. Source: docs/reference/auth.md, sections 4.3 and 8.3.

Refreshes of one session run one after another: the session's row is locked without waiting, and a request that does not get
the lock tries again every 10 to 30 ms for at most 5 s. A waiting transaction would occupy a database connection.
"""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from schemas.keys.secret_record import SecretRecord
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.sessions import counted_refresh, refresh_rows, rotation, sessions
from workers.auth.accounts.sessions.refresh import RefreshToken, read_token
from workers.auth.accounts.sessions.refresh_rows import RefreshRow
from workers.auth.accounts.sessions.rotation import PresentedToken, ReuseDetected
from workers.auth.accounts.users import users
from workers.auth.http.context import EndpointContext
from workers.auth.http.token_response import TokenResponse
from workers.auth.model import rejections
from workers.auth.model.request import AuthRequest
from workers.auth.model.rows import AuthSession, AuthUser
from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import decode_first

_LOCK_WAIT_S = 5.0
_PAUSE_S = (0.010, 0.030)


class RefreshGrantBody(SecretRecord, msgspec.Struct):
    """The body of a refresh."""

    refresh_token: str = ""


@dataclass(frozen=True, slots=True)
class RenewedSession:
    """A session with its next refresh token, and its user."""

    user: AuthUser
    grant: sessions.SessionGrant


async def refresh(context: EndpointContext, request: AuthRequest) -> TokenResponse:
    """Return a session with its next tokens. Raises: AuthError; OAuthError for the session of an OAuth client."""
    renewed = await renew(context, request, request.read(RefreshGrantBody).refresh_token)
    return TokenResponse(await context.session_json(renewed.user, renewed.grant), renewed.grant)


async def renew(
    context: EndpointContext,
    request: AuthRequest,
    text: str,
    accept: Callable[[AuthSession], None] = sessions.reject_other_client,
) -> RenewedSession:
    """Exchange a refresh token; return the session with the current one.

    `accept` is called before anything changes: it raises for a session that the caller may not refresh.
    Raises: AuthError; what `accept` raises.
    """
    sent = read_token(text) or await _find_row(context, text)
    if accept is sessions.reject_other_client and isinstance(sent, RefreshToken) and _is_usual(context):
        action, now = AuditAction.TOKEN_REFRESHED, context.now()
        exchanged = await counted_refresh.try_exchange(
            context, sent, request.device, now, action=action.value, log_type=action.log_type
        )
        if exchanged is not None:
            return RenewedSession(*exchanged)
    deadline = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            renewed = await _try_refresh(context, request, sent, accept)
        except ReuseDetected:
            await _end_family(context, request, sent)
            raise rejections.ALREADY_USED() from None
        if renewed is not None:
            return renewed
        if time.monotonic() > deadline:
            raise rejections.REFRESH_CONTENTION()
        # Random, so that waiting requests do not try again in step.
        await asyncio.sleep(random.uniform(*_PAUSE_S))


def _is_usual(context: EndpointContext) -> bool:
    """Return whether the settings let `counted_refresh` decide: sessions without limits, audit entries in the table."""
    return context.limits.are_none and not context.settings.audit_log.disable_postgres


async def _find_row(context: EndpointContext, text: str) -> RefreshRow:
    """Find a token of version 1. Raises: AuthError (400)."""
    if not refresh_rows.is_token(text):
        raise rejections.MALFORMED_REFRESH_TOKEN()
    [rows] = await context.run(refresh_rows.by_hash(refresh_rows.hash_row_token(text)))
    row = decode_first(rows, RefreshRow)
    if row is None:
        raise rejections.REFRESH_TOKEN_NOT_FOUND()
    return row


async def _try_refresh(
    context: EndpointContext,
    request: AuthRequest,
    sent: PresentedToken,
    accept: Callable[[AuthSession], None],
) -> RenewedSession | None:
    """Refresh a session; None if another process has locked it."""
    if sent.session_id is None:  # a token from before sessions existed
        raise rejections.NO_SESSION_FOUND()
    id = sent.session_id
    token = [] if isinstance(sent, RefreshToken) else [refresh_rows.by_hash(sent.token)]
    async with context.transaction() as transaction:
        locked, user_rows, *token_rows = await transaction.run(
            sessions.locking(id), users.by_session(id), *token
        )
        counted = sent if isinstance(sent, RefreshToken) else None
        session = sessions.decode_locked(locked, context.vault, id, counted)
        if session is None:
            if not user_rows and await sessions.find(transaction, id) is None:
                raise rejections.REFRESH_TOKEN_NOT_FOUND()
            return None
        sent = _as_locked(session, sent, token_rows)
        accept(session)
        user = decode_first(user_rows, AuthUser)
        if user is None:
            raise rejections.NO_SESSION_FOUND()
        now = context.now()
        if user.is_banned(now):
            raise rejections.USER_BANNED()
        await sessions.reject_expired(transaction, session, user, context.limits, now)
        more = audit.entry(context, request, AuditAction.TOKEN_REFRESHED, user, _traits(session))
        grant = await rotation.exchange(
            transaction, context.vault, session, sent, context.rotation, request.device, now, more
        )
        return RenewedSession(user, grant)


def _as_locked(session: AuthSession, sent: PresentedToken, rows: Sequence[Rows]) -> PresentedToken:
    """Return a token as it was read under the session's lock. Raises: AuthError (400) if it does not belong to the session."""
    if isinstance(sent, RefreshToken):
        rotation.reject_forged(session, sent)
        return sent
    row = decode_first(rows[0], RefreshRow)
    if row is None or row.session_id != session.id:
        raise rejections.REFRESH_TOKEN_NOT_FOUND()
    return row


async def _end_family(context: EndpointContext, request: AuthRequest, sent: PresentedToken) -> None:
    """End the family of a token that was used twice: both the thief and the owner must sign in again."""
    if not context.settings.enable_refresh_token_rotation or sent.session_id is None:
        return
    async with context.transaction() as transaction:
        session = await sessions.find(transaction, sent.session_id)
        user = None if session is None else await users.find_by_id(transaction, session.user_id)
        if session is not None and user is not None:
            traits = {**_traits(session), "reason": "reuse"}
            more = audit.entry(context, request, AuditAction.TOKEN_REVOKED, user, traits)
            await rotation.end_family(transaction, session.id, more)


def _traits(session: AuthSession) -> dict[str, str]:
    """Return the traits of a session for the audit log: its id, and its OAuth client."""
    client = session.oauth_client_id
    return {"session_id": str(session.id)} | ({} if client is None else {"client_id": str(client)})
