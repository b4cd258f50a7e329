"""POST /logout: ends one session, the others, or all. Source: docs/reference/auth.md, section 7."""

from schemas.http import Response
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.sessions import sessions
from workers.auth.http.caller import find_caller
from workers.auth.http.context import EndpointContext
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.request import AuthRequest


async def logout(context: EndpointContext, request: AuthRequest) -> Response:
    """End sessions of the caller. Raises: AuthError."""
    scope = request.query("scope") or "global"
    async with context.transaction() as transaction:
        caller = await find_caller(context, request, transaction, allows_clients=scope == "local")
        more = audit.entry(context, request, AuditAction.LOGOUT, caller.user, {"scope": scope})
        match scope:
            case "global":
                await sessions.end_all(transaction, caller.user.id, more)
            case "local" if caller.session is not None:
                await sessions.end_one(transaction, caller.session.id, more)
            case "others" if caller.session is not None:
                await sessions.end_others(transaction, caller.user.id, caller.session.id, more)
            case "local" | "others":
                pass  # the token does not name a session to end or to keep
            case _:
                raise AuthError(ErrorCode.VALIDATION_FAILED, f'Unsupported logout scope "{scope}"')
    return Response(204)
