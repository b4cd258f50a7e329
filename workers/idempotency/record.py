"""Encrypts and authenticates stored responses, and derives their database keys. Pure except for random nonces.

Code of the project runs in the transaction that stores the record, as the same login (`reset role`). It must not be able to read
other callers' responses or to forge one. So records are encrypted with AES-256-GCM, with the record's key as associated data, and
the keys of records and callers are HMACs. The secrets are derived from two others: `auth.jwt_secret`, which a project's database
may know (`db.expose_jwt_secret`), and the password of the data pools' login, which it does not know. When one of them changes,
earlier records are not found any more. Source: NIST SP 800-38D; RFC 5869.
"""

import hmac
import os
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from msgspec import Struct

from schemas.http import Headers, Response
from workers.idempotency.key import KeyedRequest

_SEALS, _NAMES = b"headwater idempotent answers 1", b"headwater idempotency keys 1"
_NONCE = 12


class StoredAnswer(Struct, frozen=True, array_like=True):
    """The first response, and the fingerprint of its request. `body` is None if it was too long to be stored."""

    fingerprint: bytes
    status: int
    headers: Headers
    body: bytes | None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(StoredAnswer).decode


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """Primary key of a record (`slot`) and its caller; both are HMACs."""

    slot: bytes
    caller: bytes


class RecordSealer:
    """Names, encrypts and decrypts records."""

    def __init__(self, jwt_secret: str, database_url: str) -> None:
        password = unquote(urlsplit(database_url).password or "")
        secret = msgspec.json.encode([jwt_secret, password])
        self._cipher = AESGCM(HKDF(SHA256(), 32, None, _SEALS).derive(secret))
        self._names = HKDF(SHA256(), 32, None, _NAMES).derive(secret)

    def place(self, request: KeyedRequest) -> RecordPlace:
        """Return the database keys of a request's record."""
        slot = self._name(b"slot", request.caller, request.key.encode())
        return RecordPlace(slot, self._name(b"caller", request.caller))

    def seal(self, place: RecordPlace, request: KeyedRequest, response: Response, max_body: int) -> bytes:
        """Return the encrypted record of a response; a body of more than `max_body` bytes is omitted."""
        body = response.body if len(response.body) <= max_body else None
        record = StoredAnswer(request.fingerprint, response.status, response.headers, body)
        nonce = os.urandom(_NONCE)
        return nonce + self._cipher.encrypt(nonce, _encode(record), place.slot)

    def open(self, place: RecordPlace, sealed: bytes) -> StoredAnswer | None:
        """Decrypt a record; return None if it was not made here for this place."""
        try:
            return _decode(self._cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], place.slot))
        except (ValueError, InvalidTag, msgspec.MsgspecError):
            return None

    def _name(self, *parts: bytes) -> bytes:
        return hmac.digest(self._names, msgspec.msgpack.encode(parts), "sha256")
