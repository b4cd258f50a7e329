"""Secrets of functions, encrypted before they reach the blob store. Pure but for chance.

AES-256-GCM under a key made of the platform's JWT secret; the secret's name is bound to it, so that a value which is
moved to another name cannot be opened. Source: NIST SP 800-38D; RFC 5869.
"""

import hashlib
import hmac
import os
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_SEALS, _DIGESTS = b"headwater functions secrets 1", b"headwater functions secrets digest 1"
_NONCE = 12


@dataclass(frozen=True, slots=True)
class Sealer:
    """Seals and opens with a key made of the platform's secret."""

    secret: bytes = field(repr=False)

    def seal(self, name: str, text: str) -> bytes:
        """Encrypt the value of a secret."""
        nonce = os.urandom(_NONCE)
        return nonce + AESGCM(self._key(_SEALS)).encrypt(nonce, text.encode(), name.encode())

    def open(self, name: str, sealed: bytes) -> str | None:
        """Decrypt the value of a secret; None for what was not sealed here, for this name."""
        try:
            opened = AESGCM(self._key(_SEALS)).decrypt(sealed[:_NONCE], sealed[_NONCE:], name.encode())
        except (ValueError, InvalidTag):
            return None
        return opened.decode()

    def digest(self, text: str) -> str:
        """Give a digest that tells equal values, and nothing to who has not the key."""
        return hmac.new(self._key(_DIGESTS), text.encode(), hashlib.sha256).hexdigest()

    def _key(self, purpose: bytes) -> bytes:
        return HKDF(SHA256(), 32, None, purpose).derive(self.secret)
