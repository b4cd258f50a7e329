"""Refresh tokens of version 2: a session, a number, and the session's own signature. Pure.

    version 0 (1 byte) | session id (16) | counter (varint) | HMAC-SHA-256 (first 16) | SHA-256 of all before (first 4)

in base64url without padding. Nothing of a token is kept in the database but its number, and the checksum refuses
mistyped ones before it is asked. Source: reference page "auth", section 8.2.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from dataclasses import dataclass
from uuid import UUID

_VERSION = 0
_ID, _SIGNATURE, _CHECKSUM = 16, 16, 4
_KEY_BYTES = 32
_MOST_VARINT = 9


@dataclass(frozen=True, slots=True)
class RefreshToken:
    """A token as it was sent: which session's, which number, signed by whom is not known yet."""

    session_id: UUID
    counter: int
    signed: bytes
    signature: bytes

    def is_signed_by(self, key: bytes) -> bool:
        """Tell in constant time whether the session's key made it."""
        return hmac.compare_digest(self.signature, _sign(key, self.signed))


def new_key() -> str:
    """Make the key of a session, as it is kept."""
    return _spelled(secrets.token_bytes(_KEY_BYTES))


def read_key(text: str) -> bytes:
    """Give the bytes of a kept key. Raises: ValueError."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def issue_token(session_id: UUID, counter: int, key: bytes) -> str:
    """Write the token of a session with a number."""
    signed = bytes([_VERSION]) + session_id.bytes + _varint(counter)
    token = signed + _sign(key, signed)
    return _spelled(token + _checksum(token))


def read_token(text: str) -> RefreshToken | None:
    """Read a token; None if it is none. There is one spelling of each: no padding, no other alphabet, no stray bits."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    if _spelled(data) != text:
        return None
    if len(data) < 1 + _ID + 1 + _SIGNATURE + _CHECKSUM or data[0] != _VERSION:
        return None
    token, checksum = data[:-_CHECKSUM], data[-_CHECKSUM:]
    if not hmac.compare_digest(checksum, _checksum(token)):
        return None
    signed, signature = token[:-_SIGNATURE], token[-_SIGNATURE:]
    counter = _read_varint(signed[1 + _ID :])
    if counter is None:
        return None
    return RefreshToken(UUID(bytes=signed[1 : 1 + _ID]), counter, signed, signature)


def _spelled(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _sign(key: bytes, signed: bytes) -> bytes:
    return hmac.digest(key, signed, "sha256")[:_SIGNATURE]


def _checksum(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()[:_CHECKSUM]


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _read_varint(data: bytes) -> int | None:
    """Read a number that takes all of the bytes, written in the shortest way."""
    if not 1 <= len(data) <= _MOST_VARINT or data[-1] & 0x80 or (len(data) > 1 and data[-1] == 0):
        return None
    if any(not byte & 0x80 for byte in data[:-1]):
        return None
    return sum((byte & 0x7F) << 7 * place for place, byte in enumerate(data))
