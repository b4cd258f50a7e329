"""POST /resend: sends a pending message again. The response does not reveal whether a message is pending.

Source: docs/reference/auth.md, section 5.5.
"""

import msgspec

from schemas.http import Response
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.codes import code_messages
from workers.auth.accounts.codes.code_messages import CodeText
from workers.auth.accounts.codes.one_time import CodeKind
from workers.auth.accounts.users import users
from workers.auth.delivery.email.emails import OutgoingEmail
from workers.auth.flows import address_changes, captcha
from workers.auth.http.context import EndpointContext
from workers.auth.http.redirect_target import redirect_target
from workers.auth.model import rejections
from workers.auth.model.addresses import normal_email, normal_phone
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.pkce import CodeChallenge, parse_challenge
from workers.auth.model.rate_limits import account_limit, count_request
from workers.auth.model.request import AuthRequest, json_response
from workers.auth.model.rows import AuthUser
from workers.database.transactions.interactive import Transaction

_BY_MAIL, _BY_PHONE = ("signup", "email_change"), ("sms", "phone_change")
_PAUSE_NAMES = {
    "signup": "signup",
    "sms": "signup",
    "email_change": "email_change",
    "phone_change": "phone_change",
}
"""Under which name the pause is enforced: the message of a sign-up is the same whichever endpoint sends it."""


class ResendBody(msgspec.Struct):
    """The kind of message, and its recipient."""

    type: str = ""
    email: str = ""
    phone: str = ""
    code_challenge: str = ""
    code_challenge_method: str = ""
    redirect_to: str | None = None


async def resend(context: EndpointContext, request: AuthRequest) -> Response:
    """Send a message again if one is pending. Raises: AuthError."""
    settings, client = context.settings, request.device.address
    await count_request(context.database, account_limit(settings.rate_limit, "resend"), client)
    await captcha.check(context, request)
    body = request.read(ResendBody)
    challenge = parse_challenge(body.code_challenge, body.code_challenge_method)
    address, aud = _address(context, body), request.audience(settings.jwt_aud)
    if body.type in _BY_MAIL:
        await context.outbox.refuse_unreachable(address)
    target = redirect_target(context, request, body.redirect_to)
    async with context.sending(address) as transaction:
        if not await code_messages.may_repeat(context, transaction, _PAUSE_NAMES[body.type], address, aud):
            return json_response({})
        find = users.find_by_phone if body.type in _BY_PHONE else users.find_by_email
        user = await find(transaction, address, aud)
        message = await _message(context, transaction, user, body.type, target, challenge, client)
        if user is None or message is None:
            await code_messages.count_unsent(context, address)
            return json_response({})
        action, traits = AuditAction.USER_CONFIRMATION_REQUESTED, {"type": body.type}
        await audit.record(context, transaction, request, action, user, traits)
        message_id = await code_messages.send_message(context, transaction, message)
    return json_response({"message_id": message_id} if message_id else {})


def _address(context: EndpointContext, body: ResendBody) -> str:
    """Return the address for the type. Raises: AuthError (400)."""
    settings = context.settings
    if body.type not in (*_BY_MAIL, *_BY_PHONE):
        raise rejections.RESEND_TYPE()
    if body.email and body.phone:
        raise rejections.TWO_ADDRESSES()
    if body.type in _BY_MAIL:
        if not body.email:
            raise AuthError(ErrorCode.VALIDATION_FAILED, "Type provided requires an email address")
        if not settings.email.enable_signup:
            raise rejections.EMAIL_LOGINS_DISABLED(status=400)
        email = normal_email(body.email)
        context.outbox.refuse_address(email)
        return email
    if not body.phone:
        raise AuthError(ErrorCode.VALIDATION_FAILED, "Type provided requires a phone number")
    if not settings.sms.enable_signup:
        raise rejections.PHONE_LOGINS_DISABLED(status=400)
    phone = normal_phone(body.phone)
    context.outbox.refuse_unsendable(phone, "sms")
    return phone


async def _message(
    context: EndpointContext,
    transaction: Transaction,
    user: AuthUser | None,
    type: str,
    target: str,
    challenge: CodeChallenge | None,
    client: str,
) -> OutgoingEmail | CodeText | None:
    """Prepare the message; None if none is pending. Raises: AuthError."""
    if user is None:
        return None
    match type:
        case "signup" if user.email_confirmed_at is None:
            return await code_messages.prepare_mail(
                context, transaction, user, code_messages.SIGNUP, target, challenge, client, is_paced=True
            )
        case "sms" if user.phone_confirmed_at is None:
            return await code_messages.prepare_text(
                context,
                transaction,
                user,
                CodeKind.CONFIRMATION,
                user.phone or "",
                client=client,
                is_paced=True,
            )
        case "email_change":
            return await address_changes.repeat_email_change(
                context, transaction, user, target, challenge, client
            )
        case "phone_change":
            return await address_changes.repeat_phone_change(context, transaction, user, client=client)
    return None
