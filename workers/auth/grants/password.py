"""grant_type=password. Source: reference page "auth", section 4.2."""

import msgspec

from workers.auth import refusals, sessions, users
from workers.auth.addresses import normal_email, normal_phone
from workers.auth.asked import Asked
from workers.auth.claims import Method
from workers.auth.context import Accounts
from workers.auth.error_codes import Code
from workers.auth.errors import AuthError
from workers.auth.rows import User
from workers.auth.shown import Shown
from workers.auth.strength import weakness_of


class Body(msgspec.Struct):
    """Body of a sign-in."""

    email: str = ""
    phone: str = ""
    password: str = ""


async def password(accounts: Accounts, asked: Asked) -> Shown:
    """Give a session to who knows the password of an address. Raises: AuthError."""
    body = asked.read(Body)
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
    shown = await accounts.session_shown(found or user, granted)
    weakness = weakness_of(body.password, accounts.strength)
    if weakness is not None:
        shown["weak_password"] = {"message": weakness.message, "reasons": list(weakness.reasons)}
    return shown


async def _user_of(accounts: Accounts, asked: Asked, body: Body) -> User | None:
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
