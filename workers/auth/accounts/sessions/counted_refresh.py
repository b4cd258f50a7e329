"""The usual refresh in one exchange with Postgres: the current token of a session that derives its key (`session_keys.py`).

The token is verified before anything is read, so one statement can check the session and the user, advance the counter and
write the audit entry; a second one reads the user. Where the first finds anything unusual it changes nothing, and
`http/grants/refresh.py` decides in its transaction: an older token, an ended session, a banned user, an OAuth client's session,
a session that another request has locked, a key in the row. Source: docs/reference/auth.md, sections 8.2 and 8.3. Raises: DatabaseError, Disconnected.
"""

from datetime import datetime

from workers.auth.accounts.sessions.refresh import RefreshToken, issue_token
from workers.auth.accounts.sessions.session_keys import marker, signing_master
from workers.auth.accounts.sessions.sessions import SessionGrant
from workers.auth.accounts.users import users
from workers.auth.model import rejections
from workers.auth.model.claims import SignInMethod
from workers.auth.model.context import AuthContext
from workers.auth.model.request import Device
from workers.auth.model.rows import AuthSession, AuthUser
from workers.database.transactions.interactive import decode_first, statement
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.accounts.sessions", "counted_refresh.sql")


async def try_exchange(
    context: AuthContext, sent: RefreshToken, device: Device, now: datetime, *, action: str, log_type: str
) -> tuple[AuthUser, SessionGrant] | None:
    """Exchange a token for the next one as a whole transaction; None if nothing was changed.

    Limits of sessions are not checked. The audit entry, an `action` of the group `log_type`, is always stored; the statement
    writes it as `accounts/audit.py` does, which has the user only afterwards. Raises: AuthError (400) if the user was deleted meanwhile.
    """
    # Before the statement: a forged token must not advance the counter, and so end the session of its owner.
    signing = signing_master(context.vault, sent)
    if signing is None:
        return None
    master, key = signing
    exchange = statement(
        _SQL["exchange"], str(sent.session_id), sent.counter, marker(master), device.user_agent, device.address, now.isoformat(),
        action, log_type,
    )  # fmt: skip
    session_rows, user_rows = await context.run(exchange, users.by_session(sent.session_id))
    session = decode_first(session_rows, AuthSession)
    if session is None:
        return None
    user = decode_first(user_rows, AuthUser)
    if user is None:  # deleted between both statements
        raise rejections.NO_SESSION_FOUND()
    token = issue_token(session.id, session.refresh_token_counter or 0, key)
    grant = SessionGrant(session, token, SignInMethod.TOKEN_REFRESH, device.address, is_rotated=True)
    return user, grant
