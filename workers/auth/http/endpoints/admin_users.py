"""Accounts in the hands of trusted servers: made, seen, changed, deleted. Source: reference page "auth", 16.2 to 16.5."""

import secrets
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import msgspec

from schemas.http import Response
from schemas.settings.types import Duration
from workers.auth import audit
from workers.auth.accounts.passwords.leaked import refuse_weak
from workers.auth.accounts.passwords.passwords import UnreadableHash, read_hash
from workers.auth.accounts.passwords.strength import refuse_unusable
from workers.auth.accounts.sessions import sessions
from workers.auth.accounts.users import users
from workers.auth.accounts.users.addresses import normal_email, normal_phone
from workers.auth.accounts.users.free_addresses import refuse_taken_email, refuse_taken_phone
from workers.auth.accounts.users.shown import merged, user_shown, with_providers
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.http.endpoints.named import locked_user, named_id, named_user
from workers.auth.http.endpoints.present import acting_admin, refuse_unless_admin
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked, answer
from workers.auth.model.rows import Metadata, User
from workers.database.errors import DatabaseError
from workers.database.interactive import Transaction

_REFERRED_TO = ("23503", "23001")
"""SQLSTATEs of a foreign key that keeps a row (the second: `on delete restrict`, from Postgres 18 on)."""


class Body(msgspec.Struct):
    """An account as an admin makes or changes it."""

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


class Deletion(msgspec.Struct):
    """How an account is to be deleted."""

    should_soft_delete: bool = False


async def create(accounts: Accounts, asked: Asked) -> Response:
    """Make an account. Raises: AuthError (400, 422, 409)."""
    await refuse_unless_admin(accounts, asked)
    body, client = asked.read(Body), asked.device.address
    if not body.email and not body.phone:
        raise AuthError(Code.VALIDATION_FAILED, "Cannot create a user without either an email or phone")
    new = _new(accounts, body)
    async with accounts.transaction() as transaction:
        await _refuse_taken(accounts, transaction, new.email, new.phone, new.aud)
    digest = await _digest(accounts, body) or await accounts.hashing.hash(secrets.token_urlsafe(24))
    new = replace(new, password_hash=digest)
    await accounts.hooks.before_user_created(new, client)
    async with accounts.transaction() as transaction:
        made = await users.make(transaction, new)
        await _record(accounts, transaction, asked, Action.USER_SIGNED_UP, made)
    await accounts.hooks.after_user_created(made, client)
    return answer(user_shown(made))


async def show(accounts: Accounts, asked: Asked) -> Response:
    """Give an account, or what is left of one that was deleted softly. Raises: AuthError."""
    await refuse_unless_admin(accounts, asked)
    async with accounts.transaction() as transaction:
        found = await named_user(transaction, asked, even_deleted=True)
    return answer(user_shown(found))


async def update(accounts: Accounts, asked: Asked) -> Response:
    """Change an account; all of it takes effect at once. Raises: AuthError."""
    await refuse_unless_admin(accounts, asked)
    body, now = asked.read(Body), accounts.now()
    email = normal_email(body.email) if body.email else ""
    phone = normal_phone(body.phone) if body.phone else ""
    banned_until = _banned_until(body.ban_duration, now)
    async with accounts.transaction() as transaction:
        await named_user(transaction, asked)
    digest = await _digest(accounts, body)
    async with accounts.transaction() as transaction:
        user = await locked_user(transaction, asked)
        await _refuse_taken(accounts, transaction, email, phone, user.aud or "", user.id)
        if body.ban_duration:
            await users.ban(transaction, user.id, banned_until)
        changed = await users.change(transaction, user, _change(user, body, email, phone, digest, now))
        changed = await _settle(transaction, changed, body, is_password_new=digest is not None)
        if digest is not None:
            await _record(accounts, transaction, asked, Action.USER_UPDATED_PASSWORD, changed)
        await _record(accounts, transaction, asked, Action.USER_MODIFIED, changed)
    return answer(user_shown(changed))


async def delete(accounts: Accounts, asked: Asked) -> Response:
    """Delete an account, or what is left of one that was deleted softly.

    Raises: AuthError (404); (409) naming the table whose rows keep the user.
    """
    await refuse_unless_admin(accounts, asked)
    id, softly = named_id(asked), asked.read(Deletion).should_soft_delete
    try:
        async with accounts.transaction() as transaction:
            await users.lock(transaction, id)
            user = await users.find_by_id(transaction, id) or User(id)
            if not await users.delete(transaction, id, softly=softly):
                raise rejections.USER_NOT_FOUND()
            if softly:
                await sessions.end_all(transaction, id)
            await _record(accounts, transaction, asked, Action.USER_DELETED, user)
    except DatabaseError as error:
        if error.code not in _REFERRED_TO or not error.table:
            raise
        raise rejections.USER_IN_USE(
            schema=error.schema, table=error.table, constraint=error.constraint
        ) from None
    return answer({})


def _new(accounts: Accounts, body: Body) -> users.NewUser:
    """Read the account that is to be made, but for its password. Raises: AuthError (400)."""
    own, now = accounts.settings, accounts.now()
    if body.id is not None and body.id.int == 0:
        raise AuthError(Code.VALIDATION_FAILED, "id must not be the UUID of nobody")
    email = normal_email(body.email) if body.email else ""
    phone = normal_phone(body.phone) if body.phone else ""
    providers = [name for name, given in (("email", email), ("phone", phone)) if given]
    is_confirmed = bool(email) and body.email_confirm
    confirmed: Metadata = {"email_verified": True} if is_confirmed else {}
    return users.NewUser(
        aud=body.aud or own.jwt_aud,
        role=body.role or own.jwt_default_group_name,
        email=email,
        phone=phone,
        email_confirmed_at=now if is_confirmed else None,
        phone_confirmed_at=now if phone and body.phone_confirm else None,
        app_metadata=merged({"provider": providers[0], "providers": providers}, body.app_metadata or {}),
        user_metadata={**(body.user_metadata or {}), **confirmed},
        banned_until=_banned_until(body.ban_duration, now),
        id=body.id or uuid4(),
    )


def _change(
    user: User, body: Body, email: str, phone: str, digest: str | None, now: datetime
) -> users.Change:
    """Give what changes of a user. An address that takes effect at once ends the wait for another."""
    is_email_confirmed = body.email_confirm and bool(email or user.email)
    is_phone_confirmed = body.phone_confirm and bool(phone or user.phone)
    data = (body.user_metadata or {}) | ({"email_verified": True} if is_email_confirmed else {})
    becomes_permanent = user.is_anonymous and (is_email_confirmed or is_phone_confirmed)
    return users.Change(
        email=email or None,
        phone=phone or None,
        password_hash=digest,
        user_metadata=merged(user.raw_user_meta_data, data) if data else None,
        app_metadata=_app_metadata(user, body),
        role=body.role or None,
        email_confirmed_at=now if is_email_confirmed else None,
        phone_confirmed_at=now if is_phone_confirmed else None,
        is_anonymous=False if becomes_permanent else None,
        email_change="" if email else None,
        email_change_status=0 if email else None,
        phone_change="" if phone else None,
    )


async def _settle(transaction: Transaction, user: User, body: Body, *, is_password_new: bool) -> User:
    """Bring identities, codes and sessions in line with a change."""
    if body.email_confirm:
        await users.verify_identity(transaction, user.id, "email")
    if body.phone_confirm:
        await users.verify_identity(transaction, user.id, "phone")
    if body.email_confirm or body.phone_confirm:
        await users.forget_codes(transaction, user.id)
    if is_password_new:
        await sessions.end_all(transaction, user.id)
    return await users.find_by_id(transaction, user.id) or user


def _app_metadata(user: User, body: Body) -> Metadata | None:
    """Give the app metadata after a change, with the providers of new addresses; None if they stay as they are."""
    known = {each.provider for each in user.identities}
    given = (("email", body.email), ("phone", body.phone))
    added = [provider for provider, address in given if address and provider not in known]
    if not added and body.app_metadata is None:
        return None
    old = with_providers(user.raw_app_meta_data, added) if added else user.raw_app_meta_data
    return merged(old, body.app_metadata or {})


async def _refuse_taken(
    accounts: Accounts, transaction: Transaction, email: str, phone: str, aud: str, but: UUID | None = None
) -> None:
    if email:
        await refuse_taken_email(accounts, transaction, email, aud, but)
    if phone:
        await refuse_taken_phone(transaction, phone, aud, but)


async def _record(
    accounts: Accounts, transaction: Transaction, asked: Asked, action: Action, user: User
) -> None:
    await audit.record(accounts, transaction, asked, action, acting_admin(asked), audit.about(user))


async def _digest(accounts: Accounts, body: Body) -> str | None:
    """Give the hash of the password that an admin sets, or the one that came ready-made."""
    if body.password and body.password_hash:
        raise AuthError(Code.VALIDATION_FAILED, "Only a password or a password hash should be provided")
    if body.password_hash:
        try:
            read_hash(body.password_hash)
        except UnreadableHash:
            raise AuthError(Code.VALIDATION_FAILED, "The password hash is of no known kind") from None
        return body.password_hash
    if not body.password:
        return None
    refuse_unusable(body.password, accounts.strength)
    await refuse_weak(accounts, body.password)
    return await accounts.hashing.hash(body.password)


def _banned_until(duration: str | None, now: datetime) -> datetime | None:
    """Read `24h30m`, `300ms`, or `none`; at most a century. A bare number has no unit. Raises: AuthError (400)."""
    if not duration or duration == "none":
        return None
    try:
        if not duration[-1].isalpha():
            raise ValueError
        return now + timedelta(seconds=Duration(duration))
    except ValueError:
        raise AuthError(
            Code.VALIDATION_FAILED,
            "invalid format for ban duration: give numbers with units, as 24h30m, or none",
        ) from None
