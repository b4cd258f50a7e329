"""Secrets that verify signatures of S3 clients, and the encryption of stored access keys. Pure but for the random nonce.

Signature Version 4 is an HMAC, so the server needs the plain secret of every access key and cannot store a hash. Stored
secrets are encrypted before they reach the database: AES-256-GCM under a key that is derived from the sealing key
(schemas/keys/sealing_keys.py), else from the JWT secret. The id of the access key is the additional authenticated data, so a secret
that is copied to another row cannot be decrypted. Source: NIST SP 800-38D; RFC 5869.

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

from schemas.keys.sealing_keys import MasterKey, sealing_keys, signing_secrets
from schemas.keys.secret import Secret
from schemas.settings.auth import Auth
from schemas.settings.tree import Settings

_PURPOSE = b"headwater storage s3 access keys 1"
_NONCE = 12
_OLD_MARK, _MARK = "s1:", "s2:"


@dataclass(frozen=True, slots=True)
class S3SecretSealer:
    """Encrypts and decrypts with keys derived from the sealing keys; from the platform's secrets where there are none."""

    secrets: tuple[bytes, ...] = field(repr=False)
    """Signing secrets, the present one first."""
    keys: tuple[MasterKey, ...] = field(default=(), repr=False)
    """Sealing keys; the first encrypts."""

    def seal(self, access_key: str, text: str) -> str:
        """Encrypt the secret of an access key."""
        nonce = os.urandom(_NONCE)
        cipher = _cipher_of(self.keys[0]) if self.keys else _cipher(self.secrets[0])
        sealed = base64.b64encode(nonce + cipher.encrypt(nonce, text.encode(), access_key.encode())).decode()
        return self._mark() + sealed

    def open(self, access_key: str, sealed: str) -> str | None:
        """Decrypt the secret of an access key; None if it was not encrypted by this platform for this access key."""
        mark, data = self._parts(sealed)
        ciphers = [_cipher_of(key) for key in self.keys if mark == f"{_MARK}{key.id}:"]
        if mark == _OLD_MARK:
            ciphers = [_cipher(secret) for secret in self.secrets]
        for cipher in ciphers:
            try:
                decoded = base64.b64decode(data, validate=True)
                return cipher.decrypt(decoded[:_NONCE], decoded[_NONCE:], access_key.encode()).decode()
            except (ValueError, InvalidTag):
                continue
        return None

    def is_current(self, sealed: str) -> bool:
        """Return whether a secret is encrypted with the key that encrypts now."""
        return self._parts(sealed)[0] == self._mark()

    def _mark(self) -> str:
        return f"{_MARK}{self.keys[0].id}:" if self.keys else _OLD_MARK

    @staticmethod
    def _parts(sealed: str) -> tuple[str, str]:
        """Split a stored text into its mark and the data."""
        mark, colon, data = sealed.rpartition(":")
        return mark + colon, data


def sealer_of(auth: Auth) -> S3SecretSealer:
    """Return the encryption of stored access keys."""
    return S3SecretSealer(tuple(signing_secrets(auth)), tuple(sealing_keys(auth)))


def _cipher(secret: bytes) -> AESGCM:
    return AESGCM(HKDF(SHA256(), 32, None, _PURPOSE).derive(secret))


def _cipher_of(key: MasterKey) -> AESGCM:
    return AESGCM(key.derive(_PURPOSE))


@dataclass(frozen=True, slots=True)
class S3Keyring:
    """The project's id and its public API keys, which are access key and secret of session tokens; the cipher of stored
    keys.
    """

    project: str = ""
    public_keys: tuple[Secret, ...] = ()
    sealer: S3SecretSealer = field(default_factory=lambda: S3SecretSealer((b"",)))


def read_keyring(settings: Settings) -> S3Keyring:
    """Return the keyring of the settings."""
    auth = settings.auth
    listed = auth.publishable_keys.reveal().split(",") if auth.publishable_keys else []
    public = [auth.anon_key, auth.publishable_key, *(Secret(key.strip()) for key in listed)]
    secrets = tuple(key for key in public if key)
    return S3Keyring(settings.project_id, secrets, sealer_of(auth))
