"""GET /sessions and DELETE /sessions/{id}: where one is signed in, and the end of one of these; the same for administrators.

Ours, beyond the standard. Source: reference page "auth", section 28.
"""

from uuid import UUID

import msgspec

from schemas.http import Response
from workers.auth import audit
from workers.auth.accounts.sessions import sessions
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.http.endpoints.named import named_user
from workers.auth.http.endpoints.present import acting_admin, present, refuse_unless_admin
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked, answer
from workers.auth.model.rows import User
from workers.database.interactive import Transaction


async def listing(accounts: Accounts, asked: Asked) -> Response:
    """List the caller's sessions, the last used first. Raises: AuthError."""
    async with accounts.transaction() as transaction:
        caller = await present(accounts, asked, transaction)
        current = caller.session.id if caller.session else None
        found = await _shown(transaction, caller.user.id, current)
    return answer(found)


async def end(accounts: Accounts, asked: Asked) -> Response:
    """End one of the caller's sessions. Raises: AuthError (404) for one that is not the caller's."""
    async with accounts.transaction() as transaction:
        caller = await present(accounts, asked, transaction)
        await _end(accounts, transaction, asked, caller.user, caller.user)
    return Response(204)


async def listing_for_admin(accounts: Accounts, asked: Asked) -> Response:
    """List a user's sessions. Raises: AuthError."""
    await refuse_unless_admin(accounts, asked)
    async with accounts.transaction() as transaction:
        found = await _shown(transaction, (await named_user(transaction, asked)).id, None)
    return answer(found)


async def end_for_admin(accounts: Accounts, asked: Asked) -> Response:
    """End one of a user's sessions. Raises: AuthError."""
    await refuse_unless_admin(accounts, asked)
    async with accounts.transaction() as transaction:
        await _end(accounts, transaction, asked, await named_user(transaction, asked), acting_admin(asked))
    return Response(204)


async def _shown(transaction: Transaction, user_id: UUID, current: UUID | None) -> list[dict[str, object]]:
    found = await sessions.of_user(transaction, user_id)
    if current is None:
        return [msgspec.to_builtins(each) for each in found]
    return [{**msgspec.to_builtins(each), "is_current": each.id == current} for each in found]


async def _end(accounts: Accounts, transaction: Transaction, asked: Asked, user: User, actor: User) -> None:
    id = _uuid(asked.parameters["session_id"])
    session = await sessions.find(transaction, id)
    if session is None or session.user_id != user.id:
        raise AuthError(Code.SESSION_NOT_FOUND, "Session not found", 404)
    traits = {"scope": "session", "session_id": str(id), **({} if actor is user else audit.about(user))}
    await sessions.end_one(transaction, id, audit.entry(accounts, asked, Action.LOGOUT, actor, traits))


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise AuthError(Code.VALIDATION_FAILED, "the id must be a UUID", 404) from None
