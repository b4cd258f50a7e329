"""Identities in the database: the providers by which a user signs in. Each function runs in the caller's transaction.

Source: docs/reference/auth.md, sections 2.2, 11.3 and 24.2. All functions raise: DatabaseError, Disconnected.
"""

from collections.abc import Collection, Sequence
from uuid import UUID

import msgspec
from msgspec import Struct

from workers.auth.model import rejections
from workers.auth.model.errors import UNIQUE_VIOLATION
from workers.auth.model.rows import Metadata, UserIdentity
from workers.auth.model.user_json import metadata_text
from workers.database.errors import DatabaseError
from workers.database.transactions.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.accounts.users", "identities.sql")


class AddressHolder(Struct, frozen=True):
    """A user who has an address: as the account's own (`provider` is empty), or by an identity.

    `is_proven`: the user has proven it, to us or to the provider. `is_confirmed`: the account has proven any address or number.
    An address that was confirmed without a proof counts as neither (`proofs.py`).
    """

    user_id: UUID
    address: str
    provider: str
    is_proven: bool
    is_confirmed: bool

    @property
    def is_own(self) -> bool:
        """Return whether the address is the account's own, not only an identity's."""
        return not self.provider


async def lock_names(
    transaction: Transaction, provider: str, subject: str, addresses: Collection[str]
) -> None:
    """Take advisory locks on a provider's user and on addresses, in a fixed order, until the transaction ends.

    Concurrent sign-ins with the same identity or address therefore decide one after the other.
    """
    names = [f"identity:{provider}:{subject}", *(f"email:{address}" for address in addresses)]
    await transaction.rows(_SQL["alone"], msgspec.json.encode(names))


async def find(transaction: Transaction, provider: str, subject: str) -> UserIdentity | None:
    """Find the identity of a provider's user."""
    return await transaction.one(_SQL["by_subject"], UserIdentity, provider, subject)


async def holders(transaction: Transaction, addresses: Sequence[str], aud: str) -> list[AddressHolder]:
    """List the users who have one of some normalised addresses."""
    if not addresses:
        return []
    return await transaction.all(_SQL["holders"], AddressHolder, msgspec.json.encode(addresses), aud)


async def add(transaction: Transaction, user_id: UUID, provider: str, subject: str, data: Metadata) -> None:
    """Add an identity to a user. Raises: AuthError (422) if it is linked to a user already."""
    try:
        await transaction.rows(_SQL["insert"], provider, subject, str(user_id), metadata_text(data))
    except DatabaseError as error:
        if error.code == UNIQUE_VIOLATION and error.constraint == "identities_provider_id_provider_unique":
            raise rejections.IDENTITY_TAKEN() from None
        raise


async def refresh(transaction: Transaction, identity: UserIdentity, data: Metadata) -> None:
    """Store the provider's current claims about its user, and the time of the sign-in."""
    await transaction.rows(_SQL["refresh"], str(identity.id), metadata_text(data))


async def remove(transaction: Transaction, identity: UserIdentity) -> bool:
    """Delete an identity; return whether it existed."""
    return bool(await transaction.rows(_SQL["delete"], str(identity.id), str(identity.user_id)))


async def remove_others(transaction: Transaction, user_id: UUID, provider: str, subject: str) -> None:
    """Delete all identities of a user except one."""
    await transaction.rows(_SQL["delete_others"], str(user_id), provider, subject)
