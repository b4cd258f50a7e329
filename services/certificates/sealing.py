"""Encrypts what edges share: private keys must not lie readable in the broker's store.

AES-256-GCM under a key derived from `auth.jwt_secret`, which every edge has and the broker has not; the entry's name is associated data,
so one entry cannot stand for another. Sources: NIST SP 800-38D; RFC 5869.
"""

import os
from typing import TypeVar

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from schemas.keys.secret import Secret

T = TypeVar("T")
_PURPOSE = b"headwater shared certificates 1"
_NONCE_BYTES = 12


class EntrySealer:
    """Seals and opens entries."""

    def __init__(self, secret: Secret) -> None:
        self._cipher = AESGCM(HKDF(SHA256(), 32, None, _PURPOSE).derive(secret.reveal().encode()))

    def seal(self, name: str, value: object) -> bytes:
        """Return a value, encrypted for the entry of this name."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, msgspec.json.encode(value), name.encode())

    def open(self, name: str, sealed: bytes, kind: type[T]) -> T | None:
        """Return the value; None if it was sealed with another secret or is damaged, as if it were not there."""
        try:
            text = self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], name.encode())
            return msgspec.json.decode(text, type=kind)
        except (InvalidTag, ValueError, msgspec.MsgspecError):
            return None
