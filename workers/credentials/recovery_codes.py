"""Recovery codes: each replaces a second factor once. Pure but for the random source.

A code has characters of an alphabet of 32. What is stored is an HMAC of it with a key of the server and the owner's id, so
a reader of the database can neither use nor compare codes.
"""

import hmac
import secrets
from uuid import UUID

_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_IGNORED = str.maketrans("", "", " -\t")
_MAX_LENGTH = 64


def new_codes(count: int, length: int) -> list[str]:
    """Return random codes of a set, all different."""
    codes: dict[str, None] = {}
    while len(codes) < count:
        codes["".join(secrets.choice(_ALPHABET) for _ in range(length))] = None
    return list(codes)


def normal_code(text: str) -> str:
    """Return a code as it was generated, however it was typed: case, blanks and dashes are ignored."""
    return text[: 2 * _MAX_LENGTH].translate(_IGNORED).lower()[:_MAX_LENGTH]


def hash_of(code: str, owner_id: UUID, key: bytes) -> str:
    """Return the stored form of an owner's code, in hexadecimal; `key` is the server's."""
    message = b"recovery code" + owner_id.bytes + code.encode(errors="surrogatepass")
    return hmac.digest(key, message, "sha256").hex()
