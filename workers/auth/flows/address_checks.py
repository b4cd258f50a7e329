"""Checks whether an address is free: no other account has it, or has proven it by an identity.

An identity that only claims an address does not take it. The unique index checks again when an address is confirmed.
Source: docs/reference/auth.md, sections 6.2, 11.3 and 16.2.
"""

from uuid import UUID

from workers.auth.accounts.users import identities, users
from workers.auth.delivery.context import DeliveryContext
from workers.auth.federation.social.decision import linking_domain_of
from workers.auth.flows.external_sign_in import rules_of
from workers.auth.model import rejections
from workers.database.transactions.interactive import Transaction


async def reject_taken_email(
    context: DeliveryContext, transaction: Transaction, email: str, aud: str, but: UUID | None = None
) -> None:
    """Raise if a normalised address belongs to another user than the one whose id is passed. Raises: AuthError (422)."""
    rules = rules_of(context)
    for holder in await identities.holders(transaction, [email], aud):
        is_near = holder.is_own or (
            holder.is_proven and linking_domain_of(holder.provider, rules) == linking_domain_of("", rules)
        )
        if is_near and holder.user_id != but:
            raise rejections.EMAIL_EXISTS()


async def reject_taken_phone(transaction: Transaction, phone: str, aud: str, but: UUID | None = None) -> None:
    """Raise if a normalised number belongs to another user. Raises: AuthError (422)."""
    holder = await users.find_by_phone(transaction, phone, aud)
    if holder is not None and holder.id != but:
        raise rejections.PHONE_EXISTS()
