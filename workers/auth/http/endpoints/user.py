"""GET and PUT /user: the caller's own account. Source: docs/reference/auth.md, section 6.

A new address is pending until it is confirmed (`address_changes.py`). It takes effect at once where confirmations are
disabled: for numbers, and for the first email address of an anonymous user.
"""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import msgspec

from schemas.http import Response
from schemas.keys.secret_record import SecretRecord
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.codes import code_messages
from workers.auth.accounts.codes.code_messages import CodeText
from workers.auth.accounts.users import account_changes, users
from workers.auth.delivery.email.emails import OutgoingEmail
from workers.auth.delivery.sms.sender import SmsChannel
from workers.auth.delivery.user_notices import send_change_notices
from workers.auth.flows import address_changes
from workers.auth.flows.address_checks import reject_taken_email, reject_taken_phone
from workers.auth.http.caller import SignedInCaller, find_caller, read_caller
from workers.auth.http.context import EndpointContext
from workers.auth.http.endpoints import user_password
from workers.auth.http.redirect_target import redirect_target
from workers.auth.model import rejections
from workers.auth.model.addresses import normal_email, normal_phone
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.pkce import CodeChallenge, parse_challenge
from workers.auth.model.rate_limits import account_limit, count_request
from workers.auth.model.request import AuthRequest, json_response
from workers.auth.model.rows import AuthUser, Metadata
from workers.auth.model.user_json import merged_metadata, user_json, with_providers
from workers.database.transactions.interactive import Transaction


class UserBody(SecretRecord, msgspec.Struct):
    """What a user may change."""

    email: str = ""
    phone: str = ""
    password: str | None = None
    data: Metadata | None = None
    app_metadata: Metadata | None = None
    current_password: str = ""
    nonce: str = ""
    channel: str = ""
    code_challenge: str = ""
    code_challenge_method: str = ""


@dataclass(frozen=True, slots=True)
class UserUpdate:
    """A requested change: normalised new addresses, empty for none, and whether they take effect at once."""

    body: UserBody
    email: str
    phone: str
    is_email_at_once: bool
    is_phone_at_once: bool

    @property
    def concerns_access(self) -> bool:
        """Return whether the change affects how the user signs in."""
        return bool(self.email or self.phone) or self.body.password is not None


async def show(context: EndpointContext, request: AuthRequest) -> Response:
    """Return the caller's account. Raises: AuthError."""
    caller = await read_caller(context, request)
    audience = request.audience(caller.user.aud or "")
    if audience != (caller.user.aud or ""):
        raise AuthError(ErrorCode.VALIDATION_FAILED, "Token audience doesn't match request audience")
    return json_response(user_json(caller.user))


async def update(context: EndpointContext, request: AuthRequest) -> Response:
    """Change the caller's account. Raises: AuthError, as the table of section 6.2 lists them."""
    body, client = request.read(UserBody), request.device.address
    await count_request(context.database, account_limit(context.settings.rate_limit, "user"), client)
    challenge = parse_challenge(body.code_challenge, body.code_challenge_method)
    async with context.transaction() as transaction:
        caller = await find_caller(context, request, transaction)
        changes = _read_update(context, caller.user, body)
        await _reject(context, transaction, request, caller, changes)
    if changes.email and not changes.is_email_at_once:
        await context.outbox.refuse_unreachable(changes.email)
    new = None
    if body.password is not None:
        new = await user_password.check(
            context, request, caller, body.password, body.current_password, body.nonce
        )
    async with _sending(context, changes) as transaction:
        # Hashing took time: lock the user and check everything again.
        await users.lock(transaction, caller.user.id)
        caller = await find_caller(context, request, transaction)
        changes = _read_update(context, caller.user, body)
        await _reject(context, transaction, request, caller, changes)
        if new is not None:
            await user_password.settle(transaction, caller, new)
            await audit.record(context, transaction, request, AuditAction.USER_UPDATED_PASSWORD, caller.user)
        digest = None if new is None else new.digest
        changed = await users.change(transaction, caller.user, _change(context, caller.user, changes, digest))
        if context.settings.email.identity_on_password:
            changed = await account_changes.identify_by_password(transaction, caller.user, changed)
        messages = await _messages(context, transaction, request, changed, changes, challenge)
        await audit.record(context, transaction, request, AuditAction.USER_MODIFIED, changed)
        if new is not None:
            user_password.reject_same(new)
        changed = await users.find_by_id(transaction, changed.id) or changed
        for message in messages:
            await code_messages.send_message(context, transaction, message)
    await send_change_notices(context, caller.user, changed, is_password_new=new is not None)
    return json_response(user_json(changed))


def _sending(context: EndpointContext, changes: UserUpdate) -> AbstractAsyncContextManager[Transaction]:
    """Open the transaction of a change; one that sends messages waits for its turn."""
    if changes.phone and not changes.is_phone_at_once:
        return context.sending(changes.phone)
    if changes.email and not changes.is_email_at_once:
        return context.sending(changes.email)
    return context.transaction()


def _read_update(context: EndpointContext, user: AuthUser, body: UserBody) -> UserUpdate:
    """Read the requested change; the address that the user already has is not a change. Raises: AuthError (400)."""
    settings = context.settings
    email = normal_email(body.email) if body.email else ""
    phone = normal_phone(body.phone) if body.phone else ""
    if phone and body.channel and body.channel not in {*SmsChannel}:
        raise rejections.BAD_CHANNEL()
    return UserUpdate(
        body,
        email="" if email == (user.email or "").lower() else email,
        phone="" if phone == user.phone else phone,
        is_email_at_once=user.is_anonymous and not settings.email.enable_confirmations,
        is_phone_at_once=not settings.sms.enable_confirmations,
    )


async def _reject(
    context: EndpointContext,
    transaction: Transaction,
    request: AuthRequest,
    caller: SignedInCaller,
    changes: UserUpdate,
) -> None:
    """Raise if the caller may not make the change. Raises: AuthError (401, 403, 422)."""
    user, session = caller.user, caller.session
    if changes.body.app_metadata is not None and request.bearer.role not in context.settings.jwt_admin_roles:
        raise rejections.NOT_ADMIN()
    is_sure = not user.has_verified_factor or (session is not None and session.aal == "aal2")
    if changes.concerns_access and not is_sure:
        raise rejections.UPDATE_NEEDS_AAL2()
    if changes.concerns_access and user.is_sso_user:
        raise rejections.UPDATE_NEEDS_SSO()
    if user.is_anonymous and changes.body.password and not (changes.email or changes.phone):
        raise rejections.NO_ADDRESS_FOR_PASSWORD()
    if changes.email:
        await reject_taken_email(context, transaction, changes.email, user.aud or "", user.id)
    if changes.phone:
        await reject_taken_phone(transaction, changes.phone, user.aud or "", user.id)


def _change(
    context: EndpointContext, user: AuthUser, changes: UserUpdate, digest: str | None
) -> users.UserChange:
    """Return what changes at once."""
    body, now = changes.body, context.now()
    email = changes.email if changes.is_email_at_once else ""
    phone = changes.phone if changes.is_phone_at_once else ""
    providers = [provider for provider, address in (("email", email), ("phone", phone)) if address]
    data = (body.data or {}) | {f"{provider}_verified": True for provider in providers}
    app_metadata = with_providers(user.raw_app_meta_data, providers) if providers else None
    if body.app_metadata is not None:
        app_metadata = merged_metadata(app_metadata or user.raw_app_meta_data, body.app_metadata)
    return users.UserChange(
        email=email or None,
        phone=phone or None,
        password_hash=digest,
        user_metadata=merged_metadata(user.raw_user_meta_data, data) if data else None,
        app_metadata=app_metadata,
        email_confirmed_at=now if email else None,
        phone_confirmed_at=now if phone else None,
        is_anonymous=False if user.is_anonymous and providers else None,
        email_change="" if email else None,
        phone_change="" if phone else None,
        is_proven=False,
    )


async def _messages(
    context: EndpointContext,
    transaction: Transaction,
    request: AuthRequest,
    user: AuthUser,
    changes: UserUpdate,
    challenge: CodeChallenge | None,
) -> list[OutgoingEmail | CodeText]:
    """Store addresses that must be confirmed as pending, and prepare their messages. Raises: AuthError (400, 422, 429)."""
    client, messages = request.device.address, list[OutgoingEmail | CodeText]()
    if changes.email and not changes.is_email_at_once:
        mail = await address_changes.begin_email_change(
            context, transaction, user, changes.email, redirect_target(context, request), challenge, client
        )
        messages.append(mail)
    if changes.phone and not changes.is_phone_at_once:
        text = await address_changes.begin_phone_change(
            context, transaction, user, changes.phone, changes.body.channel or SmsChannel.SMS, client
        )
        messages.append(text)
    return messages
