"""Which addresses a user has proven. An address that was confirmed without a proof is whatever the sign-up typed.

Where email confirmations are disabled, an attacker can sign up with the address of someone else and wait in that account for
its owner (account pre-hijacking). So an address that was confirmed without a proof is marked as unproven
(`note_unproven`). The first proof of it (a code or link sent there, or a provider that verified it) decides who owns the
account: everything that gave access before is deleted (`account_changes.drop_all_else`), and the mark is removed
(`note_proven`).

Addresses count as proven if an administrator set or invited them, and in rows that SQL wrote: the project vouches for them.
Each function runs in the caller's transaction. All functions raise: DatabaseError, Disconnected.
"""

from uuid import UUID

from workers.auth.model.rows import AuthUser
from workers.database.transactions.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.accounts.users", "proofs.sql")


async def unproven(transaction: Transaction, id: UUID) -> frozenset[str]:
    """Return which addresses of a user (`email`, `phone`) count as confirmed but were never proven."""
    return frozenset((row[0] or b"").decode() for row in await transaction.rows(_SQL["unproven"], str(id)))


async def is_first_proof(transaction: Transaction, user: AuthUser, provider: str) -> bool:
    """Return whether a proof of this address (`email`, `phone`) is the first proof that the account has seen.

    An account with another proven address belongs to the user who proved that one.
    """
    missing = await unproven(transaction, user.id)
    confirmed = {"email": user.email_confirmed_at, "phone": user.phone_confirmed_at}
    proven = {name for name, at in confirmed.items() if at is not None} - missing
    return not proven - {provider} and provider not in proven


async def note_unproven(transaction: Transaction, id: UUID, provider: str, address: str) -> None:
    """Mark an address as confirmed without a proof."""
    await transaction.rows(_SQL["note"], str(id), provider, address)


async def note_proven(transaction: Transaction, id: UUID, provider: str) -> None:
    """Mark an address as proven."""
    await transaction.rows(_SQL["forget"], str(id), provider)
