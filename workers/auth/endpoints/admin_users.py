"""Accounts in the hands of trusted servers. Source: reference page "auth", sections 16.1 to 16.5."""

import secrets
from datetime import datetime, timedelta
from urllib.parse import urlencode
from uuid import UUID, uuid4

import msgspec

from schemas.http import Response
from schemas.setting_types import Duration
from workers.auth import sessions, users
from workers.auth.addresses import normal_email, normal_phone
from workers.auth.asked import Asked, answer
from workers.auth.context import Accounts
from workers.auth.endpoints.present import refuse_unless_admin
from workers.auth.error_codes import Code
from workers.auth.errors import AuthError
from workers.auth.passwords import UnreadableHash, read_hash
from workers.auth.rows import Metadata, User
from workers.auth.shown import merged, user_shown, with_providers
from workers.auth.strength import refuse_unusable
from workers.database.interactive import Transaction

_MOST_A_PAGE = 1000
_SORTS = {"": False, "created_at desc": False, "created_at asc": True}
_KEPT_IN_LINKS = ("filter", "sort", "email")


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


async def listing(accounts: Accounts, asked: Asked) -> Response:
    """List accounts, newest first. Raises: AuthError."""
    await refuse_unless_admin(accounts, asked)
    number, size = _number(asked, "page", 1), min(_number(asked, "per_page", 50), _MOST_A_PAGE)
    sort = asked.query("sort")
    if sort not in _SORTS:
        raise AuthError(Code.VALIDATION_FAILED, "sort must be `created_at asc` or `created_at desc`")
    async with accounts.transaction() as transaction:
        found, total = await users.page(
            transaction,
            limit=size,
            offset=(number - 1) * size,
            part=asked.query("filter"),
            email=asked.query("email"),
            ascending=_SORTS[sort],
        )
    body = {"users": [user_shown(each) for each in found], "aud": accounts.settings.jwt_aud}
    return answer(body, 200, ("x-total-count", str(total)), *_links(asked, number, size, total))


async def create(accounts: Accounts, asked: Asked) -> Response:
    """Make an account. Raises: AuthError."""
    own = accounts.settings
    await refuse_unless_admin(accounts, asked)
    body, now = asked.read(Body), accounts.now()
    if not body.email and not body.phone:
        raise AuthError(Code.VALIDATION_FAILED, "Cannot create a user without either an email or phone")
    email = normal_email(body.email) if body.email else ""
    phone = normal_phone(body.phone) if body.phone else ""
    digest = await _digest(accounts, body) or await accounts.hashing.hash(secrets.token_urlsafe(24))
    providers = [name for name, given in (("email", email), ("phone", phone)) if given]
    confirmed: Metadata = {"email_verified": True} if email and body.email_confirm else {}
    new = users.NewUser(
        aud=body.aud or own.jwt_aud,
        role=body.role or own.jwt_default_group_name,
        email=email,
        phone=phone,
        password_hash=digest,
        email_confirmed_at=now if email and body.email_confirm else None,
        phone_confirmed_at=now if phone and body.phone_confirm else None,
        app_metadata=merged({"provider": providers[0], "providers": providers}, body.app_metadata or {}),
        user_metadata={**(body.user_metadata or {}), **confirmed},
        banned_until=_banned_until(body.ban_duration, now),
        id=body.id or uuid4(),
    )
    async with accounts.transaction() as transaction:
        made = await users.make(transaction, new)
    return answer(user_shown(made))


async def show(accounts: Accounts, asked: Asked) -> Response:
    """Give an account. Raises: AuthError."""
    await refuse_unless_admin(accounts, asked)
    async with accounts.transaction() as transaction:
        found = await _named(transaction, asked)
    return answer(user_shown(found))


async def update(accounts: Accounts, asked: Asked) -> Response:
    """Change an account; all of it takes effect at once. Raises: AuthError."""
    await refuse_unless_admin(accounts, asked)
    body, now = asked.read(Body), accounts.now()
    digest = await _digest(accounts, body)
    async with accounts.transaction() as transaction:
        user = await _named(transaction, asked)
        await users.lock(transaction, user.id)
        user = await _named(transaction, asked)
        metadata = None if body.user_metadata is None else merged(user.raw_user_meta_data, body.user_metadata)
        if body.email_confirm:
            metadata = {
                **(metadata if metadata is not None else user.raw_user_meta_data or {}),
                "email_verified": True,
            }
        change = users.Change(
            email=normal_email(body.email) if body.email else None,
            phone=normal_phone(body.phone) if body.phone else None,
            password_hash=digest,
            user_metadata=metadata,
            app_metadata=_app_metadata(user, body),
            role=body.role,
            email_confirmed_at=now if body.email_confirm else None,
            phone_confirmed_at=now if body.phone_confirm else None,
            is_anonymous=False if user.is_anonymous and (body.email_confirm or body.phone_confirm) else None,
        )
        if body.ban_duration:
            await users.ban(transaction, user.id, _banned_until(body.ban_duration, now))
        changed = await users.change(transaction, user, change)
        if digest is not None:
            await sessions.end_all(transaction, user.id)
    return answer(user_shown(changed))


async def delete(accounts: Accounts, asked: Asked) -> Response:
    """Delete an account. Raises: AuthError."""
    await refuse_unless_admin(accounts, asked)
    softly = asked.read(Deletion).should_soft_delete
    async with accounts.transaction() as transaction:
        user = await _named(transaction, asked)
        await users.delete(transaction, user.id, softly=softly)
        if softly:
            await sessions.end_all(transaction, user.id)
    return answer({})


def _app_metadata(user: User, body: Body) -> Metadata | None:
    """Give the app metadata after a change, with the providers of new addresses; None if they stay as they are."""
    known = {each.provider for each in user.identities}
    given = (("email", body.email), ("phone", body.phone))
    added = [provider for provider, address in given if address and provider not in known]
    if not added and body.app_metadata is None:
        return None
    old = with_providers(user.raw_app_meta_data, added) if added else user.raw_app_meta_data
    return merged(old, body.app_metadata or {})


async def _named(transaction: Transaction, asked: Asked) -> User:
    try:
        id = UUID(asked.parameters["id"])
    except ValueError:
        raise AuthError(Code.VALIDATION_FAILED, "user_id must be an UUID", 404) from None
    user = await users.find_by_id(transaction, id)
    if user is None:
        raise AuthError(Code.USER_NOT_FOUND, "User not found", 404)
    return user


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
    return await accounts.hashing.hash(body.password)


def _banned_until(duration: str | None, now: datetime) -> datetime | None:
    """Read `24h30m`, `300ms`, or `none`; at most a century. Raises: AuthError (400)."""
    if not duration or duration == "none":
        return None
    try:
        return now + timedelta(seconds=Duration(duration))
    except ValueError:
        raise AuthError(
            Code.VALIDATION_FAILED,
            "invalid format for ban duration: give numbers with units, as 24h30m, or none",
        ) from None


def _number(asked: Asked, name: str, usual: int) -> int:
    text = asked.query(name)
    if not text:
        return usual
    if not (text.isascii() and text.isdigit() and len(text) < 10) or int(text) < 1:
        raise AuthError(
            Code.VALIDATION_FAILED, f"Bad Pagination Parameters: {name} must be a whole number above 0"
        )
    return int(text)


def _links(asked: Asked, number: int, size: int, total: int) -> list[tuple[str, str]]:
    """Give the `Link` header of a page; clients read the first sign after the first `=`. Source: RFC 8288."""
    last = max(1, -(-total // size))
    kept = {name: value for name in _KEPT_IN_LINKS if (value := asked.query(name))}
    targets = [(number + 1, "next")] if number < last else []
    targets.append((last, "last"))
    listed = [
        f'</admin/users?{urlencode({"page": page, "per_page": size, **kept})}>; rel="{name}"'
        for page, name in targets
    ]
    return [("link", ", ".join(listed))]
