"""Encrypts texts that are stored in the database: AES-256-GCM under a key derived from the sealing key, else from the JWT secret.

The name of what a text belongs to (the id of an access key, of a webhook) is the additional authenticated data, so a text that is copied
to another row cannot be decrypted. Pure but for the random nonce. Source: NIST SP 800-38D; RFC 5869.

    s1:<base64>           encrypted under a key of the JWT secret
    s2:<key id>:<base64>  encrypted under a sealing key
"""

import base64
import os
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from schemas.keys.sealing_keys import MasterKey

_NONCE = 12
_OLD_MARK, _MARK = "s1:", "s2:"


@dataclass(frozen=True, slots=True)
class TextSealer:
    """Encrypts and decrypts for one purpose, with keys derived from the sealing keys; from the platform's secrets where there are none."""

    purpose: bytes
    """A text of one purpose cannot be opened as one of another."""
    secrets: tuple[bytes, ...] = field(repr=False)
    """Signing secrets, the present one first."""
    keys: tuple[MasterKey, ...] = field(default=(), repr=False)
    """Sealing keys; the first encrypts."""

    def seal(self, name: str, text: str) -> str:
        """Encrypt a text that belongs to `name`."""
        nonce = os.urandom(_NONCE)
        cipher = self._of_key(self.keys[0]) if self.keys else self._of_secret(self.secrets[0])
        sealed = base64.b64encode(nonce + cipher.encrypt(nonce, text.encode(), name.encode())).decode()
        return self._mark() + sealed

    def open(self, name: str, sealed: str) -> str | None:
        """Decrypt a text; None if this platform did not encrypt it for this name."""
        mark, data = self._parts(sealed)
        ciphers = [self._of_key(key) for key in self.keys if mark == f"{_MARK}{key.id}:"]
        if mark == _OLD_MARK:
            ciphers = [self._of_secret(secret) for secret in self.secrets]
        for cipher in ciphers:
            try:
                decoded = base64.b64decode(data, validate=True)
                return cipher.decrypt(decoded[:_NONCE], decoded[_NONCE:], name.encode()).decode()
            except (ValueError, InvalidTag):
                continue
        return None

    def is_current(self, sealed: str) -> bool:
        """Return whether a text is encrypted with the key that encrypts now."""
        return self._parts(sealed)[0] == self._mark()

    def _mark(self) -> str:
        return f"{_MARK}{self.keys[0].id}:" if self.keys else _OLD_MARK

    def _of_secret(self, secret: bytes) -> AESGCM:
        return AESGCM(HKDF(SHA256(), 32, None, self.purpose).derive(secret))

    def _of_key(self, key: MasterKey) -> AESGCM:
        return AESGCM(key.derive(self.purpose))

    @staticmethod
    def _parts(sealed: str) -> tuple[str, str]:
        """Split a stored text into its mark and the data."""
        mark, colon, data = sealed.rpartition(":")
        return mark + colon, data
