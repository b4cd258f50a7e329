"""Secrets that verify signatures of S3 clients, and the encryption of stored access keys. Pure but for the random nonce.

Signature Version 4 is an HMAC, so the server needs the plain secret of every access key and cannot store a hash. Stored
secrets are encrypted before they reach the database: AES-256-GCM under a key that HKDF-SHA256 derives from the platform's
secret. The id of the access key is the additional authenticated data, so a secret that is copied to another row cannot be
decrypted. Source: NIST SP 800-38D; RFC 5869.
"""

import base64
import os
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from schemas.keys.secret import Secret
from schemas.settings.tree import Settings

_PURPOSE = b"headwater storage s3 access keys 1"
_NONCE = 12
_MARK = "s1:"


@dataclass(frozen=True, slots=True)
class S3SecretSealer:
    """Encrypts and decrypts with a key derived from the platform's secret."""

    secret: bytes = field(repr=False)

    def seal(self, access_key: str, text: str) -> str:
        """Encrypt the secret of an access key."""
        nonce = os.urandom(_NONCE)
        sealed = self._cipher().encrypt(nonce, text.encode(), access_key.encode())
        return _MARK + base64.b64encode(nonce + sealed).decode()

    def open(self, access_key: str, sealed: str) -> str | None:
        """Decrypt the secret of an access key; None if it was not encrypted by this platform for this access key."""
        try:
            data = base64.b64decode(sealed.removeprefix(_MARK), validate=True)
            opened = self._cipher().decrypt(data[:_NONCE], data[_NONCE:], access_key.encode())
        except (ValueError, InvalidTag):
            return None
        return opened.decode() if sealed.startswith(_MARK) else None

    def _cipher(self) -> AESGCM:
        return AESGCM(HKDF(SHA256(), 32, None, _PURPOSE).derive(self.secret))


@dataclass(frozen=True, slots=True)
class S3Keyring:
    """The project's id and its public API keys, which are access key and secret of session tokens; the cipher of stored
    keys.
    """

    project: str = ""
    public_keys: tuple[Secret, ...] = ()
    sealer: S3SecretSealer = field(default_factory=lambda: S3SecretSealer(b""))


def read_keyring(settings: Settings) -> S3Keyring:
    """Return the keyring of the settings."""
    auth = settings.auth
    listed = auth.publishable_keys.reveal().split(",") if auth.publishable_keys else []
    public = [auth.anon_key, auth.publishable_key, *(Secret(key.strip()) for key in listed)]
    secrets = tuple(key for key in public if key)
    return S3Keyring(settings.project_id, secrets, S3SecretSealer(auth.jwt_secret.reveal().encode()))
