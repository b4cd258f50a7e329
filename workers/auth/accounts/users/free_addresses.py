"""Whether an address is still free: nobody else has it, or has shown by an identity that it is his.

An identity that only claims an address takes it from nobody. Whoever confirms an address later is checked again by the
database. Source: reference page "auth", sections 6.2, 11.3 and 16.2.
"""

from uuid import UUID

from workers.auth.accounts.users import identities, users
from workers.auth.accounts.users.linking import rules_of
from workers.auth.context import Accounts
from workers.auth.federation.social.decision import domain_of
from workers.auth.model import rejections
from workers.database.interactive import Transaction


async def refuse_taken_email(
    accounts: Accounts, transaction: Transaction, email: str, aud: str, but: UUID | None = None
) -> None:
    """Raise if a normalised address is another's than the user's whose id is given. Raises: AuthError (422)."""
    rules = rules_of(accounts)
    for holder in await identities.holders(transaction, [email], aud):
        is_near = holder.is_own or (
            holder.is_proven and domain_of(holder.provider, rules) == domain_of("", rules)
        )
        if is_near and holder.user_id != but:
            raise rejections.EMAIL_EXISTS()


async def refuse_taken_phone(transaction: Transaction, phone: str, aud: str, but: UUID | None = None) -> None:
    """Raise if a normalised number is another's. Raises: AuthError (422)."""
    holder = await users.find_by_phone(transaction, phone, aud)
    if holder is not None and holder.id != but:
        raise rejections.PHONE_EXISTS()
