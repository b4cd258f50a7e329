"""POST /token: a session for a password, or for a refresh token. Source: reference page "auth", 4.2, 4.3 and 8.3."""

import asyncio
import random
import re
import time

import msgspec

from schemas.http import Response
from workers.auth import refusals, sessions, users
from workers.auth.addresses import normal_email, normal_phone
from workers.auth.asked import Asked, answer
from workers.auth.claims import Method
from workers.auth.context import Accounts
from workers.auth.error_codes import Code
from workers.auth.errors import AuthError
from workers.auth.limits import take, token_limit
from workers.auth.refresh import RefreshToken, read_token
from workers.auth.rows import User
from workers.auth.shown import Shown
from workers.auth.strength import weakness_of

_LOCK_WAIT_S = 5.0
_PAUSE_S = (0.010, 0.030)
_VERSION_1 = re.compile(r"[a-z0-9]{12}")


class Password(msgspec.Struct):
    """Body of a sign-in."""

    email: str = ""
    phone: str = ""
    password: str = ""


class Refresh(msgspec.Struct):
    """Body of a refresh."""

    refresh_token: str = ""


async def token(accounts: Accounts, asked: Asked) -> Response:
    """Give a session for what `grant_type` names. Raises: AuthError."""
    await take(accounts.database, token_limit(accounts.settings.rate_limit), asked.device.address)
    match asked.query("grant_type"):
        case "password":
            return answer(await _password(accounts, asked))
        case "refresh_token":
            return answer(await _refresh(accounts, asked))
        case "pkce" | "id_token" | "web3" as kind:
            raise AuthError(
                Code.UNEXPECTED_FAILURE, f"grant_type={kind} is not built yet in this version", 501
            )
    raise refusals.UNSUPPORTED_GRANT()


async def _password(accounts: Accounts, asked: Asked) -> Shown:
    body = asked.read(Password)
    user = await _user_of(accounts, asked, body)
    verdict = await accounts.hashing.verify(body.password, user.encrypted_password if user else None)
    if user is None or not verdict.is_right:
        raise refusals.WRONG_CREDENTIALS()
    if user.is_banned(accounts.now()):
        raise refusals.USER_BANNED(status=400)
    if body.email and user.email_confirmed_at is None:
        raise refusals.EMAIL_NOT_CONFIRMED()
    if body.phone and user.phone_confirmed_at is None:
        raise refusals.PHONE_NOT_CONFIRMED()
    renewed = await accounts.hashing.hash(body.password) if verdict.wants_rehash else None
    async with accounts.transaction() as transaction:
        if renewed is not None:
            await users.renew_hash(transaction, user, renewed)
        granted = await sessions.begin(transaction, user, Method.PASSWORD, asked.device)
        found = await users.find_by_id(transaction, user.id)
    shown = accounts.session_shown(found or user, granted)
    weakness = weakness_of(body.password, accounts.strength)
    if weakness is not None:
        shown["weak_password"] = {"message": weakness.message, "reasons": list(weakness.reasons)}
    return shown


async def _user_of(accounts: Accounts, asked: Asked, body: Password) -> User | None:
    own = accounts.settings
    if bool(body.email) == bool(body.phone):
        raise AuthError(
            Code.VALIDATION_FAILED, "Only an email address or phone number should be provided on login."
        )
    aud = asked.audience(own.jwt_aud)
    if body.email and not own.email.enable_signup:
        raise refusals.EMAIL_LOGINS_DISABLED()
    if body.phone and not own.sms.enable_signup:
        raise refusals.PHONE_LOGINS_DISABLED()
    try:
        email, phone = (
            normal_email(body.email) if body.email else "",
            normal_phone(body.phone) if body.phone else "",
        )
    except AuthError:  # nobody has such an address
        return None
    async with accounts.transaction() as transaction:
        if email:
            return await users.find_by_email(transaction, email, aud)
        return await users.find_by_phone(transaction, phone, aud)


async def _refresh(accounts: Accounts, asked: Asked) -> Shown:
    text = asked.read(Refresh).refresh_token
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
            shown = await _try_refresh(accounts, asked, sent)
        except sessions.ReuseDetected:
            await _end_family(accounts, sent)
            raise refusals.ALREADY_USED() from None
        if shown is not None:
            return shown
        if time.monotonic() > deadline:
            raise refusals.REFRESH_CONTENTION()
        await asyncio.sleep(random.uniform(*_PAUSE_S))


async def _try_refresh(accounts: Accounts, asked: Asked, sent: RefreshToken) -> Shown | None:
    """Refresh a session; None if another process has it just now."""
    async with accounts.transaction() as transaction:
        session = await sessions.lock(transaction, sent.session_id)
        if session is None:
            if await sessions.find(transaction, sent.session_id) is None:
                raise refusals.REFRESH_TOKEN_NOT_FOUND()
            return None
        sessions.refuse_foreign(session, sent)
        user = await users.find_by_id(transaction, session.user_id)
        if user is None:
            raise refusals.NO_SESSION_FOUND()
        now, limits = accounts.now(), accounts.limits
        if user.is_banned(now):
            raise refusals.USER_BANNED(status=400)
        await sessions.refuse_expired(transaction, session, user, limits, now)
        granted = await sessions.refresh(transaction, session, sent, limits, asked.device, now)
    return accounts.session_shown(user, granted)


async def _end_family(accounts: Accounts, sent: RefreshToken) -> None:
    """End the session of a token that came back: the thief and the robbed both have to sign in."""
    if accounts.settings.enable_refresh_token_rotation:
        async with accounts.transaction() as transaction:
            await sessions.end_one(transaction, sent.session_id)
