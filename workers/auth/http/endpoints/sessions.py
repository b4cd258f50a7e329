"""GET /sessions and DELETE /sessions/{id}: lists the caller's sessions and ends one; the same for administrators.

An extension of the standard API. Source: docs/reference/auth.md, section 28.
"""

from uuid import UUID

import msgspec

from schemas.http import Response
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.sessions import sessions
from workers.auth.http.caller import acting_admin, find_caller, require_admin
from workers.auth.http.context import EndpointContext
from workers.auth.http.path_user import path_user
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.request import AuthRequest, json_response
from workers.auth.model.rows import AuthUser
from workers.database.transactions.interactive import Transaction


async def listing(context: EndpointContext, request: AuthRequest) -> Response:
    """List the caller's sessions, the last used first. Raises: AuthError."""
    async with context.transaction() as transaction:
        caller = await find_caller(context, request, transaction)
        current = caller.session.id if caller.session else None
        body = await _shown(transaction, caller.user.id, current)
    return json_response(body)


async def end(context: EndpointContext, request: AuthRequest) -> Response:
    """End one of the caller's sessions. Raises: AuthError (404) for one that is not the caller's."""
    async with context.transaction() as transaction:
        caller = await find_caller(context, request, transaction)
        await _end(context, transaction, request, caller.user, caller.user)
    return Response(204)


async def list_for_admin(context: EndpointContext, request: AuthRequest) -> Response:
    """List a user's sessions. Raises: AuthError."""
    await require_admin(context, request)
    async with context.transaction() as transaction:
        body = await _shown(transaction, (await path_user(transaction, request)).id, None)
    return json_response(body)


async def end_for_admin(context: EndpointContext, request: AuthRequest) -> Response:
    """End one of a user's sessions. Raises: AuthError."""
    await require_admin(context, request)
    async with context.transaction() as transaction:
        await _end(
            context, transaction, request, await path_user(transaction, request), acting_admin(request)
        )
    return Response(204)


async def end_all_for_admin(context: EndpointContext, request: AuthRequest) -> Response:
    """End all sessions of a user. Raises: AuthError."""
    await require_admin(context, request)
    async with context.transaction() as transaction:
        user, actor = await path_user(transaction, request), acting_admin(request)
        traits = {"scope": "global", **audit.user_traits(user)}
        entry = audit.entry(context, request, AuditAction.LOGOUT, actor, traits)
        await sessions.end_all(transaction, user.id, entry)
    return Response(204)


async def _shown(transaction: Transaction, user_id: UUID, current: UUID | None) -> list[dict[str, object]]:
    summaries = await sessions.of_user(transaction, user_id)
    if current is None:
        return [msgspec.to_builtins(summary) for summary in summaries]
    return [{**msgspec.to_builtins(summary), "is_current": summary.id == current} for summary in summaries]


async def _end(
    context: EndpointContext, transaction: Transaction, request: AuthRequest, user: AuthUser, actor: AuthUser
) -> None:
    id = _uuid(request.parameters["session_id"])
    session = await sessions.find(transaction, id)
    if session is None or session.user_id != user.id:
        raise AuthError(ErrorCode.SESSION_NOT_FOUND, "Session not found", 404)
    traits = {"scope": "session", "session_id": str(id), **({} if actor is user else audit.user_traits(user))}
    await sessions.end_one(transaction, id, audit.entry(context, request, AuditAction.LOGOUT, actor, traits))


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise AuthError(ErrorCode.VALIDATION_FAILED, "the id must be a UUID", 404) from None
