"""Looks up the caller: the user and the session that the token names. Source: docs/reference/auth.md, section 1.4."""

from dataclasses import dataclass
from uuid import UUID

from msgspec import Struct
from msgspec.json import decode as decode_json

from schemas.caller import UserCaller as Verified
from workers.auth.accounts.sessions import sessions
from workers.auth.accounts.users import users
from workers.auth.http.context import EndpointContext
from workers.auth.model import rejections
from workers.auth.model.bearer import Bearer
from workers.auth.model.claims import is_acting
from workers.auth.model.errors import AuthError
from workers.auth.model.request import AuthRequest
from workers.auth.model.rows import AuthSession, AuthUser
from workers.database.transactions.interactive import Transaction, decode_first

_READS = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class SignedInCaller:
    """A caller with a user; a token that the project signed itself may name no session."""

    user: AuthUser
    session: AuthSession | None


class SessionOwner(Struct, frozen=True):
    """Whose a session is, and what its OAuth client, if it is of one, may read."""

    user_id: UUID
    oauth_client_id: UUID | None = None
    scopes: str | None = None


@dataclass(frozen=True, slots=True)
class ReadingCaller:
    """A caller that reads its own account; a token that the project signed itself may name no session."""

    user: AuthUser
    session: SessionOwner | None


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
    bearer = _bearer(request)
    statements = [users.by_id(bearer.user_id)]
    if bearer.session_id is not None:
        statements.append(sessions.by_id(bearer.session_id))
    user_rows, *session_rows = await transaction.run(*statements)
    session = decode_first(session_rows[0], AuthSession) if session_rows else None
    user = _checked_user(context, bearer, decode_first(user_rows, AuthUser), session)
    if session is not None and session.oauth_client_id is not None and not allows_clients:
        raise rejections.NOT_FOR_CLIENTS()
    return SignedInCaller(user, session)


async def read_caller(context: EndpointContext, request: AuthRequest) -> ReadingCaller:
    """Find the caller of a request that only reads its own account, by one statement in a transaction of its own. Sessions of OAuth
    clients are allowed. Raises: AuthError (401, 403).
    """
    bearer = _bearer(request)
    [rows] = await context.run(users.by_id_with_session(bearer.user_id, bearer.session_id))
    shown = rows[0][1] if rows else None
    session = None if shown is None else decode_json(shown, type=SessionOwner)
    return ReadingCaller(_checked_user(context, bearer, decode_first(rows, AuthUser), session), session)


def _bearer(request: AuthRequest) -> Bearer:
    """Return the user and session of the token. Raises: AuthError (401, 403), also for an administrator who acts as the user and
    does not read.
    """
    bearer = request.bearer
    if is_acting(bearer.claims) and request.http.method not in _READS:
        raise rejections.ACTING_ONLY_READS()
    return bearer


def _checked_user(
    context: EndpointContext,
    bearer: Bearer,
    user: AuthUser | None,
    session: AuthSession | SessionOwner | None,
) -> AuthUser:
    """Return the user of a token, if user and session exist and may be used. Raises: AuthError (401, 403)."""
    if user is None or user.deleted_at is not None:
        raise rejections.SUBJECT_GONE()
    if bearer.session_id is not None and (session is None or session.user_id != user.id):
        raise rejections.SESSION_GONE()
    if user.is_banned(context.now()):
        raise rejections.USER_BANNED()
    return user
