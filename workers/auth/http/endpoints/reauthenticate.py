"""GET /reauthenticate: a code for who wants to set a new password. Source: reference page "auth", section 6.5."""

from schemas.http import Response
from workers.auth import audit
from workers.auth.accounts.codes import reauthentication
from workers.auth.accounts.codes.limits import account_limit, take
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.delivery.email.mails import Mail
from workers.auth.http.endpoints.present import present
from workers.auth.model.request import Asked, answer


async def reauthenticate(accounts: Accounts, asked: Asked) -> Response:
    """Send the caller a code. Raises: AuthError."""
    client = asked.device.address
    await take(accounts.database, account_limit(accounts.settings.rate_limit, "reauthenticate"), client)
    async with accounts.transaction() as transaction:
        caller = await present(accounts, asked, transaction)
        message = await reauthentication.prepare(accounts, transaction, caller.user, client)
        await audit.record(accounts, transaction, asked, Action.USER_REAUTHENTICATE_REQUESTED, caller.user)
    if isinstance(message, Mail):
        await accounts.outbox.send(message)
        return answer({})
    message_id = await message.send(accounts)
    return answer({"message_id": message_id} if message_id else {})
