"""Who calls, looked up: the user and the session that a token names. Source: reference page "auth", section 1.4."""

from dataclasses import dataclass
from uuid import UUID

from schemas.caller import User as Verified
from workers.auth.accounts.sessions import sessions
from workers.auth.accounts.users import users
from workers.auth.context import Accounts
from workers.auth.model import rejections
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked
from workers.auth.model.rows import Session, User
from workers.database.interactive import Transaction, first


@dataclass(frozen=True, slots=True)
class Present:
    """A caller who is signed in; a token that somebody made by hand may name no session."""

    user: User
    session: Session | None


async def refuse_unless_admin(accounts: Accounts, asked: Asked) -> None:
    """Raise if the caller may not use the admin endpoints. A session that its token names must still be there.

    Raises: AuthError (401, 403).
    """
    asked.refuse_unless_admin(accounts.settings.jwt_admin_roles)
    caller = asked.request.caller
    if not isinstance(caller, Verified) or not caller.decoded().get("session_id"):
        return
    bearer, now = asked.bearer, accounts.now()
    async with accounts.transaction() as transaction:
        user = await users.find_by_id(transaction, bearer.user_id)
        session = await sessions.find(transaction, bearer.session_id) if bearer.session_id else None
        if user is None or session is None or session.user_id != user.id:
            raise rejections.SESSION_GONE()
        if user.is_banned(now):
            raise rejections.USER_BANNED()
        try:
            await sessions.refuse_expired(transaction, session, user, accounts.limits, now)
        except AuthError as error:
            raise AuthError(error.code, "Session has expired", 403) from None


def acting_admin(asked: Asked) -> User:
    """Give the admin who calls, as the audit log names him: a trusted server has no account, and the id of nobody."""
    caller = asked.request.caller
    claims = caller.decoded() if isinstance(caller, Verified) else {}
    email = claims.get("email")
    try:
        id = UUID(str(claims.get("sub")))
    except ValueError:
        id = UUID(int=0)
    return User(id, email=email if isinstance(email, str) else None)


async def present(
    accounts: Accounts, asked: Asked, transaction: Transaction, *, allows_clients: bool = False
) -> Present:
    """Find who calls. An OAuth client that acts for a user is not the user, but where `allows_clients` says so.

    Raises: AuthError (401, 403).
    """
    bearer = asked.bearer
    found = [users.by_id(bearer.user_id)]
    if bearer.session_id is not None:
        found.append(sessions.by_id(bearer.session_id))
    users_found, *sessions_found = await transaction.run(*found)
    user = first(users_found, User)
    if user is None or user.deleted_at is not None:
        raise rejections.SUBJECT_GONE()
    session = first(sessions_found[0], Session) if sessions_found else None
    if sessions_found and (session is None or session.user_id != user.id):
        raise rejections.SESSION_GONE()
    if user.is_banned(accounts.now()):
        raise rejections.USER_BANNED()
    if session is not None and session.oauth_client_id is not None and not allows_clients:
        raise rejections.NOT_FOR_CLIENTS()
    return Present(user, session)
