"""What a sign-in from outside, or a change of identities, writes to an account. Each runs in the caller's transaction.

Raises, all of them: DatabaseError (a trigger of the project may refuse a change), Disconnected.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from workers.auth.accounts.users import identities, users
from workers.auth.accounts.users.shown import merged
from workers.auth.accounts.users.users import NewUser
from workers.auth.model import rejections
from workers.auth.model.rows import Identity, Metadata, User
from workers.database.errors import DatabaseError
from workers.database.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.federation.social", "account.sql")
_UNIQUE = "23505"


@dataclass(frozen=True, slots=True)
class Newcomer:
    """An account to be made for somebody from outside; its address, if there is one, is not confirmed yet."""

    id: UUID
    aud: str
    role: str
    email: str
    is_sso_user: bool

    def as_user(self, provider: str, data: Metadata) -> NewUser:
        """Give the account as hooks are asked about it."""
        app_metadata: Metadata = {"provider": provider, "providers": [provider]}
        return NewUser(
            self.aud,
            self.role,
            email=self.email,
            app_metadata=app_metadata,
            user_metadata=data,
            id=self.id,
        )


async def make(transaction: Transaction, new: Newcomer, provider: str, subject: str, data: Metadata) -> User:
    """Make an account with one identity. Raises: AuthError (422) if the address is taken."""
    made = new.as_user(provider, data)
    values = (
        str(new.id), new.aud, new.role, new.email, _json(made.app_metadata), _json(data), new.is_sso_user,
    )  # fmt: skip
    await _write(transaction, "insert", *values)
    await identities.add(transaction, new.id, provider, subject, data)
    return await again(transaction, new.id)


async def describe(transaction: Transaction, id: UUID, data: Metadata, *, is_whole: bool = False) -> User:
    """Add what a provider told to the user's metadata, or put it in their place, and list the providers anew.

    What the metadata say of addresses is what the account has, not what the identity has.
    """
    user = await again(transaction, id)
    told = data | _addresses(user) if data else data
    metadata = merged({} if is_whole else user.raw_user_meta_data, told)
    app_metadata = {**(user.raw_app_meta_data or {}), **providers_of(user.identities)}
    await _write(transaction, "describe", str(id), _json(metadata), _json(app_metadata))
    return await again(transaction, id)


async def confirm(transaction: Transaction, id: UUID, email: str, at: datetime) -> User:
    """Confirm an account by an address, which becomes its own. Raises: AuthError (422) if it is taken."""
    await _write(transaction, "confirm", str(id), email, at.isoformat())
    return await again(transaction, id)


async def set_email(transaction: Transaction, id: UUID, email: str, confirmed_at: datetime | None) -> User:
    """Give an account another address, or none; codes that were sent are void.

    Raises: AuthError (422) if it is taken.
    """
    at = None if confirmed_at is None else confirmed_at.isoformat()
    await _write(transaction, "set_email", str(id), email, at)
    return await again(transaction, id)


async def release_email(transaction: Transaction, id: UUID) -> None:
    """Take an address that was never proven from an account, with the identity that stood for it."""
    await _write(transaction, "set_email", str(id), "", None)
    await _write(transaction, "forget_provider", str(id), "email")
    await describe(transaction, id, {"email": None, "email_verified": None})


async def make_permanent(transaction: Transaction, id: UUID) -> User:
    """Keep the account of somebody anonymous, who has an identity now."""
    await _write(transaction, "make_permanent", str(id))
    return await again(transaction, id)


async def forget_phone(transaction: Transaction, id: UUID) -> User:
    """Take the phone from an account."""
    await _write(transaction, "forget_phone", str(id))
    return await again(transaction, id)


async def drop_all_else(transaction: Transaction, id: UUID, provider: str, subject: str) -> None:
    """Drop whatever lets somebody into an account but one identity: so nobody waits in it for its owner."""
    await _write(transaction, "drop_ways_in", str(id), "")
    await identities.remove_others(transaction, id, provider, subject)


async def drop_all_but_address(transaction: Transaction, id: UUID, provider: str) -> User:
    """Drop the same when a code or link proves an address (`email`, `phone`): its identity stays, and the sign-in that
    waits for the link.
    """
    await _write(transaction, "drop_ways_in", str(id), provider)
    await identities.remove_others(transaction, id, provider, str(id))
    return await again(transaction, id)


async def again(transaction: Transaction, id: UUID) -> User:
    """Read an account as it is now. Raises: AuthError (403) if a trigger of the project put it away."""
    user = await users.find_by_id(transaction, id)
    if user is None:
        raise rejections.SUBJECT_GONE()
    return user


def providers_of(found: Iterable[Identity]) -> Metadata:
    """Give the app metadata that list the providers of identities, which come oldest first."""
    names = list(dict.fromkeys(each.provider for each in found))
    return {"provider": names[0], "providers": names} if names else {}


def _addresses(user: User) -> Metadata:
    verified: Metadata = {"phone_verified": user.phone_confirmed_at is not None}
    if user.email:
        verified |= {"email": user.email, "email_verified": user.email_confirmed_at is not None}
    return verified


async def _write(transaction: Transaction, name: str, *values: str | bytes | bool | None) -> None:
    try:
        await transaction.rows(_SQL[name], *values)
    except DatabaseError as error:
        if error.code == _UNIQUE and error.constraint == "users_email_partial_key":
            raise rejections.EMAIL_EXISTS() from None
        raise


def _json(value: Metadata) -> bytes:
    return msgspec.json.encode(value)
