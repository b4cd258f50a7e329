"""POST /otp and POST /magiclink: sends a code by email or phone; an unknown address gets a new user.

Source: docs/reference/auth.md, sections 5.2 and 5.3.
"""

import msgspec

from schemas.http import Response
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.codes import code_messages
from workers.auth.accounts.codes.one_time import CodeKind
from workers.auth.accounts.users import users
from workers.auth.flows import captcha, sign_up
from workers.auth.http.context import EndpointContext
from workers.auth.http.redirect_target import redirect_target
from workers.auth.model import rejections
from workers.auth.model.addresses import normal_email, normal_phone
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.pkce import parse_challenge
from workers.auth.model.rate_limits import account_limit, count_request
from workers.auth.model.request import AuthRequest, json_response
from workers.auth.model.rows import AuthUser, Metadata, NewUser
from workers.database.transactions.interactive import Transaction


class OtpOptions(msgspec.Struct, rename="camel"):
    """Members that older clients send one level below."""

    redirect_to: str | None = None
    email_redirect_to: str | None = None
    should_create_user: bool | None = None
    data: Metadata | None = None
    channel: str | None = None


class OtpBody(msgspec.Struct):
    """The address that gets a code, and options."""

    email: str = ""
    phone: str = ""
    create_user: bool | None = None
    data: Metadata | None = None
    channel: str = ""
    code_challenge: str = ""
    code_challenge_method: str = ""
    redirect_to: str | None = None
    options: OtpOptions = msgspec.field(default_factory=OtpOptions)

    @property
    def metadata(self) -> Metadata | None:
        """Return the metadata of a new user."""
        return self.data if self.data is not None else self.options.data

    @property
    def may_create(self) -> bool:
        """Return whether a user may be created."""
        first = (self.create_user, self.options.should_create_user)
        return next((choice for choice in first if choice is not None), True)


async def otp(context: EndpointContext, request: AuthRequest) -> Response:
    """Send a code to an address or a number. Raises: AuthError."""
    await count_request(
        context.database, account_limit(context.settings.rate_limit, "otp"), request.device.address
    )
    body = request.read(OtpBody)
    _reject_disabled(context, body)
    await captcha.check(context, request)
    if body.email and body.phone:
        raise rejections.TWO_ADDRESSES()
    if body.email:
        if body.channel:
            raise AuthError(ErrorCode.VALIDATION_FAILED, "Channel should only be specified with Phone OTP")
        return await _by_mail(context, request, body)
    if not body.phone:
        raise rejections.ONE_ADDRESS()
    return await _by_phone(context, request, body)


async def magiclink(context: EndpointContext, request: AuthRequest) -> Response:
    """Send a link to an address. Raises: AuthError."""
    limit = account_limit(context.settings.rate_limit, "magiclink")
    await count_request(context.database, limit, request.device.address)
    _reject_mail_disabled(context)
    await captcha.check(context, request)
    body = request.read(OtpBody)
    if not body.email:
        raise rejections.NO_EMAIL(status=422)
    return await _by_mail(context, request, body)


def _reject_disabled(context: EndpointContext, body: OtpBody) -> None:
    """Raise if the kind of address is not offered, before anything else is checked. Raises: AuthError (400, 422)."""
    if body.email and not body.phone:
        _reject_mail_disabled(context)
    elif body.phone and not body.email and not context.settings.sms.enable_signup:
        raise rejections.UNSUPPORTED_PHONE_PROVIDER()


def _reject_mail_disabled(context: EndpointContext) -> None:
    email = context.settings.email
    if not email.enable_signup:
        raise rejections.EMAIL_LOGINS_DISABLED()
    if not email.magic_link_enabled:
        raise AuthError(ErrorCode.EMAIL_PROVIDER_DISABLED, "Login with magic link is disabled")


async def _by_mail(context: EndpointContext, request: AuthRequest, body: OtpBody) -> Response:
    settings, client = context.settings, request.device.address
    challenge = parse_challenge(body.code_challenge, body.code_challenge_method)
    email = normal_email(body.email)
    context.outbox.refuse_address(email)
    await context.outbox.refuse_unreachable(email)
    options = body.options
    target = redirect_target(
        context, request, body.redirect_to, options.redirect_to, options.email_redirect_to
    )
    new = sign_up.new_user(context, request.audience(settings.jwt_aud), email=email, data=body.metadata)

    async def send(transaction: Transaction, user: AuthUser) -> None:
        is_known = sign_up.has_confirmed(user, new) or sign_up.is_confirmed_at_once(context, new)
        await _forget_password(transaction, user, new)
        purpose = code_messages.MAGIC_LINK if is_known else code_messages.SIGNUP
        await code_messages.enforce_pause(context, transaction, "otp", email, new.aud)
        await _record(context, transaction, request, user, new)
        mail = await code_messages.prepare_mail(
            context, transaction, user, purpose, target, challenge, client, is_paced=True
        )
        await code_messages.send_message(context, transaction, mail)

    await sign_up.with_account(context, new, client, lambda: _reject_new(context, body), send)
    return json_response({})


async def _by_phone(context: EndpointContext, request: AuthRequest, body: OtpBody) -> Response:
    settings, client = context.settings, request.device.address
    phone, channel = normal_phone(body.phone), body.channel or body.options.channel or "sms"
    context.outbox.refuse_unsendable(phone, channel)
    new = sign_up.new_user(context, request.audience(settings.jwt_aud), phone=phone, data=body.metadata)

    async def send(transaction: Transaction, user: AuthUser) -> str:
        await _forget_password(transaction, user, new)
        await _record(context, transaction, request, user, new)
        await code_messages.enforce_pause(context, transaction, "otp", phone, new.aud)
        text = await code_messages.prepare_text(
            context, transaction, user, CodeKind.CONFIRMATION, phone, channel, client, is_paced=True
        )
        return await code_messages.send_message(context, transaction, text)

    message_id, is_new = await sign_up.with_account(
        context, new, client, lambda: _reject_new(context, body), send
    )
    return json_response({"message_id": message_id} if message_id and not is_new else {})


async def _forget_password(transaction: Transaction, user: AuthUser, new: NewUser) -> None:
    """Remove the password of an unconfirmed user: whoever requests a code need not be the one who chose it.

    Otherwise the owner of the address would confirm, with the code, the password of an attacker who signed up with the address.
    """
    if user.encrypted_password and not sign_up.has_confirmed(user, new):
        await users.change(transaction, user, users.UserChange(password_hash=""))


async def _record(
    context: EndpointContext, transaction: Transaction, request: AuthRequest, user: AuthUser, new: NewUser
) -> None:
    """Write the audit entries: a code was requested, and a user was created if it can sign in at once."""
    is_confirmed, traits = sign_up.has_confirmed(user, new), {"provider": new.provider}
    if is_confirmed and user.id == new.id:
        await audit.record(context, transaction, request, AuditAction.USER_SIGNED_UP, user, traits)
    action = AuditAction.USER_RECOVERY_REQUESTED if is_confirmed else AuditAction.USER_CONFIRMATION_REQUESTED
    await audit.record(context, transaction, request, action, user, traits)


def _reject_new(context: EndpointContext, body: OtpBody) -> None:
    """Raise if no user may be created. Raises: AuthError (422)."""
    if not body.may_create:
        raise rejections.OTP_SIGNUPS_DISABLED()
    if not context.settings.enable_signup:
        raise rejections.SIGNUP_DISABLED()
