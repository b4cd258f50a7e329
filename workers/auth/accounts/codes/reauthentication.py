"""A code by which a user shows once more that the account is his, before he sets a new password (`nonce`).

It goes to his e-mail address; to his phone, if he has no other. Source: reference page "auth", sections 5.1, 6.2 and 6.5.
"""

from workers.auth.accounts.codes import one_time
from workers.auth.accounts.codes.one_time import Kind, Token
from workers.auth.context import Accounts
from workers.auth.delivery.email import letters
from workers.auth.delivery.email.letters import Text
from workers.auth.delivery.email.mails import Mail
from workers.auth.model import rejections
from workers.auth.model.rows import User
from workers.database.interactive import Transaction


async def prepare(accounts: Accounts, transaction: Transaction, user: User, client: str) -> Mail | Text:
    """Prepare the message with the code. Raises: AuthError (400) without an address; (422) if it is not confirmed; (429)."""
    if user.email:
        if user.email_confirmed_at is None:
            raise rejections.EMAIL_NOT_CONFIRMED(status=422)
        return await letters.prepare_mail(
            accounts, transaction, user, letters.REAUTHENTICATION, "", None, client
        )
    if not user.phone:
        raise rejections.REAUTHENTICATION_NEEDS_ADDRESS()
    if user.phone_confirmed_at is None:
        raise rejections.PHONE_NOT_CONFIRMED(status=422)
    return await letters.prepare_text(
        accounts, transaction, user, Kind.REAUTHENTICATION, user.phone, client=client
    )


async def find(accounts: Accounts, user: User, nonce: str) -> Token:
    """Find the live code that a user typed; not within a transaction. Raises: AuthError (422, 429)."""
    address = (user.email or "").lower() or user.phone
    if not address:
        raise rejections.BAD_NONCE()
    token = await one_time.try_code(
        accounts, (Kind.REAUTHENTICATION,), address, nonce, user.aud or "", user_id=user.id
    )
    if token is None:
        raise rejections.BAD_NONCE()
    return token


async def take(transaction: Transaction, token: Token) -> None:
    """Use the code up. Raises: AuthError (422) if it was used or replaced meanwhile."""
    if await one_time.take(transaction, token) is None:
        raise rejections.BAD_NONCE()
