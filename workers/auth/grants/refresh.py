"""grant_type=refresh_token. Source: reference page "auth", sections 4.3 and 8.3."""

import asyncio
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from workers.auth import refusals, sessions, users
from workers.auth.asked import Asked
from workers.auth.context import Accounts
from workers.auth.refresh import RefreshToken, read_token
from workers.auth.rows import Session, User
from workers.auth.shown import Shown

_LOCK_WAIT_S = 5.0
_PAUSE_S = (0.010, 0.030)
_VERSION_1 = re.compile(r"[a-z0-9]{12}")


class Body(msgspec.Struct):
    """Body of a refresh."""

    refresh_token: str = ""


@dataclass(frozen=True, slots=True)
class Renewed:
    """A session with its next refresh token, and its user."""

    user: User
    granted: sessions.Granted


async def refresh(accounts: Accounts, asked: Asked) -> Shown:
    """Give a session its next tokens. Raises: AuthError; OAuthError for the session of an OAuth client."""
    renewed = await renew(accounts, asked, asked.read(Body).refresh_token)
    return await accounts.session_shown(renewed.user, renewed.granted)


async def renew(
    accounts: Accounts,
    asked: Asked,
    text: str,
    accept: Callable[[Session, RefreshToken], None] = sessions.refuse_foreign,
) -> Renewed:
    """Take a refresh token and give the session with the current one.

    `accept` is called before anything changes: it raises for a token that is not the session's, or not the caller's.
    Raises: AuthError; what `accept` raises.
    """
    sent = read_token(text)
    if sent is None:
        # Tokens of version 1 look so; none are issued here.
        raise (
            refusals.REFRESH_TOKEN_NOT_FOUND()
            if _VERSION_1.fullmatch(text)
            else refusals.MALFORMED_REFRESH_TOKEN()
        )
    deadline = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            renewed = await _try_refresh(accounts, asked, sent, accept)
        except sessions.ReuseDetected:
            await _end_family(accounts, sent)
            raise refusals.ALREADY_USED() from None
        if renewed is not None:
            return renewed
        if time.monotonic() > deadline:
            raise refusals.REFRESH_CONTENTION()
        await asyncio.sleep(random.uniform(*_PAUSE_S))


async def _try_refresh(
    accounts: Accounts, asked: Asked, sent: RefreshToken, accept: Callable[[Session, RefreshToken], None]
) -> Renewed | None:
    """Refresh a session; None if another process has it just now."""
    async with accounts.transaction() as transaction:
        session = await sessions.lock(transaction, accounts.vault, sent.session_id)
        if session is None:
            if await sessions.find(transaction, sent.session_id) is None:
                raise refusals.REFRESH_TOKEN_NOT_FOUND()
            return None
        accept(session, sent)
        user = await users.find_by_id(transaction, session.user_id)
        if user is None:
            raise refusals.NO_SESSION_FOUND()
        now, limits = accounts.now(), accounts.limits
        if user.is_banned(now):
            raise refusals.USER_BANNED(status=400)
        await sessions.refuse_expired(transaction, session, user, limits, now)
        return Renewed(user, await sessions.refresh(transaction, session, sent, limits, asked.device, now))


async def _end_family(accounts: Accounts, sent: RefreshToken) -> None:
    """End the session of a token that came back: the thief and the robbed both have to sign in."""
    if accounts.settings.enable_refresh_token_rotation:
        async with accounts.transaction() as transaction:
            await sessions.end_one(transaction, sent.session_id)
