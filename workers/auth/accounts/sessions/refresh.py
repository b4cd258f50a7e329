"""Refresh tokens of version 2: session id, counter, and a signature with the session's own key. Pure.

    version 0 (1 byte) | session id (16) | counter (varint) | HMAC-SHA-256 (first 16) | SHA-256 of all before (first 4)

in base64url without padding. The database stores only the current counter. The checksum rejects mistyped tokens without a
query. Source: docs/reference/auth.md, section 8.2.
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
_MAX_VARINT_BYTES = 9


@dataclass(frozen=True, slots=True)
class RefreshToken:
    """A parsed token: its session and counter. The signature is not verified yet."""

    session_id: UUID
    counter: int
    signed: bytes
    signature: bytes

    def is_signed_by(self, key: bytes) -> bool:
        """Return whether the session's key signed the token, in constant time."""
        return hmac.compare_digest(self.signature, _sign(key, self.signed))


def new_key() -> str:
    """Return a random key of a session, as it is stored."""
    return encode_key(secrets.token_bytes(_KEY_BYTES))


def encode_key(key: bytes) -> str:
    """Return a key as text, which `read_key` decodes."""
    return _base64url(key)


def read_key(text: str) -> bytes:
    """Decode a stored key. Raises: ValueError."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def issue_token(session_id: UUID, counter: int, key: bytes) -> str:
    """Return the token of a session with a counter."""
    signed = bytes([_VERSION]) + session_id.bytes + _varint(counter)
    token = signed + _sign(key, signed)
    return _base64url(token + _checksum(token))


def read_token(text: str) -> RefreshToken | None:
    """Parse a token, or return None. Each token has one valid spelling: no padding, one alphabet, no stray bits."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    # Base64 decoders ignore stray bits: without this check one token would have several spellings.
    if _base64url(data) != text:
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


def _base64url(data: bytes) -> str:
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
    """Decode a number that takes all of the bytes, in its shortest form."""
    if not 1 <= len(data) <= _MAX_VARINT_BYTES or data[-1] & 0x80 or (len(data) > 1 and data[-1] == 0):
        return None
    if any(not byte & 0x80 for byte in data[:-1]):
        return None
    return sum((byte & 0x7F) << 7 * place for place, byte in enumerate(data))
