"""grant_type=refresh_token. Source: reference page "auth", sections 4.3 and 8.3."""

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from workers.auth import audit
from workers.auth.accounts.codes.entered import Entered
from workers.auth.accounts.sessions import refresh_rows, rotation, sessions
from workers.auth.accounts.sessions.refresh import RefreshToken, read_token
from workers.auth.accounts.sessions.refresh_rows import RefreshRow
from workers.auth.accounts.sessions.rotation import ReuseDetected, Sent
from workers.auth.accounts.users import users
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.model import rejections
from workers.auth.model.request import Asked
from workers.auth.model.rows import Session, User
from workers.database.interactive import Transaction

_LOCK_WAIT_S = 5.0
_PAUSE_S = (0.010, 0.030)


class Body(msgspec.Struct):
    """Body of a refresh."""

    refresh_token: str = ""


@dataclass(frozen=True, slots=True)
class Renewed:
    """A session with its next refresh token, and its user."""

    user: User
    granted: sessions.Granted


async def refresh(accounts: Accounts, asked: Asked) -> Entered:
    """Give a session its next tokens. Raises: AuthError; OAuthError for the session of an OAuth client."""
    renewed = await renew(accounts, asked, asked.read(Body).refresh_token)
    return Entered(await accounts.session_shown(renewed.user, renewed.granted), renewed.granted)


async def renew(
    accounts: Accounts,
    asked: Asked,
    text: str,
    accept: Callable[[Session], None] = sessions.refuse_other_client,
) -> Renewed:
    """Take a refresh token and give the session with the current one.

    `accept` is called before anything changes: it raises for a session that is not the caller's to refresh.
    Raises: AuthError; what `accept` raises.
    """
    sent = read_token(text) or await _find_row(accounts, text)
    deadline = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            renewed = await _try_refresh(accounts, asked, sent, accept)
        except ReuseDetected:
            await _end_family(accounts, asked, sent)
            raise rejections.ALREADY_USED() from None
        if renewed is not None:
            return renewed
        if time.monotonic() > deadline:
            raise rejections.REFRESH_CONTENTION()
        await asyncio.sleep(random.uniform(*_PAUSE_S))


async def _find_row(accounts: Accounts, text: str) -> RefreshRow:
    """Find a token of version 1. Raises: AuthError (400)."""
    if not refresh_rows.is_token(text):
        raise rejections.MALFORMED_REFRESH_TOKEN()
    async with accounts.transaction() as transaction:
        row = await refresh_rows.find(transaction, refresh_rows.hashed(text))
    if row is None:
        raise rejections.REFRESH_TOKEN_NOT_FOUND()
    return row


async def _try_refresh(
    accounts: Accounts, asked: Asked, sent: Sent, accept: Callable[[Session], None]
) -> Renewed | None:
    """Refresh a session; None if another process has it just now."""
    if sent.session_id is None:  # a token that is older than sessions
        raise rejections.NO_SESSION_FOUND()
    async with accounts.transaction() as transaction:
        session = await sessions.lock(transaction, accounts.vault, sent.session_id)
        if session is None:
            if await sessions.find(transaction, sent.session_id) is None:
                raise rejections.REFRESH_TOKEN_NOT_FOUND()
            return None
        sent = await _as_locked(transaction, session, sent)
        accept(session)
        user = await users.find_by_id(transaction, session.user_id)
        if user is None:
            raise rejections.NO_SESSION_FOUND()
        now = accounts.now()
        if user.is_banned(now):
            raise rejections.USER_BANNED(status=400)
        await sessions.refuse_expired(transaction, session, user, accounts.limits, now)
        more = audit.entry(accounts, asked, Action.TOKEN_REFRESHED, user, _traits(session))
        granted = await rotation.exchange(
            transaction, accounts.vault, session, sent, accounts.rotation, asked.device, now, more
        )
        return Renewed(user, granted)


async def _as_locked(transaction: Transaction, session: Session, sent: Sent) -> Sent:
    """Give a token as it stands now that nobody else can use it. Raises: AuthError (400) if it is not the session's."""
    if isinstance(sent, RefreshToken):
        rotation.refuse_forged(session, sent)
        return sent
    row = await refresh_rows.find(transaction, sent.token)
    if row is None or row.session_id != session.id:
        raise rejections.REFRESH_TOKEN_NOT_FOUND()
    return row


async def _end_family(accounts: Accounts, asked: Asked, sent: Sent) -> None:
    """End what came of a token that was used again: the thief and the robbed both have to sign in."""
    if not accounts.settings.enable_refresh_token_rotation or sent.session_id is None:
        return
    async with accounts.transaction() as transaction:
        session = await sessions.find(transaction, sent.session_id)
        user = None if session is None else await users.find_by_id(transaction, session.user_id)
        if session is not None and user is not None:
            traits = {**_traits(session), "reason": "reuse"}
            more = audit.entry(accounts, asked, Action.TOKEN_REVOKED, user, traits)
            await rotation.end_family(transaction, session.id, more)


def _traits(session: Session) -> dict[str, str]:
    """Give what the audit log tells of a session: which, and whose client's."""
    client = session.oauth_client_id
    return {"session_id": str(session.id)} | ({} if client is None else {"client_id": str(client)})
