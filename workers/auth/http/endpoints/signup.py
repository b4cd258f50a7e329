"""POST /signup: creates a user with an address and a password, or an anonymous one.

Where addresses must be confirmed, the response must not reveal whether an address is registered: for a confirmed one it
contains a user that does not exist. Source: docs/reference/auth.md, sections 4.1 and 4.5.
"""

import msgspec

from schemas.http import Response
from schemas.keys.secret_record import SecretRecord
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.codes import code_messages
from workers.auth.accounts.codes.code_messages import CodeText
from workers.auth.accounts.codes.one_time import CodeKind
from workers.auth.accounts.passwords.leaked import reject_weak
from workers.auth.accounts.passwords.strength import reject_unusable
from workers.auth.accounts.users import users
from workers.auth.delivery.email.emails import OutgoingEmail
from workers.auth.flows import captcha, sign_up
from workers.auth.http.context import EndpointContext
from workers.auth.http.redirect_target import redirect_target
from workers.auth.model import rejections
from workers.auth.model.addresses import normal_email, normal_phone
from workers.auth.model.claims import SignInMethod
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.pkce import CodeChallenge, parse_challenge
from workers.auth.model.rate_limits import account_limit, anonymous_limit, count_request
from workers.auth.model.request import AuthRequest, json_response
from workers.auth.model.rows import AuthUser, Metadata, NewUser
from workers.auth.model.user_json import JsonObject, user_json
from workers.database.transactions.interactive import Transaction


class SignupBody(SecretRecord, msgspec.Struct):
    """The body of a sign-up."""

    email: str = ""
    phone: str = ""
    password: str | None = None
    data: Metadata | None = None
    channel: str = "sms"
    code_challenge: str = ""
    code_challenge_method: str = ""


async def signup(context: EndpointContext, request: AuthRequest) -> Response:
    """Create a user, and its first session or the message that confirms its address.

    Raises: AuthError, as the table of section 4.1 lists them.
    """
    settings = context.settings
    if not settings.enable_signup:
        raise rejections.SIGNUP_DISABLED()
    body = request.read(SignupBody)
    is_anonymous = not body.email and not body.phone
    if is_anonymous and not settings.enable_anonymous_sign_ins:
        raise rejections.ANONYMOUS_DISABLED()
    limit = (
        anonymous_limit(settings.rate_limit) if is_anonymous else account_limit(settings.rate_limit, "signup")
    )
    await count_request(context.database, limit, request.device.address)
    await captcha.check(context, request)
    if is_anonymous:
        return json_response(await _anonymous(context, request, body))
    if body.email and body.phone:
        raise AuthError(
            ErrorCode.VALIDATION_FAILED, "Only an email address or phone number should be provided on signup."
        )
    if not body.password:
        raise rejections.NO_PASSWORD()
    reject_unusable(body.password, context.strength)
    challenge = parse_challenge(body.code_challenge, body.code_challenge_method)
    email, phone = _address(context, body)
    if email and settings.email.enable_confirmations:
        await context.outbox.refuse_unreachable(email)
    await reject_weak(context, body.password)
    # Timing: hash for registered addresses as well.
    digest = await context.hashing.hash(body.password)
    new = sign_up.new_user(
        context,
        request.audience(settings.jwt_aud),
        email=email,
        phone=phone,
        password_hash=digest,
        data=body.data,
    )
    if sign_up.is_confirmed_at_once(context, new):
        return json_response(await _at_once(context, request, new))
    return json_response(await _to_be_confirmed(context, request, new, body, challenge))


def _address(context: EndpointContext, body: SignupBody) -> tuple[str, str]:
    settings, outbox = context.settings, context.outbox
    if body.email:
        if not settings.email.enable_signup:
            raise AuthError(ErrorCode.EMAIL_PROVIDER_DISABLED, "Email signups are disabled", 400)
        email = normal_email(body.email)
        if settings.email.enable_confirmations:
            outbox.refuse_address(email)
        return email, ""
    if not settings.sms.enable_signup:
        raise AuthError(ErrorCode.PHONE_PROVIDER_DISABLED, "Phone signups are disabled", 400)
    phone = normal_phone(body.phone)
    if settings.sms.enable_confirmations:
        outbox.refuse_unsendable(phone, body.channel)
    return "", phone


async def _at_once(context: EndpointContext, request: AuthRequest, new: NewUser) -> JsonObject:
    """Create a user whose address counts as confirmed, and its session."""

    async def register(transaction: Transaction, user: AuthUser) -> AuthUser | None:
        is_new = user.id == new.id
        action = AuditAction.USER_SIGNED_UP if is_new else AuditAction.USER_REPEATED_SIGN_UP
        await audit.record(context, transaction, request, action, user, {"provider": new.provider})
        return user if is_new else None

    user, _ = await sign_up.with_account(context, new, request.device.address, sign_up.allow_any, register)
    if user is None:
        raise rejections.ALREADY_REGISTERED()
    async with context.transaction() as transaction:
        more = audit.login(context, request, user, new.provider, SignInMethod.PASSWORD)
        grant = await context.start_session(
            transaction, user, SignInMethod.PASSWORD, request.device, more=more
        )
        current = await users.find_by_id(transaction, user.id)
    return await context.session_json(current or user, grant)


async def _to_be_confirmed(
    context: EndpointContext,
    request: AuthRequest,
    new: NewUser,
    body: SignupBody,
    challenge: CodeChallenge | None,
) -> JsonObject:
    """Create a user unless there is one, and send the message that confirms the address."""
    client, traits = request.device.address, {"provider": new.provider}

    async def confirm(transaction: Transaction, user: AuthUser) -> AuthUser | None:
        address = new.email or new.phone
        await code_messages.enforce_pause(context, transaction, "signup", address, new.aud)
        if sign_up.has_confirmed(user, new):
            await code_messages.count_unsent(context, address)
            await audit.record(context, transaction, request, AuditAction.USER_REPEATED_SIGN_UP, user, traits)
            return None
        message = await _message(context, request, transaction, user, body, new, challenge)
        await audit.record(
            context, transaction, request, AuditAction.USER_CONFIRMATION_REQUESTED, user, traits
        )
        user = await users.find_by_id(transaction, user.id) or user
        await code_messages.send_message(context, transaction, message)
        return user

    user, _ = await sign_up.with_account(context, new, client, sign_up.allow_any, confirm)
    if user is None:
        return _nonexistent(context, new, body.data or {})
    # An administrator wrote the metadata of an invited user: the client of a sign-up must not read it.
    if user.invited_at is not None:
        user = msgspec.structs.replace(user, raw_user_meta_data={}, identities=())
    return user_json(user)


async def _message(
    context: EndpointContext,
    request: AuthRequest,
    transaction: Transaction,
    user: AuthUser,
    body: SignupBody,
    new: NewUser,
    challenge: CodeChallenge | None,
) -> OutgoingEmail | CodeText:
    """Prepare the message that confirms the address. Raises: AuthError (400, 422, 429)."""
    client = request.device.address
    if new.email:
        target = redirect_target(context, request)
        return await code_messages.prepare_mail(
            context, transaction, user, code_messages.SIGNUP, target, challenge, client, is_paced=True
        )
    return await code_messages.prepare_text(
        context, transaction, user, CodeKind.CONFIRMATION, new.phone, body.channel, client, is_paced=True
    )


def _nonexistent(context: EndpointContext, new: NewUser, data: Metadata) -> JsonObject:
    """Return a user that does not exist: like a new one, but without identities and role."""
    now = context.now()
    user = AuthUser(
        id=new.id,
        aud=new.aud,
        role="",
        email=new.email,
        phone=new.phone,
        confirmation_sent_at=now,
        raw_app_meta_data=new.app_metadata,
        raw_user_meta_data=data,
        created_at=now,
        updated_at=now,
    )
    return user_json(user)


async def _anonymous(context: EndpointContext, request: AuthRequest, body: SignupBody) -> JsonObject:
    settings, client = context.settings, request.device.address
    new = NewUser(
        aud=request.audience(settings.jwt_aud),
        role=settings.jwt_default_group_name,
        user_metadata=body.data or {},
        is_anonymous=True,
    )
    await context.hooks.before_user_created(new, client)
    async with context.transaction() as transaction:
        user = await users.create(transaction, new)
        await audit.record(
            context, transaction, request, AuditAction.USER_SIGNED_UP, user, {"provider": new.provider}
        )
    await context.hooks.after_user_created(user, client)
    async with context.transaction() as transaction:
        more = audit.login(context, request, user, new.provider, SignInMethod.ANONYMOUS)
        grant = await context.start_session(
            transaction, user, SignInMethod.ANONYMOUS, request.device, more=more
        )
        current = await users.find_by_id(transaction, user.id)
    return await context.session_json(current or user, grant)
