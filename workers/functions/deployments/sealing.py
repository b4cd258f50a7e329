"""Encryption of functions' secrets before they are written to the blob store. Pure except for random nonces.

AES-256-GCM with a key derived from the sealing key (schemas/keys/sealing_keys.py), else (HKDF) from the JWT secret. The secret's
name is authenticated with the value, so a value that was moved to another name cannot be decrypted.
Source: NIST SP 800-38D; RFC 5869.

    <nonce><data>                   encrypted under a key of the JWT secret
    headwater:<key id>:<nonce><data>    encrypted under a sealing key
"""

import hashlib
import hmac
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from schemas.keys.sealing_keys import MasterKey

_SEAL_PURPOSE, _DIGEST_PURPOSE = b"headwater functions secrets 1", b"headwater functions secrets digest 1"
_NONCE = 12


@dataclass(frozen=True, slots=True)
class SecretSealer:
    """Encrypts and decrypts with keys derived from the sealing keys; from the platform's secrets where there are none."""

    secrets: tuple[bytes, ...] = field(repr=False)
    """Signing secrets, the present one first."""
    keys: tuple[MasterKey, ...] = field(default=(), repr=False)
    """Sealing keys; the first encrypts."""

    def seal(self, name: str, text: str) -> bytes:
        """Encrypt the value of a secret."""
        nonce = os.urandom(_NONCE)
        cipher = AESGCM(self._key(_SEAL_PURPOSE))
        return self._mark() + nonce + cipher.encrypt(nonce, text.encode(), name.encode())

    def open(self, name: str, sealed: bytes) -> str | None:
        """Decrypt the value of a secret; None if it was not encrypted with one of these keys, for this name."""
        for mark, key in self._openers():
            data = sealed[len(mark) :]
            if sealed.startswith(mark):
                with suppress(ValueError, InvalidTag):
                    return AESGCM(key).decrypt(data[:_NONCE], data[_NONCE:], name.encode()).decode()
        return None

    def is_current(self, sealed: bytes) -> bool:
        """Return whether a value is encrypted with a key of the kind that encrypts now."""
        return sealed.startswith(self._mark())

    def digest(self, text: str) -> str:
        """Return a keyed digest: equal values have equal digests, and without the key it reveals nothing."""
        return hmac.new(self._key(_DIGEST_PURPOSE), text.encode(), hashlib.sha256).hexdigest()

    def _mark(self) -> bytes:
        return _mark_of(self.keys[0]) if self.keys else b""

    def _key(self, purpose: bytes) -> bytes:
        return self.keys[0].derive(purpose) if self.keys else _key_of_secret(self.secrets[0], purpose)

    def _openers(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the marks that begin values, with the keys that may open them."""
        yield from ((_mark_of(key), key.derive(_SEAL_PURPOSE)) for key in self.keys)
        yield from ((b"", _key_of_secret(secret, _SEAL_PURPOSE)) for secret in self.secrets)


def _mark_of(key: MasterKey) -> bytes:
    return f"headwater:{key.id}:".encode()


def _key_of_secret(secret: bytes, purpose: bytes) -> bytes:
    return HKDF(SHA256(), 32, None, purpose).derive(secret)
