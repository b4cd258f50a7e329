"""Users and the identities of their addresses in the database. Each function runs in the caller's transaction.

All functions raise: DatabaseError (a trigger of the project may reject a change), Disconnected.
"""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from workers.auth.accounts.users import proofs
from workers.auth.model import rejections
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import UNIQUE_VIOLATION, UNTRANSLATABLE_CHARACTER, AuthError
from workers.auth.model.rows import AuthUser, Metadata, NewUser
from workers.auth.model.user_json import metadata_text
from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import Transaction, statement
from workers.database.transactions.model import Statement
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.accounts.users", "users.sql")


@dataclass(frozen=True, slots=True)
class UserChange:
    """A change of a user; None leaves a column as it is."""

    email: str | None = None
    phone: str | None = None
    password_hash: str | None = field(default=None, repr=False)
    user_metadata: Metadata | None = None
    app_metadata: Metadata | None = None
    role: str | None = None
    email_confirmed_at: datetime | None = None
    phone_confirmed_at: datetime | None = None
    is_anonymous: bool | None = None
    email_change: str | None = None
    """A new address that must be confirmed; empty removes it."""
    email_change_status: int | None = None
    phone_change: str | None = None
    """A new number that must be confirmed; empty removes it."""
    invited_at: datetime | None = None
    is_proven: bool = True
    """False for addresses that are confirmed only because confirmations are disabled."""


def by_id(id: UUID, *, even_deleted: bool = False) -> Statement:
    """Return the statement of `find_by_id`, to run with others."""
    return statement(_SQL["by_id"], str(id), even_deleted)


async def find_by_id(transaction: Transaction, id: UUID, *, even_deleted: bool = False) -> AuthUser | None:
    """Find a user. Softly deleted users are found only with `even_deleted`."""
    return await transaction.one(_SQL["by_id"], AuthUser, str(id), even_deleted)


def by_id_with_session(id: UUID, session_id: UUID | None) -> Statement:
    """Return the statement that finds a user (not a softly deleted one) with the owner, OAuth client and scopes of a session."""
    return statement(_SQL["by_id_with_session"], str(id), None if session_id is None else str(session_id))


def by_session(session_id: UUID) -> Statement:
    """Return the statement that finds the user of a session; softly deleted users are not found."""
    return statement(_SQL["by_session"], str(session_id))


def password_by_email(email: str, aud: str) -> Statement:
    """Return the statement that finds a user for a password sign-in; it selects only the columns that the sign-in needs."""
    return statement(_SQL["password_by_email"], email, aud)


def password_by_phone(phone: str, aud: str) -> Statement:
    """Return the same statement for a normalised phone number."""
    return statement(_SQL["password_by_phone"], phone, aud)


async def find_by_email(transaction: Transaction, email: str, aud: str) -> AuthUser | None:
    """Find a user by a normalised address."""
    return await transaction.one(_SQL["by_email"], AuthUser, email, aud)


async def find_by_phone(transaction: Transaction, phone: str, aud: str) -> AuthUser | None:
    """Find a user by a normalised number."""
    return await transaction.one(_SQL["by_phone"], AuthUser, phone, aud)


async def lock(transaction: Transaction, id: UUID) -> None:
    """Lock a user's row until the transaction ends, so that what is read now stays true."""
    await transaction.rows(_SQL["lock"], str(id))


async def create(transaction: Transaction, new: NewUser) -> AuthUser:
    """Create a user with the identities of its addresses, and return it as the project's triggers left it.

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
            claims = {**new.profile, "sub": str(new.id), provider: address, **is_confirmed}
            await _identify(transaction, new.id, provider, claims)
            if not new.is_proven and is_confirmed[f"{provider}_verified"]:
                await proofs.note_unproven(transaction, new.id, provider, address)
    return await _again(transaction, new.id)


async def change(transaction: Transaction, user: AuthUser, requested: UserChange) -> AuthUser:
    """Change a user, and the identities of changed addresses; return the user afterwards.

    Raises: AuthError (422) if an address is taken.
    """
    values = (
        str(user.id), requested.email, requested.phone, requested.password_hash, _json(requested.user_metadata),
        _json(requested.app_metadata), requested.role, _time(requested.email_confirmed_at), _time(requested.phone_confirmed_at),
        requested.is_anonymous, requested.email_change, requested.email_change_status, requested.phone_change,
        _time(requested.invited_at),
    )  # fmt: skip
    try:
        await transaction.rows(_SQL["update"], *values)
    except DatabaseError as error:
        raise _taken(error) from None
    moved = (
        ("email", requested.email, requested.email_confirmed_at),
        ("phone", requested.phone, requested.phone_confirmed_at),
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
            if address and not requested.is_proven:
                await proofs.note_unproven(transaction, user.id, provider, address)
            else:
                await proofs.note_proven(transaction, user.id, provider)
    if requested.password_hash is not None or requested.email or requested.phone:
        await transaction.rows(_SQL["forget_codes"], str(user.id))
    return await _again(transaction, user.id)


async def verify_identity(transaction: Transaction, id: UUID, provider: str) -> None:
    """Mark the identity of an address (`email`, `phone`) as verified."""
    await transaction.rows(_SQL["verify_identity"], str(id), provider)


async def forget_codes(transaction: Transaction, id: UUID) -> None:
    """Make all one-time codes of a user invalid."""
    await transaction.rows(_SQL["forget_codes"], str(id))


def renew_hash(user: AuthUser, digest: str) -> Statement:
    """Return the statement that stores a password under a new hash; nothing else changes."""
    return statement(_SQL["renew_hash"], str(user.id), digest, user.encrypted_password or "")


async def ban(transaction: Transaction, id: UUID, until: datetime | None) -> None:
    """Ban a user until a time; None lifts the ban."""
    await transaction.rows(_SQL["ban"], str(id), _time(until))


async def delete(transaction: Transaction, id: UUID, *, softly: bool) -> bool:
    """Delete a user, or with `softly` clear the row but leave it; return whether the user existed."""
    if not softly:
        return bool(await transaction.rows(_SQL["delete"], str(id)))
    rows = await transaction.rows(_SQL["soften"], str(id))
    if rows:
        for name in ("soften_identities", "forget_factors", "forget_passkeys", "forget_codes"):
            await transaction.rows(_SQL[name], str(id))
    return bool(rows)


async def _follow(transaction: Transaction, id: UUID, provider: str, claims: Metadata) -> None:
    if not await transaction.rows(_SQL["move_identity"], str(id), provider, _json(claims)):
        await _identify(transaction, id, provider, claims)


async def _identify(transaction: Transaction, id: UUID, provider: str, claims: Metadata) -> None:
    await transaction.rows(_SQL["insert_identity"], str(id), str(id), _json(claims), provider)


async def _again(transaction: Transaction, id: UUID) -> AuthUser:
    user = await find_by_id(transaction, id)
    if user is None:  # a trigger of the project deleted it
        raise rejections.SUBJECT_GONE()
    return user


def _taken(error: DatabaseError) -> Exception:
    """Return the error for an address that is taken or a text that cannot be stored, else the database error itself."""
    if error.code == UNTRANSLATABLE_CHARACTER:
        return AuthError(ErrorCode.VALIDATION_FAILED, "Metadata cannot hold the character U+0000")
    if error.code != UNIQUE_VIOLATION:
        return error
    match error.constraint:
        case "users_email_partial_key":
            return rejections.EMAIL_EXISTS()
        case "users_phone_key":
            return rejections.PHONE_EXISTS()
        case "users_pkey":
            return AuthError(ErrorCode.CONFLICT, "A user with this id already exists")
    return error


def _json(value: Metadata | None) -> bytes | None:
    return None if value is None else metadata_text(value)


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
