"""Identities in the database: by which providers a user is known. Each function runs in the caller's transaction.

Source: reference page "auth", sections 2.2, 11.3 and 24.2. Raises, all of them: DatabaseError, Disconnected.
"""

from collections.abc import Collection, Sequence
from uuid import UUID

import msgspec
from msgspec import Struct

from workers.auth.model import rejections
from workers.auth.model.rows import Identity, Metadata
from workers.database.errors import DatabaseError
from workers.database.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.accounts.users", "identities.sql")
_UNIQUE = "23505"


class Holder(Struct, frozen=True):
    """Somebody who has an address: as his own (`provider` is empty), or by an identity.

    `is_proven` says that he has shown it to be his, to us or to the provider; `is_confirmed` that the account has shown
    any address or number to be its own. One that was confirmed at once has shown neither (`proofs.py`).
    """

    user_id: UUID
    address: str
    provider: str
    is_proven: bool
    is_confirmed: bool

    @property
    def is_own(self) -> bool:
        """Tell whether the address is the account's, and not only an identity's."""
        return not self.provider


async def alone(transaction: Transaction, provider: str, subject: str, addresses: Collection[str]) -> None:
    """Wait until nobody else decides about a person or one of his addresses; then keep others from it."""
    names = [f"identity:{provider}:{subject}", *(f"email:{each}" for each in addresses)]
    await transaction.rows(_SQL["alone"], msgspec.json.encode(names))


async def find(transaction: Transaction, provider: str, subject: str) -> Identity | None:
    """Find the identity of a person at a provider."""
    return await transaction.one(_SQL["by_subject"], Identity, provider, subject)


async def holders(transaction: Transaction, addresses: Sequence[str], aud: str) -> list[Holder]:
    """List who has one of some normalised addresses."""
    if not addresses:
        return []
    return await transaction.all(_SQL["holders"], Holder, msgspec.json.encode(addresses), aud)


async def add(transaction: Transaction, user_id: UUID, provider: str, subject: str, data: Metadata) -> None:
    """Add an identity to a user. Raises: AuthError (422) if it is somebody's already."""
    try:
        await transaction.rows(_SQL["insert"], provider, subject, str(user_id), msgspec.json.encode(data))
    except DatabaseError as error:
        if error.code == _UNIQUE and error.constraint == "identities_provider_id_provider_unique":
            raise rejections.IDENTITY_TAKEN() from None
        raise


async def refresh(transaction: Transaction, identity: Identity, data: Metadata) -> None:
    """Keep what a provider says of its user now, and that he signed in."""
    await transaction.rows(_SQL["refresh"], str(identity.id), msgspec.json.encode(data))


async def remove(transaction: Transaction, identity: Identity) -> bool:
    """Take an identity away; tell whether it was there."""
    return bool(await transaction.rows(_SQL["delete"], str(identity.id), str(identity.user_id)))


async def remove_others(transaction: Transaction, user_id: UUID, provider: str, subject: str) -> None:
    """Take all identities of a user away but one."""
    await transaction.rows(_SQL["delete_others"], str(user_id), provider, subject)
