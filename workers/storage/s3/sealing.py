"""Secrets of stored access keys, encrypted before they reach the database: S3's signatures need the text itself. Pure but for chance.

AES-256-GCM under a key of its own, made of the platform's secret; the id of the access key is bound to it, so a secret
that is moved to another row cannot be opened. Source: NIST SP 800-38D; RFC 5869.
"""

import base64
import os
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_PURPOSE = b"headwater storage s3 access keys 1"
_NONCE = 12
_MARK = "s1:"


@dataclass(frozen=True, slots=True)
class Sealer:
    """Seals and opens with a key made of the platform's secret."""

    secret: bytes = field(repr=False)

    def seal(self, access_key: str, text: str) -> str:
        """Encrypt the secret of an access key."""
        nonce = os.urandom(_NONCE)
        sealed = self._cipher().encrypt(nonce, text.encode(), access_key.encode())
        return _MARK + base64.b64encode(nonce + sealed).decode()

    def open(self, access_key: str, sealed: str) -> str | None:
        """Decrypt the secret of an access key; None for what was not sealed here, for this key."""
        try:
            data = base64.b64decode(sealed.removeprefix(_MARK), validate=True)
            opened = self._cipher().decrypt(data[:_NONCE], data[_NONCE:], access_key.encode())
        except (ValueError, InvalidTag):
            return None
        return opened.decode() if sealed.startswith(_MARK) else None

    def _cipher(self) -> AESGCM:
        return AESGCM(HKDF(SHA256(), 32, None, _PURPOSE).derive(self.secret))
