"""Looks up the caller: the user and the session that the token names. Source: docs/reference/auth.md, section 1.4."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from schemas.caller import UserCaller as Verified
from workers.auth.accounts.sessions import sessions
from workers.auth.accounts.users import users
from workers.auth.http.context import EndpointContext
from workers.auth.model import rejections
from workers.auth.model.claims import is_acting
from workers.auth.model.errors import AuthError
from workers.auth.model.request import AuthRequest
from workers.auth.model.rows import AuthSession, AuthUser
from workers.database.protocol.rows import Rows
from workers.database.transactions.interactive import Transaction, decode_first
from workers.database.transactions.model import Statement

_READS = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class SignedInCaller:
    """A caller with a user; a token that the project signed itself may name no session."""

    user: AuthUser
    session: AuthSession | None


async def require_admin(context: EndpointContext, request: AuthRequest) -> None:
    """Raise if the caller may not use the admin endpoints. If the token names a session, that session must still exist.

    Raises: AuthError (401, 403).
    """
    request.require_admin(context.settings.jwt_admin_roles)
    caller = request.http.caller
    if not isinstance(caller, Verified) or not caller.decoded().get("session_id"):
        return
    bearer, now = request.bearer, context.now()
    async with context.transaction() as transaction:
        user = await users.find_by_id(transaction, bearer.user_id)
        session = await sessions.find(transaction, bearer.session_id) if bearer.session_id else None
        if user is None or session is None or session.user_id != user.id:
            raise rejections.SESSION_GONE()
        if user.is_banned(now):
            raise rejections.USER_BANNED()
        try:
            await sessions.reject_expired(transaction, session, user, context.limits, now)
        except AuthError as error:
            raise AuthError(error.code, "Session has expired", 403) from None


def acting_admin(request: AuthRequest) -> AuthUser:
    """Return the administrator who calls, for the audit log. A trusted server is recorded with the nil UUID."""
    caller = request.http.caller
    claims = caller.decoded() if isinstance(caller, Verified) else {}
    email = claims.get("email")
    try:
        id = UUID(str(claims.get("sub")))
    except ValueError:
        id = UUID(int=0)
    return AuthUser(id, email=email if isinstance(email, str) else None)


async def find_caller(
    context: EndpointContext, request: AuthRequest, transaction: Transaction, *, allows_clients: bool = False
) -> SignedInCaller:
    """Find the calling user and session. Sessions of OAuth clients are rejected unless `allows_clients` is set, and administrators
    who act as the user unless the request reads.

    Raises: AuthError (401, 403).
    """
    rows = await transaction.run(*_statements(request))
    return _decode_caller(context, rows, allows_clients=allows_clients)


async def read_caller(
    context: EndpointContext, request: AuthRequest, *, allows_clients: bool = False
) -> SignedInCaller:
    """Find the caller as `find_caller` does, in a transaction and a round trip of its own. Raises: AuthError (401, 403)."""
    rows = await context.run(*_statements(request))
    return _decode_caller(context, rows, allows_clients=allows_clients)


def _statements(request: AuthRequest) -> list[Statement]:
    """Return the statements that find user and session of a request. Raises: AuthError (401, 403)."""
    bearer = request.bearer
    if is_acting(bearer.claims) and request.http.method not in _READS:
        raise rejections.ACTING_ONLY_READS()
    statements = [users.by_id(bearer.user_id)]
    if bearer.session_id is not None:
        statements.append(sessions.by_id(bearer.session_id))
    return statements


def _decode_caller(context: EndpointContext, rows: Sequence[Rows], *, allows_clients: bool) -> SignedInCaller:
    """Return the caller whom the rows of `_statements` describe. Raises: AuthError (401, 403)."""
    user_rows, *session_rows = rows
    user = decode_first(user_rows, AuthUser)
    if user is None or user.deleted_at is not None:
        raise rejections.SUBJECT_GONE()
    session = decode_first(session_rows[0], AuthSession) if session_rows else None
    if session_rows and (session is None or session.user_id != user.id):
        raise rejections.SESSION_GONE()
    if user.is_banned(context.now()):
        raise rejections.USER_BANNED()
    if session is not None and session.oauth_client_id is not None and not allows_clients:
        raise rejections.NOT_FOR_CLIENTS()
    return SignedInCaller(user, session)
