"""Passwords of database logins: SCRAM verifiers, and how a transaction is kept out of the server's log.

The server gets verifiers only, never passwords. Source: PostgreSQL, "SASL Authentication"; RFC 5802, 7677.
"""

import base64
import hashlib
import hmac
import secrets

from workers.sql.files import read_statements

STOP_LOGGING = read_statements("workers.database.sessions", "superuser.sql")["stop_logging"]
"""Keeps the rest of a transaction out of the server's log; a superuser sends it before a verifier."""
_ITERATIONS = 4096


def verifier(password: str, salt: bytes | None = None, iterations: int = _ITERATIONS) -> str:
    """Return what Postgres stores for a password: `SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey`."""
    salt = secrets.token_bytes(16) if salt is None else salt
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    coded = [base64.b64encode(part).decode() for part in (salt, stored, server)]
    return f"SCRAM-SHA-256${iterations}:{coded[0]}${coded[1]}:{coded[2]}"


def matches(stored: str | None, password: str) -> bool:
    """Return whether a stored verifier was made from this password."""
    if stored is None or not stored.startswith("SCRAM-SHA-256$"):
        return False
    _, front, _ = stored.split("$")
    iterations, _, salt = front.partition(":")
    return hmac.compare_digest(stored, verifier(password, base64.b64decode(salt), int(iterations)))
