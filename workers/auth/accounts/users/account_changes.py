"""Changes to a user by a sign-in with a provider, or by a change of identities. Each function runs in the caller's transaction.

All functions raise: DatabaseError (a trigger of the project may reject a change), Disconnected.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from workers.auth.accounts.users import identities, users
from workers.auth.model import rejections
from workers.auth.model.errors import UNIQUE_VIOLATION
from workers.auth.model.rows import AuthUser, Metadata, NewUser, UserIdentity
from workers.auth.model.user_json import merged_metadata, metadata_text
from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.accounts.users", "account_changes.sql")


@dataclass(frozen=True, slots=True)
class NewExternalUser:
    """A user to be created for a sign-in with a provider; its address, if any, is not confirmed yet."""

    id: UUID
    aud: str
    role: str
    email: str
    is_sso_user: bool

    def as_user(self, provider: str, data: Metadata) -> NewUser:
        """Return the user as the before-user-created hook receives it."""
        app_metadata: Metadata = {"provider": provider, "providers": [provider]}
        return NewUser(
            self.aud,
            self.role,
            email=self.email,
            app_metadata=app_metadata,
            user_metadata=data,
            id=self.id,
        )


async def create(
    transaction: Transaction, new: NewExternalUser, provider: str, subject: str, data: Metadata
) -> AuthUser:
    """Create a user with one identity. Raises: AuthError (422) if the address is taken."""
    user = new.as_user(provider, data)
    values = (
        str(new.id), new.aud, new.role, new.email, metadata_text(user.app_metadata), metadata_text(data), new.is_sso_user,
    )  # fmt: skip
    await _write(transaction, "insert", *values)
    await identities.add(transaction, new.id, provider, subject, data)
    return await reload(transaction, new.id)


async def describe(transaction: Transaction, id: UUID, data: Metadata, *, is_whole: bool = False) -> AuthUser:
    """Merge a provider's claims into the user's metadata, or replace them (`is_whole`), and update the list of providers.

    Claims about addresses are replaced by what the account has, not what the identity has.
    """
    user = await reload(transaction, id)
    claims = data | _addresses(user) if data else data
    metadata = merged_metadata({} if is_whole else user.raw_user_meta_data, claims)
    app_metadata = {**(user.raw_app_meta_data or {}), **providers_of(user.identities)}
    await _write(transaction, "describe", str(id), metadata_text(metadata), metadata_text(app_metadata))
    return await reload(transaction, id)


async def confirm(transaction: Transaction, id: UUID, email: str, at: datetime) -> AuthUser:
    """Confirm a user by an address, which becomes the account's own. Raises: AuthError (422) if it is taken."""
    await _write(transaction, "confirm", str(id), email, at.isoformat())
    return await reload(transaction, id)


async def set_email(
    transaction: Transaction, id: UUID, email: str, confirmed_at: datetime | None
) -> AuthUser:
    """Set the address of a user, or remove it; codes that were sent become invalid.

    Raises: AuthError (422) if it is taken.
    """
    at = None if confirmed_at is None else confirmed_at.isoformat()
    await _write(transaction, "set_email", str(id), email, at)
    return await reload(transaction, id)


async def release_email(transaction: Transaction, id: UUID) -> None:
    """Remove an address that was never proven from a user, with its identity."""
    await _write(transaction, "set_email", str(id), "", None)
    await _write(transaction, "forget_provider", str(id), "email")
    await describe(transaction, id, {"email": None, "email_verified": None})


async def make_permanent(transaction: Transaction, id: UUID) -> AuthUser:
    """Mark an anonymous user as permanent, because an identity was added."""
    await _write(transaction, "make_permanent", str(id))
    return await reload(transaction, id)


async def forget_phone(transaction: Transaction, id: UUID) -> AuthUser:
    """Remove the phone number from a user."""
    await _write(transaction, "forget_phone", str(id))
    return await reload(transaction, id)


async def drop_all_else(transaction: Transaction, id: UUID, provider: str, subject: str) -> None:
    """Delete everything that gives access to an account except one identity, so that an attacker who prepared it loses access."""
    await _write(transaction, "drop_ways_in", str(id), "")
    await identities.remove_others(transaction, id, provider, subject)


async def drop_all_but_address(transaction: Transaction, id: UUID, provider: str) -> AuthUser:
    """Do the same when a code or link proves an address (`email`, `phone`): its identity and the waiting sign-in flow stay."""
    await _write(transaction, "drop_ways_in", str(id), provider)
    await identities.remove_others(transaction, id, provider, str(id))
    return await reload(transaction, id)


async def identify_by_password(transaction: Transaction, before: AuthUser, changed: AuthUser) -> AuthUser:
    """Add the identity of the email to a user of a provider who has set the first password, and return the user.

    Only where the address is confirmed and has no identity; not for anonymous users and those of single sign-on. `before` is the
    user before the password.
    """
    has_first = not before.encrypted_password and bool(changed.encrypted_password)
    is_own = bool(changed.email) and changed.email_confirmed_at is not None
    if not has_first or not is_own or changed.is_anonymous or changed.is_sso_user:
        return changed
    if any(identity.provider == "email" for identity in changed.identities):
        return changed
    claims: Metadata = {"sub": str(changed.id), "email": changed.email, "email_verified": True}
    await identities.add(transaction, changed.id, "email", str(changed.id), claims)
    user = await reload(transaction, changed.id)
    metadata = {**(user.raw_app_meta_data or {}), **providers_of(user.identities)}
    return await users.change(transaction, user, users.UserChange(app_metadata=metadata))


async def reload(transaction: Transaction, id: UUID) -> AuthUser:
    """Read a user again. Raises: AuthError (403) if a trigger of the project deleted it."""
    user = await users.find_by_id(transaction, id)
    if user is None:
        raise rejections.SUBJECT_GONE()
    return user


def providers_of(identities_of_user: Iterable[UserIdentity]) -> Metadata:
    """Return the app metadata that list the providers of identities, which are passed oldest first."""
    names = list(dict.fromkeys(identity.provider for identity in identities_of_user))
    return {"provider": names[0], "providers": names} if names else {}


def _addresses(user: AuthUser) -> Metadata:
    verified: Metadata = {"phone_verified": user.phone_confirmed_at is not None}
    if user.email:
        verified |= {"email": user.email, "email_verified": user.email_confirmed_at is not None}
    return verified


async def _write(transaction: Transaction, name: str, *values: str | bytes | bool | None) -> None:
    try:
        await transaction.rows(_SQL[name], *values)
    except DatabaseError as error:
        if error.code == UNIQUE_VIOLATION and error.constraint == "users_email_partial_key":
            raise rejections.EMAIL_EXISTS() from None
        raise
