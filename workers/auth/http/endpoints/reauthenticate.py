"""GET /reauthenticate: sends the code that a new password may require. Source: docs/reference/auth.md, section 6.5."""

from schemas.http import Response
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.codes import code_messages
from workers.auth.flows import reauthentication
from workers.auth.http.caller import find_caller
from workers.auth.http.context import EndpointContext
from workers.auth.model.rate_limits import account_limit, count_request
from workers.auth.model.request import AuthRequest, json_response


async def reauthenticate(context: EndpointContext, request: AuthRequest) -> Response:
    """Send the caller a code. Raises: AuthError."""
    client = request.device.address
    await count_request(
        context.database, account_limit(context.settings.rate_limit, "reauthenticate"), client
    )
    async with context.transaction() as transaction:
        caller = await find_caller(context, request, transaction)
    async with context.sending(caller.user.email or "") as transaction:
        caller = await find_caller(context, request, transaction)
        message = await reauthentication.prepare(context, transaction, caller.user, client)
        await audit.record(
            context, transaction, request, AuditAction.USER_REAUTHENTICATE_REQUESTED, caller.user
        )
        message_id = await code_messages.send_message(context, transaction, message)
    return json_response({"message_id": message_id} if message_id else {})
