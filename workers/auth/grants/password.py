"""grant_type=password. Source: reference page "auth", section 4.2."""

import msgspec

from workers.auth import captcha, refusals, sessions, users
from workers.auth.addresses import normal_email, normal_phone
from workers.auth.asked import Asked
from workers.auth.claims import Method
from workers.auth.context import Accounts
from workers.auth.error_codes import Code
from workers.auth.errors import AuthError
from workers.auth.guessing import Guess, guess_at
from workers.auth.hooks.points import Decision
from workers.auth.leaked import weakness_at_sign_in
from workers.auth.rows import User
from workers.auth.shown import Shown

_REJECTED = "Further password verification attempts will be rejected."


class Body(msgspec.Struct):
    """Body of a sign-in."""

    email: str = ""
    phone: str = ""
    password: str = ""


async def password(accounts: Accounts, asked: Asked) -> Shown:
    """Give a session to who knows the password of an address. Raises: AuthError."""
    await captcha.check(accounts, asked)
    body = asked.read(Body)
    user, guess = await _user_of(accounts, asked, body)
    verdict = await accounts.hashing.verify(body.password, user.encrypted_password if user else None)
    await _settle(accounts, asked, user, guess, is_right=verdict.is_right)
    if user is None:
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
        granted = await sessions.begin(transaction, accounts.vault, user, Method.PASSWORD, asked.device)
        found = await users.find_by_id(transaction, user.id)
    shown = await accounts.session_shown(found or user, granted)
    weakness = await weakness_at_sign_in(accounts, body.password)
    if weakness is not None:
        shown["weak_password"] = {"message": weakness.message, "reasons": list(weakness.reasons)}
    return shown


async def _settle(
    accounts: Accounts, asked: Asked, user: User | None, guess: Guess, *, is_right: bool
) -> None:
    """Count the try, and let the project have its say. Raises: AuthError unless the password is right and welcome."""
    decision = Decision()
    if user is not None and user.encrypted_password:
        decision = await accounts.hooks.password_verification_attempt(
            user.id, is_valid=is_right, address=asked.device.address
        )
        if decision.is_rejected and decision.should_logout_user:
            async with accounts.transaction() as transaction:
                await sessions.end_all(transaction, user.id)
    async with accounts.transaction() as transaction:
        if is_right and user is not None and not decision.is_rejected:
            await guess.succeeded(transaction)
            return
        await guess.failed(transaction)
    if decision.is_rejected:
        raise AuthError(Code.INVALID_CREDENTIALS, decision.message or _REJECTED)
    raise refusals.WRONG_CREDENTIALS()


async def _user_of(accounts: Accounts, asked: Asked, body: Body) -> tuple[User | None, Guess]:
    """Find whose password it may be, unless there were too many wrong ones. Raises: AuthError."""
    own = accounts.settings
    if bool(body.email) == bool(body.phone):
        raise AuthError(
            Code.VALIDATION_FAILED, "Only an email address or phone number should be provided on login."
        )
    aud, kind = asked.audience(own.jwt_aud), "email" if body.email else "phone"
    if body.email and not own.email.enable_signup:
        raise refusals.EMAIL_LOGINS_DISABLED()
    if body.phone and not own.sms.enable_signup:
        raise refusals.PHONE_LOGINS_DISABLED()
    try:
        typed = normal_email(body.email) if body.email else normal_phone(body.phone)
        is_address = True
    except AuthError:  # nobody has such an address
        typed, is_address = body.email or body.phone, False
    guess = guess_at(accounts.code_key, kind, aud, typed, address=asked.device.address)
    async with accounts.transaction() as transaction:
        await guess.refuse_early(transaction)
        if not is_address:
            return None, guess
        find = users.find_by_email if body.email else users.find_by_phone
        return await find(transaction, typed, aud), guess
