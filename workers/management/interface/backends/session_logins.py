"""The logins for SQL of administrators as the platform made them: their passwords and their settings.

The pool's own login calls a function of the platform (schemas/migrations/management/0005_session_logins.sql), which does nothing
where nothing was changed.
"""

import hashlib
from urllib.parse import unquote, urlsplit

from workers.database.sessions.passwords import verifier
from workers.database.transactions.interactive import statement
from workers.database.transactions.model import TransactionSpec
from workers.management.interface.identity.own_pool import OwnPool

_LOCK = "select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('headwater.restore_session_login ' || $1, 0))"
_RESTORE = "select headwater.restore_session_login($1, $2)"
_SALT_BYTES = 16


def login_verifier(url: str) -> str:
    """Return what the server stores for the password of a URL: the same text each time, so that it can be compared."""
    parts = urlsplit(url)
    password = unquote(parts.password or "")
    salt = hashlib.sha256(f"{parts.username}\0{password}".encode()).digest()[:_SALT_BYTES]
    return verifier(password, salt)


async def restore_login(own: OwnPool, login: str, stored: str) -> None:
    """Set the password and the settings of a login again if they are others. Raises: DatabaseError, Disconnected.

    Sessions that begin at once do so one after the other, under a lock in the database: Postgres refuses the second of two
    changes of a role at the same time (XX000, `tuple concurrently updated`). The first one changes, the others find nothing to do.
    """
    await own.run(TransactionSpec((), [statement(_LOCK, login), statement(_RESTORE, login, stored)]))
