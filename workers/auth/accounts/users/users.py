"""Users and their identities in the database. Each function runs in the caller's transaction.

Raises, all of them: DatabaseError (a trigger of the project may refuse a change), Disconnected.
"""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID, uuid4

import msgspec

from workers.auth.accounts.users import proofs
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.rows import Metadata, User
from workers.database.errors import DatabaseError
from workers.database.interactive import Transaction, statement
from workers.database.session import Statement
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.accounts.users", "users.sql")
_UNIQUE, _UNKEEPABLE = "23505", "22P05"


@dataclass(frozen=True, slots=True)
class NewUser:
    """An account to be made. With an address it gets an identity of the provider `email` or `phone`."""

    aud: str
    role: str
    email: str = ""
    phone: str = ""
    password_hash: str = ""
    email_confirmed_at: datetime | None = None
    phone_confirmed_at: datetime | None = None
    app_metadata: Metadata = field(default_factory=dict)
    user_metadata: Metadata = field(default_factory=dict)
    told: Metadata = field(default_factory=dict)
    """What its owner told of himself, which its identities keep as well."""
    is_anonymous: bool = False
    banned_until: datetime | None = None
    is_proven: bool = True
    """False for addresses that are confirmed only because accounts are confirmed at once."""
    id: UUID = field(default_factory=uuid4)

    @property
    def provider(self) -> str:
        """Give the provider of its first identity."""
        if self.is_anonymous:
            return "anonymous"
        return "email" if self.email else "phone"


@dataclass(frozen=True, slots=True)
class Change:
    """What changes of a user; None keeps what is there."""

    email: str | None = None
    phone: str | None = None
    password_hash: str | None = None
    user_metadata: Metadata | None = None
    app_metadata: Metadata | None = None
    role: str | None = None
    email_confirmed_at: datetime | None = None
    phone_confirmed_at: datetime | None = None
    is_anonymous: bool | None = None
    email_change: str | None = None
    """An address that waits to be confirmed; empty: none does."""
    email_change_status: int | None = None
    phone_change: str | None = None
    """A number that waits to be confirmed; empty: none does."""
    invited_at: datetime | None = None
    is_proven: bool = True
    """False for addresses that are confirmed only because accounts are confirmed at once."""


def by_id(id: UUID, *, even_deleted: bool = False) -> Statement:
    """Give the statement of `find_by_id`, for several questions at once."""
    return statement(_SQL["by_id"], str(id), even_deleted)


async def find_by_id(transaction: Transaction, id: UUID, *, even_deleted: bool = False) -> User | None:
    """Find a user. One who was deleted softly is none, unless what is left of him is asked for."""
    return await transaction.one(_SQL["by_id"], User, str(id), even_deleted)


def password_by_email(email: str, aud: str) -> Statement:
    """Give the statement that finds who signs in with a password; of the user only what that takes."""
    return statement(_SQL["password_by_email"], email, aud)


def password_by_phone(phone: str, aud: str) -> Statement:
    """Give the same by a normalised number."""
    return statement(_SQL["password_by_phone"], phone, aud)


async def find_by_email(transaction: Transaction, email: str, aud: str) -> User | None:
    """Find a user by a normalised address."""
    return await transaction.one(_SQL["by_email"], User, email, aud)


async def find_by_phone(transaction: Transaction, phone: str, aud: str) -> User | None:
    """Find a user by a normalised number."""
    return await transaction.one(_SQL["by_phone"], User, phone, aud)


async def lock(transaction: Transaction, id: UUID) -> None:
    """Keep others from changing a user until the transaction ends, so that what is read now may be built upon."""
    await transaction.rows(_SQL["lock"], str(id))


async def make(transaction: Transaction, new: NewUser) -> User:
    """Make a user with the identities of its addresses, and give it as it is after the project's triggers.

    Raises: AuthError (422) if an address is taken.
    """
    values = (
        str(new.id), new.aud, new.role, new.email, new.phone, new.password_hash, _time(new.email_confirmed_at),
        _time(new.phone_confirmed_at), _json(new.app_metadata), _json(new.user_metadata), new.is_anonymous,
        _time(new.banned_until),
    )  # fmt: skip
    try:
        await transaction.rows(_SQL["insert"], *values)
    except DatabaseError as error:
        raise _taken(error) from None
    is_confirmed = {
        "email_verified": new.email_confirmed_at is not None and bool(new.email),
        "phone_verified": new.phone_confirmed_at is not None and bool(new.phone),
    }
    for provider, address in (("email", new.email), ("phone", new.phone)):
        if address:
            claims = {**new.told, "sub": str(new.id), provider: address, **is_confirmed}
            await _identify(transaction, new.id, provider, claims)
            if not new.is_proven and is_confirmed[f"{provider}_verified"]:
                await proofs.note_unproven(transaction, new.id, provider, address)
    return await _again(transaction, new.id)


async def change(transaction: Transaction, user: User, wanted: Change) -> User:
    """Change a user, and the identities of addresses that change; give it as it is then.

    Raises: AuthError (422) if an address is taken.
    """
    values = (
        str(user.id), wanted.email, wanted.phone, wanted.password_hash, _json(wanted.user_metadata),
        _json(wanted.app_metadata), wanted.role, _time(wanted.email_confirmed_at), _time(wanted.phone_confirmed_at),
        wanted.is_anonymous, wanted.email_change, wanted.email_change_status, wanted.phone_change,
        _time(wanted.invited_at),
    )  # fmt: skip
    try:
        await transaction.rows(_SQL["update"], *values)
    except DatabaseError as error:
        raise _taken(error) from None
    moved = (
        ("email", wanted.email, wanted.email_confirmed_at),
        ("phone", wanted.phone, wanted.phone_confirmed_at),
    )
    for provider, address, confirmed_at in moved:
        if address:
            claims = {
                "sub": str(user.id),
                provider: address,
                f"{provider}_verified": confirmed_at is not None,
            }
            await _follow(transaction, user.id, provider, claims)
        if confirmed_at is not None:
            if address and not wanted.is_proven:
                await proofs.note_unproven(transaction, user.id, provider, address)
            else:
                await proofs.note_proven(transaction, user.id, provider)
    if wanted.password_hash is not None or wanted.email or wanted.phone:
        await transaction.rows(_SQL["forget_codes"], str(user.id))
    return await _again(transaction, user.id)


async def verify_identity(transaction: Transaction, id: UUID, provider: str) -> None:
    """Note on the identity of an address (`email`, `phone`) that it was confirmed."""
    await transaction.rows(_SQL["verify_identity"], str(id), provider)


async def forget_codes(transaction: Transaction, id: UUID) -> None:
    """Make all one-time codes of a user void."""
    await transaction.rows(_SQL["forget_codes"], str(id))


def renew_hash(user: User, digest: str) -> Statement:
    """Give the statement that keeps a password under a new hash; nothing else changes."""
    return statement(_SQL["renew_hash"], str(user.id), digest, user.encrypted_password or "")


async def ban(transaction: Transaction, id: UUID, until: datetime | None) -> None:
    """Ban a user until a time, or lift the ban."""
    await transaction.rows(_SQL["ban"], str(id), _time(until))


async def delete(transaction: Transaction, id: UUID, *, softly: bool) -> bool:
    """Delete a user, softly if its row must stay; tell whether there was one."""
    if not softly:
        return bool(await transaction.rows(_SQL["delete"], str(id)))
    found = await transaction.rows(_SQL["soften"], str(id))
    if found:
        for name in ("soften_identities", "forget_factors", "forget_passkeys", "forget_codes"):
            await transaction.rows(_SQL[name], str(id))
    return bool(found)


async def _follow(transaction: Transaction, id: UUID, provider: str, claims: Metadata) -> None:
    if not await transaction.rows(_SQL["move_identity"], str(id), provider, _json(claims)):
        await _identify(transaction, id, provider, claims)


async def _identify(transaction: Transaction, id: UUID, provider: str, claims: Metadata) -> None:
    await transaction.rows(_SQL["insert_identity"], str(id), str(id), _json(claims), provider)


async def _again(transaction: Transaction, id: UUID) -> User:
    user = await find_by_id(transaction, id)
    if user is None:  # a trigger of the project put it away
        raise rejections.SUBJECT_GONE()
    return user


def _taken(error: DatabaseError) -> Exception:
    """Give the refusal of an address that is taken, or of a text that cannot be kept, or the error itself."""
    if error.code == _UNKEEPABLE:
        return AuthError(Code.VALIDATION_FAILED, "Metadata cannot hold the character U+0000")
    if error.code != _UNIQUE:
        return error
    match error.constraint:
        case "users_email_partial_key":
            return rejections.EMAIL_EXISTS()
        case "users_phone_key":
            return rejections.PHONE_EXISTS()
        case "users_pkey":
            return AuthError(Code.CONFLICT, "A user with this id already exists")
    return error


def _json(value: Metadata | None) -> bytes | None:
    return None if value is None else msgspec.json.encode(value)


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
