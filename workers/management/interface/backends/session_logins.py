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

_RESTORE = "select headwater.restore_session_login($1, $2)"
_SALT_BYTES = 16


def login_verifier(url: str) -> str:
    """Return what the server stores for the password of a URL: the same text each time, so that it can be compared."""
    parts = urlsplit(url)
    password = unquote(parts.password or "")
    salt = hashlib.sha256(f"{parts.username}\0{password}".encode()).digest()[:_SALT_BYTES]
    return verifier(password, salt)


async def restore_login(own: OwnPool, login: str, stored: str) -> None:
    """Set the password and the settings of a login again if they are others. Raises: DatabaseError, Disconnected."""
    await own.run(TransactionSpec((), [statement(_RESTORE, login, stored)]))
