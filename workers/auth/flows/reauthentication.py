"""The code (`nonce`) by which a user confirms their identity again before setting a new password.

It is sent to the email address, or to the phone of users without one. Source: docs/reference/auth.md, sections 5.1, 6.2 and 6.5.
"""

from workers.auth.accounts.codes import code_messages, one_time
from workers.auth.accounts.codes.code_messages import CodeText
from workers.auth.accounts.codes.one_time import CodeKind, OneTimeToken
from workers.auth.delivery.context import DeliveryContext
from workers.auth.delivery.email.emails import OutgoingEmail
from workers.auth.model import rejections
from workers.auth.model.rows import AuthUser
from workers.database.transactions.interactive import Transaction


async def prepare(
    context: DeliveryContext, transaction: Transaction, user: AuthUser, client: str
) -> OutgoingEmail | CodeText:
    """Prepare the message with the code. Raises: AuthError (400) without an address; (422) if it is not confirmed; (429)."""
    if user.email:
        if user.email_confirmed_at is None:
            raise rejections.EMAIL_NOT_CONFIRMED(status=422)
        return await code_messages.prepare_mail(
            context, transaction, user, code_messages.REAUTHENTICATION, "", None, client
        )
    if not user.phone:
        raise rejections.REAUTHENTICATION_NEEDS_ADDRESS()
    if user.phone_confirmed_at is None:
        raise rejections.PHONE_NOT_CONFIRMED(status=422)
    return await code_messages.prepare_text(
        context, transaction, user, CodeKind.REAUTHENTICATION, user.phone, client=client
    )


async def find(context: DeliveryContext, user: AuthUser, nonce: str) -> OneTimeToken:
    """Find the valid code that a user typed; not within a transaction. Raises: AuthError (422, 429)."""
    address = (user.email or "").lower() or user.phone
    if not address:
        raise rejections.BAD_NONCE()
    token = await one_time.try_code(
        context, (CodeKind.REAUTHENTICATION,), address, nonce, user.aud or "", user_id=user.id
    )
    if token is None:
        raise rejections.BAD_NONCE()
    return token


async def take(transaction: Transaction, token: OneTimeToken) -> None:
    """Use the code up. Raises: AuthError (422) if it was used or replaced since."""
    if await one_time.take(transaction, token) is None:
        raise rejections.BAD_NONCE()
