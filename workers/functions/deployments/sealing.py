"""Encryption of functions' secrets before they are written to the blob store. Pure except for random nonces.

AES-256-GCM with a key derived (HKDF) from the platform's JWT secret. The secret's name is authenticated with the value, so a
value that was moved to another name cannot be decrypted. Source: NIST SP 800-38D; RFC 5869.
"""

import hashlib
import hmac
import os
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_SEAL_PURPOSE, _DIGEST_PURPOSE = b"headwater functions secrets 1", b"headwater functions secrets digest 1"
_NONCE = 12


@dataclass(frozen=True, slots=True)
class SecretSealer:
    """Encrypts and decrypts with keys derived from the platform's secret."""

    secret: bytes = field(repr=False)

    def seal(self, name: str, text: str) -> bytes:
        """Encrypt the value of a secret."""
        nonce = os.urandom(_NONCE)
        return nonce + AESGCM(self._key(_SEAL_PURPOSE)).encrypt(nonce, text.encode(), name.encode())

    def open(self, name: str, sealed: bytes) -> str | None:
        """Decrypt the value of a secret; None if it was not encrypted with this key, for this name."""
        try:
            opened = AESGCM(self._key(_SEAL_PURPOSE)).decrypt(sealed[:_NONCE], sealed[_NONCE:], name.encode())
        except (ValueError, InvalidTag):
            return None
        return opened.decode()

    def digest(self, text: str) -> str:
        """Return a keyed digest: equal values have equal digests, and without the key it reveals nothing."""
        return hmac.new(self._key(_DIGEST_PURPOSE), text.encode(), hashlib.sha256).hexdigest()

    def _key(self, purpose: bytes) -> bytes:
        return HKDF(SHA256(), 32, None, purpose).derive(self.secret)
