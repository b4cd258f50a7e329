"""The logins for SQL of administrators, as the platform made them: their passwords, their settings, and what readers may read.

The pool's own login calls two functions of the platform (schemas/migrations/management/0005_readers.sql), which do nothing where
nothing was changed.
"""

import hashlib
from urllib.parse import unquote, urlsplit

from workers.database.connection_pool.pool import ConnectionPool
from workers.database.sessions.passwords import verifier
from workers.database.transactions.interactive import statement
from workers.database.transactions.model import TransactionSpec

_RESTORE = "select headwater.restore_session_login($1, $2)"
_GRANT_READS = "select headwater.grant_reads()"
_SALT_BYTES = 16


def login_verifier(url: str) -> str:
    """Return what the server stores for the password of a URL: the same text each time, so that it can be compared."""
    parts = urlsplit(url)
    password = unquote(parts.password or "")
    salt = hashlib.sha256(f"{parts.username}\0{password}".encode()).digest()[:_SALT_BYTES]
    return verifier(password, salt)


async def restore_login(own: ConnectionPool, login: str, stored: str) -> None:
    """Set the password and the settings of a login again if they are others. Raises: DatabaseError, Disconnected."""
    await own.run(TransactionSpec((), [statement(_RESTORE, login, stored)]))


async def grant_reads(own: ConnectionPool) -> bool:
    """Let readers read what is new in the database; return whether anything was. Raises: DatabaseError, Disconnected."""
    [[[count]]] = await own.run(TransactionSpec((), [statement(_GRANT_READS)]))
    return count != b"0"
