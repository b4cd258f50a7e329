"""POST /resend: a message that is waited for, once more. Nobody learns from it what is waited for.

Source: reference page "auth", section 5.5.
"""

import msgspec

from schemas.http import Response
from workers.auth import audit
from workers.auth.accounts.codes.limits import account_limit, take
from workers.auth.accounts.codes.one_time import Kind
from workers.auth.accounts.users import address_changes, users
from workers.auth.accounts.users.addresses import normal_email, normal_phone
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.delivery.email import letters
from workers.auth.delivery.email.letters import Text
from workers.auth.delivery.email.mails import Mail
from workers.auth.flows import captcha
from workers.auth.flows.pkce import Challenge, parse_challenge
from workers.auth.http.endpoints.target import target_of
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked, answer
from workers.auth.model.rows import User
from workers.database.interactive import Transaction

_BY_MAIL, _BY_PHONE = ("signup", "email_change"), ("sms", "phone_change")
_PACES = {"signup": "signup", "sms": "signup", "email_change": "email_change", "phone_change": "phone_change"}
"""What a request keeps the pause of: the message of a sign-up is the same whichever endpoint sends it."""


class Body(msgspec.Struct):
    """What is waited for, and by whom."""

    type: str = ""
    email: str = ""
    phone: str = ""
    code_challenge: str = ""
    code_challenge_method: str = ""
    redirect_to: str | None = None


async def resend(accounts: Accounts, asked: Asked) -> Response:
    """Send a message once more if somebody waits for it. Raises: AuthError."""
    own, client = accounts.settings, asked.device.address
    await take(accounts.database, account_limit(own.rate_limit, "resend"), client)
    await captcha.check(accounts, asked)
    body = asked.read(Body)
    challenge = parse_challenge(body.code_challenge, body.code_challenge_method)
    address, aud = _address(accounts, body), asked.audience(own.jwt_aud)
    if body.type in _BY_MAIL:
        await accounts.outbox.refuse_unreachable(address)
    target = target_of(accounts, asked, body.redirect_to)
    async with accounts.transaction() as transaction:
        await letters.pace(accounts, transaction, _PACES[body.type], address, aud)
        find = users.find_by_phone if body.type in _BY_PHONE else users.find_by_email
        user = await find(transaction, address, aud)
        message = await _message(accounts, transaction, user, body.type, target, challenge, client)
        if message is None:
            await letters.pretend(accounts, transaction, address)
        elif user is not None:
            action, traits = Action.USER_CONFIRMATION_REQUESTED, {"type": body.type}
            await audit.record(accounts, transaction, asked, action, user, traits)
    if isinstance(message, Mail):
        await accounts.outbox.send(message)
    elif message is not None and (message_id := await message.send(accounts)):
        return answer({"message_id": message_id})
    return answer({})


def _address(accounts: Accounts, body: Body) -> str:
    """Give the address that goes with the type. Raises: AuthError (400)."""
    own = accounts.settings
    if body.type not in (*_BY_MAIL, *_BY_PHONE):
        raise rejections.RESEND_TYPE()
    if body.email and body.phone:
        raise rejections.TWO_ADDRESSES()
    if body.type in _BY_MAIL:
        if not body.email:
            raise AuthError(Code.VALIDATION_FAILED, "Type provided requires an email address")
        if not own.email.enable_signup:
            raise rejections.EMAIL_LOGINS_DISABLED(status=400)
        email = normal_email(body.email)
        accounts.outbox.refuse_address(email)
        return email
    if not body.phone:
        raise AuthError(Code.VALIDATION_FAILED, "Type provided requires a phone number")
    if not own.sms.enable_signup:
        raise rejections.PHONE_LOGINS_DISABLED(status=400)
    phone = normal_phone(body.phone)
    accounts.outbox.refuse_unsendable(phone, "sms")
    return phone


async def _message(
    accounts: Accounts,
    transaction: Transaction,
    user: User | None,
    type: str,
    target: str,
    challenge: Challenge | None,
    client: str,
) -> Mail | Text | None:
    """Prepare the message; None if nobody waits for it. Raises: AuthError."""
    if user is None:
        return None
    match type:
        case "signup" if user.email_confirmed_at is None:
            return await letters.prepare_mail(
                accounts, transaction, user, letters.SIGNUP, target, challenge, client, is_paced=True
            )
        case "sms" if user.phone_confirmed_at is None:
            return await letters.prepare_text(
                accounts, transaction, user, Kind.CONFIRMATION, user.phone or "", client=client, is_paced=True
            )
        case "email_change":
            return await address_changes.repeat_email_change(
                accounts, transaction, user, target, challenge, client
            )
        case "phone_change":
            return await address_changes.repeat_phone_change(accounts, transaction, user, client=client)
    return None
