"""Who has proven an address. An account that was confirmed at once has not: its address is whatever somebody typed.

Where confirmations are off, anybody may make an account for the address of somebody else, and wait in it for the owner. So an
address that was confirmed at once is noted as unproven (`note_unproven`), and the first proof of it (a code or a link that
was sent there, or a provider that verified it) decides to whom the account belongs: what led into the account before is
dropped with the proof (`social/account.drop_all_else`), and the note goes (`note_proven`).

Proven from the start are addresses that an administrator set or invited, and those of rows that SQL wrote: the project
vouches for them. Each function runs in the caller's transaction. Raises, all of them: DatabaseError, Disconnected.
"""

from uuid import UUID

from workers.auth.model.rows import User
from workers.database.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.accounts.users", "proofs.sql")


async def unproven(transaction: Transaction, id: UUID) -> frozenset[str]:
    """Return which addresses of a user (`email`, `phone`) count as confirmed but were never proven."""
    return frozenset((row[0] or b"").decode() for row in await transaction.rows(_SQL["unproven"], str(id)))


async def is_first_proof(transaction: Transaction, user: User, provider: str) -> bool:
    """Tell whether a proof of this address (`email`, `phone`) is the first of all proofs that the account has seen.

    An account with another proven address belongs to whoever proved that one.
    """
    missing = await unproven(transaction, user.id)
    confirmed = {"email": user.email_confirmed_at, "phone": user.phone_confirmed_at}
    proven = {name for name, at in confirmed.items() if at is not None} - missing
    return not proven - {provider} and provider not in proven


async def note_unproven(transaction: Transaction, id: UUID, provider: str, address: str) -> None:
    """Note that an address counts as confirmed although nobody has proven it."""
    await transaction.rows(_SQL["note"], str(id), provider, address)


async def note_proven(transaction: Transaction, id: UUID, provider: str) -> None:
    """Note that an address is proven."""
    await transaction.rows(_SQL["forget"], str(id), provider)
