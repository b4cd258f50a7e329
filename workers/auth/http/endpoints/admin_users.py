"""Users, for administrators: create, show, change, delete. Source: docs/reference/auth.md, sections 16.2 to 16.5."""

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import msgspec

from schemas.http import Response
from schemas.keys.secret_record import SecretRecord
from schemas.settings.types import Duration
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.passwords.leaked import reject_weak
from workers.auth.accounts.passwords.strength import reject_unusable
from workers.auth.accounts.sessions import sessions
from workers.auth.accounts.users import account_changes, users
from workers.auth.flows.address_checks import reject_taken_email, reject_taken_phone
from workers.auth.http.caller import acting_admin, require_admin
from workers.auth.http.context import EndpointContext
from workers.auth.http.path_user import lock_path_user, path_user, path_user_id
from workers.auth.model import rejections
from workers.auth.model.addresses import normal_email, normal_phone
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.request import AuthRequest, json_response
from workers.auth.model.rows import AuthUser, Metadata, NewUser
from workers.auth.model.user_json import merged_metadata, user_json, with_providers
from workers.credentials.password_hashes import UnreadableHash, read_hash
from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import Transaction

_REFERRED_TO = ("23503", "23001")
"""SQLSTATEs of a foreign key that prevents a delete (the second: `on delete restrict`, from Postgres 18 on)."""


class AdminUserBody(SecretRecord, msgspec.Struct):
    """The body that creates or changes a user."""

    email: str | None = None
    phone: str | None = None
    password: str | None = None
    password_hash: str | None = None
    email_confirm: bool = False
    phone_confirm: bool = False
    user_metadata: Metadata | None = None
    app_metadata: Metadata | None = None
    role: str | None = None
    aud: str | None = None
    id: UUID | None = None
    ban_duration: str | None = None


class UserDeletionBody(msgspec.Struct):
    """How a user is deleted."""

    should_soft_delete: bool = False


async def create(context: EndpointContext, request: AuthRequest) -> Response:
    """Create a user. Raises: AuthError (400, 422, 409)."""
    await require_admin(context, request)
    body, client = request.read(AdminUserBody), request.device.address
    if not body.email and not body.phone:
        raise AuthError(ErrorCode.VALIDATION_FAILED, "Cannot create a user without either an email or phone")
    new = _new(context, body)
    async with context.transaction() as transaction:
        await _refuse_taken(context, transaction, new.email, new.phone, new.aud)
    new = replace(new, password_hash=await _digest(context, body) or "")
    await context.hooks.before_user_created(new, client)
    async with context.transaction() as transaction:
        user = await users.create(transaction, new)
        await _record(context, transaction, request, AuditAction.USER_SIGNED_UP, user)
    await context.hooks.after_user_created(user, client)
    return json_response(user_json(user))


async def show(context: EndpointContext, request: AuthRequest) -> Response:
    """Return a user, or what is left of a softly deleted one. Raises: AuthError."""
    await require_admin(context, request)
    async with context.transaction() as transaction:
        user = await path_user(transaction, request, even_deleted=True)
    return json_response(user_json(user))


async def update(context: EndpointContext, request: AuthRequest) -> Response:
    """Change a user; all changes take effect at once. Raises: AuthError."""
    await require_admin(context, request)
    body, now = request.read(AdminUserBody), context.now()
    email = normal_email(body.email) if body.email else ""
    phone = normal_phone(body.phone) if body.phone else ""
    banned_until = _banned_until(body.ban_duration, now)
    async with context.transaction() as transaction:
        await path_user(transaction, request)
    digest = await _digest(context, body)
    async with context.transaction() as transaction:
        user = await lock_path_user(transaction, request)
        await _refuse_taken(context, transaction, email, phone, user.aud or "", user.id)
        if body.ban_duration:
            await users.ban(transaction, user.id, banned_until)
        changed = await users.change(transaction, user, _change(user, body, email, phone, digest, now))
        if context.settings.email.identity_on_password:
            changed = await account_changes.identify_by_password(transaction, user, changed)
        changed = await _settle(transaction, changed, body, is_password_new=digest is not None)
        if digest is not None:
            await _record(context, transaction, request, AuditAction.USER_UPDATED_PASSWORD, changed)
        await _record(context, transaction, request, AuditAction.USER_MODIFIED, changed)
    return json_response(user_json(changed))


async def delete(context: EndpointContext, request: AuthRequest) -> Response:
    """Delete a user, or what is left of a softly deleted one.

    Raises: AuthError (404); (409) naming the table whose rows refer to the user.
    """
    await require_admin(context, request)
    id, softly = path_user_id(request), request.read(UserDeletionBody).should_soft_delete
    try:
        async with context.transaction() as transaction:
            await users.lock(transaction, id)
            user = await users.find_by_id(transaction, id) or AuthUser(id)
            if not await users.delete(transaction, id, softly=softly):
                raise rejections.USER_NOT_FOUND()
            if softly:
                await sessions.end_all(transaction, id)
            await _record(context, transaction, request, AuditAction.USER_DELETED, user)
    except DatabaseError as error:
        if error.code not in _REFERRED_TO or not error.table:
            raise
        raise rejections.USER_IN_USE(
            schema=error.schema, table=error.table, constraint=error.constraint
        ) from None
    return json_response({})


def _new(context: EndpointContext, body: AdminUserBody) -> NewUser:
    """Return the user to be created, without its password. Raises: AuthError (400)."""
    settings, now = context.settings, context.now()
    if body.id is not None and body.id.int == 0:
        raise AuthError(ErrorCode.VALIDATION_FAILED, "id must not be the UUID of nobody")
    email = normal_email(body.email) if body.email else ""
    phone = normal_phone(body.phone) if body.phone else ""
    providers = [name for name, address in (("email", email), ("phone", phone)) if address]
    is_confirmed = bool(email) and body.email_confirm
    confirmed: Metadata = {"email_verified": True} if is_confirmed else {}
    return NewUser(
        aud=body.aud or settings.jwt_aud,
        role=body.role or settings.jwt_default_group_name,
        email=email,
        phone=phone,
        email_confirmed_at=now if is_confirmed else None,
        phone_confirmed_at=now if phone and body.phone_confirm else None,
        app_metadata=merged_metadata(
            {"provider": providers[0], "providers": providers}, body.app_metadata or {}
        ),
        user_metadata={**(body.user_metadata or {}), **confirmed},
        banned_until=_banned_until(body.ban_duration, now),
        id=body.id or uuid4(),
    )


def _change(
    user: AuthUser, body: AdminUserBody, email: str, phone: str, digest: str | None, now: datetime
) -> users.UserChange:
    """Return what changes of a user. An address that takes effect at once cancels a pending change."""
    is_email_confirmed = body.email_confirm and bool(email or user.email)
    is_phone_confirmed = body.phone_confirm and bool(phone or user.phone)
    data = (body.user_metadata or {}) | ({"email_verified": True} if is_email_confirmed else {})
    becomes_permanent = user.is_anonymous and (is_email_confirmed or is_phone_confirmed)
    return users.UserChange(
        email=email or None,
        phone=phone or None,
        password_hash=digest,
        user_metadata=merged_metadata(user.raw_user_meta_data, data) if data else None,
        app_metadata=_app_metadata(user, body),
        role=body.role or None,
        email_confirmed_at=now if is_email_confirmed else None,
        phone_confirmed_at=now if is_phone_confirmed else None,
        is_anonymous=False if becomes_permanent else None,
        email_change="" if email else None,
        email_change_status=0 if email else None,
        phone_change="" if phone else None,
    )


async def _settle(
    transaction: Transaction, user: AuthUser, body: AdminUserBody, *, is_password_new: bool
) -> AuthUser:
    """Update identities, codes and sessions after a change."""
    if body.email_confirm:
        await users.verify_identity(transaction, user.id, "email")
    if body.phone_confirm:
        await users.verify_identity(transaction, user.id, "phone")
    if body.email_confirm or body.phone_confirm:
        await users.forget_codes(transaction, user.id)
    if is_password_new:
        await sessions.end_all(transaction, user.id)
    return await users.find_by_id(transaction, user.id) or user


def _app_metadata(user: AuthUser, body: AdminUserBody) -> Metadata | None:
    """Return the app metadata after a change, with the providers of new addresses; None if they stay as they are."""
    providers = {identity.provider for identity in user.identities}
    addresses = (("email", body.email), ("phone", body.phone))
    added = [provider for provider, address in addresses if address and provider not in providers]
    if not added and body.app_metadata is None:
        return None
    old = with_providers(user.raw_app_meta_data, added) if added else user.raw_app_meta_data
    return merged_metadata(old, body.app_metadata or {})


async def _refuse_taken(
    context: EndpointContext,
    transaction: Transaction,
    email: str,
    phone: str,
    aud: str,
    but: UUID | None = None,
) -> None:
    if email:
        await reject_taken_email(context, transaction, email, aud, but)
    if phone:
        await reject_taken_phone(transaction, phone, aud, but)


async def _record(
    context: EndpointContext,
    transaction: Transaction,
    request: AuthRequest,
    action: AuditAction,
    user: AuthUser,
) -> None:
    await audit.record(context, transaction, request, action, acting_admin(request), audit.user_traits(user))


async def _digest(context: EndpointContext, body: AdminUserBody) -> str | None:
    """Return the hash of the password that an administrator sets, or the hash that was passed."""
    if body.password and body.password_hash:
        raise AuthError(ErrorCode.VALIDATION_FAILED, "Only a password or a password hash should be provided")
    if body.password_hash:
        try:
            read_hash(body.password_hash)
        except UnreadableHash:
            raise AuthError(ErrorCode.VALIDATION_FAILED, "The password hash is of no known kind") from None
        return body.password_hash
    if not body.password:
        return None
    reject_unusable(body.password, context.strength)
    await reject_weak(context, body.password)
    return await context.hashing.hash(body.password)


def _banned_until(duration: str | None, now: datetime) -> datetime | None:
    """Parse `24h30m`, `300ms`, or `none`; at most a century. A number without a unit is rejected. Raises: AuthError (400)."""
    if not duration or duration == "none":
        return None
    try:
        if not duration[-1].isalpha():
            raise ValueError
        return now + timedelta(seconds=Duration(duration))
    except ValueError:
        raise AuthError(
            ErrorCode.VALIDATION_FAILED,
            "invalid format for ban duration: give numbers with units, as 24h30m, or none",
        ) from None
