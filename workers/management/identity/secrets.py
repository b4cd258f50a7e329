"""Secrets of administrators: random texts for cookies, links and tokens, and passwords. Pure but for the hashing threads.

A random secret has 160 bits or more, so its SHA-256 is stored without salt and looked up by equality; a password is stored as
argon2id (RFC 9106). A token has the form that the official command line accepts: `sbp_` and 40 hexadecimal digits.
"""

import asyncio
import hashlib
import re
import secrets

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

TOKEN_PREFIX = "sbp_"  # noqa: S105 - the first characters of every token
_TOKEN = re.compile(r"sbp_[0-9a-f]{40}", re.ASCII)
LEAST_PASSWORD, MOST_PASSWORD = 12, 1024
"""Shortest and longest password, in characters and in bytes of UTF-8."""
_AT_ONCE = 2


def new_secret() -> str:
    """Return a random text for a cookie or a link: 256 bits, safe in a URL."""
    return secrets.token_urlsafe(32)


def new_token() -> str:
    """Return a random token of 160 bits."""
    return TOKEN_PREFIX + secrets.token_hex(20)


def is_token(text: str) -> bool:
    """Return whether a text has the form of a token."""
    return _TOKEN.fullmatch(text) is not None


def digest(secret: str) -> bytes:
    """Return what is stored of a random secret, as Postgres reads it: `\\x` and the SHA-256 in hexadecimal."""
    return b"\\x" + hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest().encode()


def password_fault(password: str) -> str:
    """Return why a text cannot be a password; empty if it can."""
    if len(password) < LEAST_PASSWORD:
        return f"A password has at least {LEAST_PASSWORD} characters"
    try:
        size = len(password.encode())
    except UnicodeEncodeError:
        return "A password is Unicode text"
    return f"A password has at most {MOST_PASSWORD} bytes" if size > MOST_PASSWORD else ""


class PasswordHashing:
    """Hashes and verifies passwords in threads, two at a time: each takes 19 MiB and some 20 ms."""

    def __init__(self) -> None:
        self._hasher = PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1)
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def hash(self, password: str) -> str:
        """Return what is stored of a new password."""
        async with self._slots:
            return await asyncio.to_thread(self._hasher.hash, password)

    async def verify(self, password: str, stored: str | None) -> bool:
        """Check a password. Without a stored one the same work is done, so that the time does not tell which address exists."""
        async with self._slots:
            return await asyncio.to_thread(self._verify, password, stored)

    def _verify(self, password: str, stored: str | None) -> bool:
        if stored is None:
            self._hasher.hash(password)
            return False
        try:
            return self._hasher.verify(stored, password)
        except (VerificationError, InvalidHashError):
            return False
