"""API keys of which only the digest is stored: each has a name, and is created and revoked while the platform runs (pure).

The value of a name in `auth.hashed_keys` is a text of words:

    secret 9f86d081...0a08 x7Qz 2026-11-29
    |      |               |    day on which it was created; optional
    |      |               its last four characters; optional
    |      SHA-256 of the key in hexadecimal
    `publishable` or `secret`

A key has 256 random bits, so its digest leads back to it as little as to any other text, and needs neither salt nor a slow hash.
"""

import hashlib
import re
import secrets
from datetime import date
from typing import NamedTuple

STARTS = {"publishable": "sb_publishable_", "secret": "sb_secret_"}
"""How the keys of each kind begin."""
MOST_HASHED = 100
"""Keys of one platform."""
_RANDOM_BYTES = 32
_HINT_CHARACTERS = 4
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_VALUE = re.compile(
    r"(publishable|secret) ([0-9a-f]{64})(?: ([A-Za-z0-9_-]{4})(?: (\d{4}-\d{2}-\d{2}))?)?", re.ASCII
)


class HashedKey(NamedTuple):
    """One key. `hint` and `created` are empty where they are not stored."""

    kind: str
    digest: bytes
    hint: str
    created: str


def is_key_name(name: str) -> bool:
    """Return whether a text can be the name of a key: up to 64 small letters, digits, `-` and `_`."""
    return _NAME.fullmatch(name) is not None


def parse_hashed_key(text: str) -> HashedKey | None:
    """Return the key that a value describes; None for another form."""
    match = _VALUE.fullmatch(text)
    return match and HashedKey(match[1], bytes.fromhex(match[2]), match[3] or "", match[4] or "")


def digest_of(key: bytes) -> bytes:
    """Return the digest of a key."""
    return hashlib.sha256(key).digest()


def new_hashed_key(kind: str, day: date) -> tuple[str, str]:
    """Return a random key of a kind, and the value to store for it."""
    key = STARTS[kind] + secrets.token_urlsafe(_RANDOM_BYTES)
    return key, f"{kind} {digest_of(key.encode()).hex()} {key[-_HINT_CHARACTERS:]} {day.isoformat()}"
