"""POST /signup: an account of an address and a password, or an anonymous one. Source: reference "auth", 4.1 and 4.5.

Accounts are confirmed at once. Where the settings want addresses confirmed, nothing can be sent yet, so a sign-up is
refused instead of leaving an account that nobody can enter.
"""

from dataclasses import replace

import msgspec

from schemas.http import Response
from workers.auth import refusals, sessions, users
from workers.auth.addresses import normal_email, normal_phone
from workers.auth.asked import Asked, answer
from workers.auth.claims import Method
from workers.auth.context import Accounts
from workers.auth.error_codes import Code
from workers.auth.errors import AuthError
from workers.auth.limits import account_limit, anonymous_limit, take
from workers.auth.rows import Metadata
from workers.auth.shown import Shown
from workers.auth.strength import refuse_unusable, weakness_of

_TAKEN = (Code.EMAIL_EXISTS, Code.PHONE_EXISTS)


class Body(msgspec.Struct):
    """What a sign-up brings."""

    email: str = ""
    phone: str = ""
    password: str | None = None
    data: Metadata | None = None


async def signup(accounts: Accounts, asked: Asked) -> Response:
    """Make an account and its first session.

    Raises: AuthError as the table of section 4.1 lists them.
    """
    own = accounts.settings
    if not own.enable_signup:
        raise refusals.SIGNUP_DISABLED()
    body = asked.read(Body)
    is_anonymous = not body.email and not body.phone
    limit = anonymous_limit(own.rate_limit) if is_anonymous else account_limit(own.rate_limit, "signup")
    await take(accounts.database, limit, asked.device.address)
    if is_anonymous:
        return answer(await _anonymous(accounts, asked, body))
    if body.email and body.phone:
        raise AuthError(
            Code.VALIDATION_FAILED, "Only an email address or phone number should be provided on signup."
        )
    if not body.password:
        raise refusals.NO_PASSWORD()
    refuse_unusable(body.password, accounts.strength)
    email, phone = _address(accounts, body)
    weakness = weakness_of(body.password, accounts.strength)
    if weakness is not None:
        raise weakness.refusal()
    return answer(await _with_address(accounts, asked, body, body.password, email, phone))


def _address(accounts: Accounts, body: Body) -> tuple[str, str]:
    own = accounts.settings
    if body.email:
        if not own.email.enable_signup:
            raise AuthError(Code.EMAIL_PROVIDER_DISABLED, "Email signups are disabled", 400)
        return normal_email(body.email), ""
    if not own.sms.enable_signup:
        raise AuthError(Code.PHONE_PROVIDER_DISABLED, "Phone signups are disabled", 400)
    return "", normal_phone(body.phone)


async def _with_address(
    accounts: Accounts, asked: Asked, body: Body, password: str, email: str, phone: str
) -> Shown:
    own, now = accounts.settings, accounts.now()
    if own.email.enable_confirmations if email else own.sms.enable_confirmations:
        raise AuthError(Code.UNEXPECTED_FAILURE, "Confirming addresses is not built yet in this version", 501)
    aud, provider = asked.audience(own.jwt_aud), "email" if email else "phone"
    digest = await accounts.hashing.hash(password)
    async with accounts.transaction() as transaction:
        find, address = (users.find_by_email, email) if email else (users.find_by_phone, phone)
        if await find(transaction, address, aud) is not None:
            raise refusals.ALREADY_REGISTERED()
        new = users.NewUser(
            aud=aud,
            role=own.jwt_default_group_name,
            email=email,
            phone=phone,
            password_hash=digest,
            email_confirmed_at=now if email else None,
            phone_confirmed_at=now if phone else None,
            app_metadata={"provider": provider, "providers": [provider]},
        )
        own_claims: Metadata = {
            "sub": str(new.id), provider: address, "email_verified": bool(email), "phone_verified": bool(phone),
        }  # fmt: skip
        try:
            made = await users.make(
                transaction, replace(new, user_metadata={**(body.data or {}), **own_claims})
            )
        except AuthError as error:  # somebody was quicker with the same address
            raise refusals.ALREADY_REGISTERED() if error.code in _TAKEN else error from None
        granted = await sessions.begin(transaction, made, Method.PASSWORD, asked.device)
        found = await users.find_by_id(transaction, made.id)
    return await accounts.session_shown(found or made, granted)


async def _anonymous(accounts: Accounts, asked: Asked, body: Body) -> Shown:
    own = accounts.settings
    if not own.enable_anonymous_sign_ins:
        raise refusals.ANONYMOUS_DISABLED()
    async with accounts.transaction() as transaction:
        made = await users.make(
            transaction,
            users.NewUser(
                aud=asked.audience(own.jwt_aud),
                role=own.jwt_default_group_name,
                user_metadata=body.data or {},
                is_anonymous=True,
            ),
        )
        granted = await sessions.begin(transaction, made, Method.ANONYMOUS, asked.device)
        found = await users.find_by_id(transaction, made.id)
    return await accounts.session_shown(found or made, granted)
