"""POST /logout: the end of one session, of the others, or of all. Source: reference page "auth", section 7."""

from schemas.http import Response
from workers.auth import audit
from workers.auth.accounts.sessions import sessions
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.http.endpoints.present import present
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked


async def logout(accounts: Accounts, asked: Asked) -> Response:
    """End sessions of the caller. Raises: AuthError."""
    scope = asked.query("scope") or "global"
    async with accounts.transaction() as transaction:
        caller = await present(accounts, asked, transaction, allows_clients=scope == "local")
        more = audit.entry(accounts, asked, Action.LOGOUT, caller.user, {"scope": scope})
        match scope:
            case "global":
                await sessions.end_all(transaction, caller.user.id, more)
            case "local" if caller.session is not None:
                await sessions.end_one(transaction, caller.session.id, more)
            case "others" if caller.session is not None:
                await sessions.end_others(transaction, caller.user.id, caller.session.id, more)
            case "local" | "others":
                pass  # the token names no session: there is none of its own, and none to keep
            case _:
                raise AuthError(Code.VALIDATION_FAILED, f'Unsupported logout scope "{scope}"')
    return Response(204)
