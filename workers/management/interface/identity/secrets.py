"""Secrets of administrators: random texts for cookies, links and tokens, and passwords. Pure but for the hashing threads.

A random secret has 160 bits or more, so its SHA-256 is stored without salt and looked up by equality. A password is stored as
argon2id (RFC 9106), and the hash is encrypted: some roles may read all tables, and must not get hashes to guess at. A token has the form that the official command line accepts: `sbp_` and 40 hexadecimal digits.
"""

import asyncio
import binascii
import hashlib
import hmac
import re
import secrets
import time
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from schemas.keys.secret import Secret
from workers.credentials.password_hashes import (
    SALT_BYTES,
    Cost,
    UnreadableHash,
    hash_password,
    read_hash,
    verify_password,
)

TOKEN_PREFIX = "sbp_"  # noqa: S105 - the first characters of every token
_TOKEN = re.compile(r"sbp_[0-9a-f]{40}", re.ASCII)
LEAST_PASSWORD, MOST_PASSWORD = 12, 1024
"""Shortest and longest password, in characters and in bytes of UTF-8."""
_AT_ONCE = 2
_NONCE_BYTES = 12
_PASSWORDS, _FACTORS = b"headwater management passwords", b"headwater management factors"
"""What the two keys that are derived from the secret are for."""


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


class CannotUnseal(Exception):
    """A text was sealed with another secret or for another owner, or was changed."""


class Sealer:
    """Encrypts what must be read again: AES-256-GCM with a key derived from a secret that the database does not have."""

    def __init__(self, secret: Secret, purpose: bytes) -> None:
        self._key = HKDF(SHA256(), 32, None, purpose).derive(secret.reveal().encode())
        self._cipher = AESGCM(self._key)

    def seal(self, text: str, owner: str = "") -> str:
        """Encrypt a text so that it can be opened for this owner alone; the result is base64."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return b64encode(nonce + self._cipher.encrypt(nonce, text.encode(), owner.encode())).decode()

    def unseal(self, sealed: str, owner: str = "") -> str:
        """Decrypt a text. Raises: CannotUnseal."""
        try:
            data = b64decode(sealed, validate=True)
            return self._cipher.decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], owner.encode()).decode()
        except (InvalidTag, ValueError, binascii.Error):
            raise CannotUnseal from None

    def code_key(self) -> bytes:
        """Return the key under which recovery codes are stored as an HMAC."""
        return self.derived_key(b"recovery codes")

    def derived_key(self, purpose: bytes) -> bytes:
        """Return a key for HMACs."""
        return hmac.digest(self._key, purpose, "sha256")


@dataclass(slots=True)
class FactorSecrets:
    """What second factors are verified with: the key that encrypts them, and the present time in epoch seconds."""

    sealer: Sealer
    clock: Callable[[], float] = time.time


def factor_secrets(secret: Secret) -> FactorSecrets:
    """Return what second factors are verified with; `secret` is the password of the pool's login."""
    return FactorSecrets(Sealer(secret, _FACTORS))


class PasswordHashing:
    """Hashes and verifies passwords in threads, two at a time: each takes 19 MiB and some 20 ms.

    `secret` encrypts the hashes: the password of the pool's login, which no tenant has. With another one the stored hashes
    cannot be read, and a link signs in.
    """

    def __init__(self, secret: Secret) -> None:
        self._sealer = Sealer(secret, _PASSWORDS)
        self._cost = Cost()
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def hash(self, password: str) -> str:
        """Return what is stored of a new password."""
        async with self._slots:
            return await asyncio.to_thread(self._hash, password)

    async def verify(self, password: str, stored: str | None) -> bool:
        """Check a password. Without a stored one the same work is done, so that the time does not tell which address exists."""
        async with self._slots:
            return await asyncio.to_thread(self._verify, password, stored)

    def _verify(self, password: str, stored: str | None) -> bool:
        try:
            if stored is None:
                raise CannotUnseal
            stored_hash = read_hash(self._sealer.unseal(stored))
        except (CannotUnseal, UnreadableHash):
            hash_password(password, self._cost, bytes(SALT_BYTES))
            return False
        return verify_password(password, stored_hash, self._cost).is_right

    def _hash(self, password: str) -> str:
        return self._sealer.seal(hash_password(password, self._cost, secrets.token_bytes(SALT_BYTES)))
