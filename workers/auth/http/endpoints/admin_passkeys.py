"""Passkeys of any user, for administrators: list and delete. Source: docs/reference/auth.md, section 16.8."""

from schemas.http import Response
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.factors import passkeys
from workers.auth.http.caller import acting_admin, require_admin
from workers.auth.http.context import EndpointContext
from workers.auth.http.endpoints.passkeys import passkey_id, require_passkeys
from workers.auth.http.path_user import path_user
from workers.auth.model.request import AuthRequest, json_response


async def listing(context: EndpointContext, request: AuthRequest) -> Response:
    """List the passkeys of a user. Raises: AuthError."""
    await require_admin(context, request)
    require_passkeys(context)
    async with context.transaction() as transaction:
        user = await path_user(transaction, request)
        return json_response(passkeys.passkeys_json(await passkeys.of_user(transaction, user.id)))


async def delete(context: EndpointContext, request: AuthRequest) -> Response:
    """Delete a passkey of a user. Raises: AuthError."""
    await require_admin(context, request)
    require_passkeys(context)
    async with context.transaction() as transaction:
        user = await path_user(transaction, request)
        id = passkey_id(request, "passkey_id")
        await passkeys.remove(transaction, user.id, id)
        traits = {"passkey_id": str(id), **audit.user_traits(user)}
        await audit.record(
            context, transaction, request, AuditAction.PASSKEY_DELETED, acting_admin(request), traits
        )
    return Response(204)
