"""Encrypts secrets that must be read again (TOTP secrets, session keys, tokens of providers) before they are stored.

    sealed = {"key_id", "alg": "aes-gcm-hkdf", "data", "nonce"}, data and nonce in base64

AES-256-GCM with a key of its own for each row: HKDF-SHA-256 of the master key with the row's id as info. A value that was
copied to another row is therefore encrypted with another key, and cannot be opened there. Several master keys can open
values, one seals, so keys can be rotated. Sources: docs/reference/auth.md, section 19; RFC 5869; NIST SP 800-38D.
"""

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from schemas.keys.secret import Secret
from schemas.settings.auth import Auth

_ALGORITHM = "aes-gcm-hkdf"
_KEY_BYTES, _NONCE_BYTES = 32, 12
_PLATFORM_KEY_ID = "platform"
"""Id of the key that is derived from the platform's JWT secret, used if the settings name none."""


class CannotOpen(Exception):
    """A value was sealed with a key that is not configured any more, or was changed."""


class _Sealed(msgspec.Struct):
    key_id: str
    alg: str
    data: bytes
    nonce: bytes


_decode = msgspec.json.Decoder(_Sealed).decode


@dataclass(frozen=True, slots=True)
class Vault:
    """Encrypts with one key, decrypts with any of several."""

    key_id: str
    keys: Mapping[str, bytes] = field(repr=False)

    derives_session_keys: bool = False
    """Whether new sessions derive the keys of their refresh tokens from `platform_key` (accounts/sessions/session_keys.py)."""

    @property
    def platform_key(self) -> bytes:
        """Return the key that is derived from the platform's JWT secret; 32 bytes that HKDF has made."""
        return self.keys[_PLATFORM_KEY_ID]

    def seal(self, text: str, row: UUID) -> str:
        """Encrypt a text for a row."""
        # A random 96-bit nonce is safe here: each row has its own key, which encrypts few values.
        nonce = os.urandom(_NONCE_BYTES)
        data = AESGCM(_key_of(self.keys[self.key_id], row)).encrypt(nonce, text.encode(), None)
        return msgspec.json.encode(_Sealed(self.key_id, _ALGORITHM, data, nonce)).decode()

    def open(self, sealed: str, row: UUID) -> str:
        """Decrypt the value of a row. A value that was never encrypted (imported rows) is returned unchanged.

        Raises: CannotOpen.
        """
        if not is_sealed(sealed):
            return sealed
        try:
            value = _decode(sealed.encode())
            master = self.keys[value.key_id]
            return AESGCM(_key_of(master, row)).decrypt(value.nonce, value.data, None).decode()
        except KeyError:
            raise CannotOpen("its key is not among auth.database_encryption.decryption_keys") from None
        except (msgspec.DecodeError, InvalidTag, ValueError):
            raise CannotOpen("it was changed, or stood in another row") from None

    def is_current(self, sealed: str) -> bool:
        """Return whether a value is encrypted with the key that encrypts now."""
        return is_sealed(sealed) and _decode(sealed.encode()).key_id == self.key_id


def is_sealed(text: str) -> bool:
    """Return whether a text has the form of an encrypted value."""
    return text.startswith('{"key_id"') and f'"{_ALGORITHM}"' in text


def read_vault(settings: Auth) -> Vault:
    """Build the vault of the settings; without configured keys, with one derived from the platform's JWT secret.

    The settings were checked: every key has 32 bytes.
    """
    encryption = settings.database_encryption
    derived = HKDF(SHA256(), _KEY_BYTES, None, b"headwater secrets at rest").derive(
        settings.jwt_secret.reveal().encode()
    )
    keys = {
        _PLATFORM_KEY_ID: derived,
        **{name: _decoded(key) for name, key in encryption.decryption_keys.items()},
    }
    if not encryption.encrypt or encryption.encryption_key is None:
        # Whoever knows the JWT secret must not gain anything by it that signing access tokens does not give already.
        signs_with_secret = settings.jwt_keys is None and not settings.signing_keys_path
        return Vault(_PLATFORM_KEY_ID, keys, derives_session_keys=signs_with_secret)
    return Vault(
        encryption.encryption_key_id,
        {**keys, encryption.encryption_key_id: _decoded(encryption.encryption_key)},
    )


def _decoded(key: Secret) -> bytes:
    text = key.reveal().strip().rstrip("=")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _key_of(master: bytes, row: UUID) -> bytes:
    return HKDF(SHA256(), _KEY_BYTES, None, str(row).encode()).derive(master)
