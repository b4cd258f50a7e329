"""Who calls, looked up: the user and the session that a token names. Source: reference page "auth", section 1.4."""

from dataclasses import dataclass

from schemas.caller import User as Verified
from workers.auth import refusals, sessions, users
from workers.auth.asked import Asked
from workers.auth.context import Accounts
from workers.auth.errors import AuthError
from workers.auth.rows import Session, User
from workers.database.interactive import Transaction


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
            raise refusals.SESSION_GONE()
        if user.is_banned(now):
            raise refusals.USER_BANNED()
        try:
            await sessions.refuse_expired(transaction, session, user, accounts.limits, now)
        except AuthError as error:
            raise AuthError(error.code, "Session has expired", 403) from None


async def present(accounts: Accounts, asked: Asked, transaction: Transaction) -> Present:
    """Find who calls. Raises: AuthError (401, 403)."""
    bearer = asked.bearer
    user = await users.find_by_id(transaction, bearer.user_id)
    if user is None or user.deleted_at is not None:
        raise refusals.SUBJECT_GONE()
    session = None
    if bearer.session_id is not None:
        session = await sessions.find(transaction, bearer.session_id)
        if session is None or session.user_id != user.id:
            raise refusals.SESSION_GONE()
    if user.is_banned(accounts.now()):
        raise refusals.USER_BANNED()
    return Present(user, session)
