"""Secrets that must be read again (factors, session keys, tokens of providers) encrypted before they reach the database.

    sealed = {"key_id", "alg": "aes-gcm-hkdf", "data", "nonce"}, data and nonce in base64

AES-256-GCM under a key of each row's own: HKDF-SHA-256 of the master key over the row's id, so that a value moved to
another row cannot be opened. Several master keys may open, one seals. Source: reference page "auth", section 19;
RFC 5869; NIST SP 800-38D.
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
_OWN = "platform"
"""Name of the key that is derived from the platform's secret, where the settings name none."""


class CannotOpen(Exception):
    """A value was sealed with a key that is not there, or was changed."""


class _Sealed(msgspec.Struct):
    key_id: str
    alg: str
    data: bytes
    nonce: bytes


_decode = msgspec.json.Decoder(_Sealed).decode


@dataclass(frozen=True, slots=True)
class Vault:
    """Seals with one key, opens with any of them."""

    key_id: str
    keys: Mapping[str, bytes] = field(repr=False)

    def seal(self, text: str, row: UUID) -> str:
        """Encrypt a text that stands in a row."""
        nonce = os.urandom(_NONCE_BYTES)
        data = AESGCM(_key_of(self.keys[self.key_id], row)).encrypt(nonce, text.encode(), None)
        return msgspec.json.encode(_Sealed(self.key_id, _ALGORITHM, data, nonce)).decode()

    def open(self, sealed: str, row: UUID) -> str:
        """Decrypt what a row holds; what was never sealed (rows of other versions) is given as it is.

        Raises: CannotOpen.
        """
        if not is_sealed(sealed):
            return sealed
        try:
            found = _decode(sealed.encode())
            master = self.keys[found.key_id]
            return AESGCM(_key_of(master, row)).decrypt(found.nonce, found.data, None).decode()
        except KeyError:
            raise CannotOpen("its key is not among auth.database_encryption.decryption_keys") from None
        except (msgspec.DecodeError, InvalidTag, ValueError):
            raise CannotOpen("it was changed, or stood in another row") from None

    def is_current(self, sealed: str) -> bool:
        """Tell whether a value is sealed with the key that seals now."""
        return is_sealed(sealed) and _decode(sealed.encode()).key_id == self.key_id


def is_sealed(text: str) -> bool:
    """Tell whether a text has the form of a sealed one."""
    return text.startswith('{"key_id"') and f'"{_ALGORITHM}"' in text


def read_vault(own: Auth) -> Vault:
    """Make the vault of the settings; without keys of its own, with one derived from the platform's JWT secret.

    The settings were checked: every key has 32 bytes.
    """
    settings = own.database_encryption
    derived = HKDF(SHA256(), _KEY_BYTES, None, b"headwater secrets at rest").derive(
        own.jwt_secret.reveal().encode()
    )
    keys = {_OWN: derived, **{name: _decoded(key) for name, key in settings.decryption_keys.items()}}
    if not settings.encrypt or settings.encryption_key is None:
        return Vault(_OWN, keys)
    return Vault(
        settings.encryption_key_id, {**keys, settings.encryption_key_id: _decoded(settings.encryption_key)}
    )


def _decoded(key: Secret) -> bytes:
    text = key.reveal().strip().rstrip("=")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _key_of(master: bytes, row: UUID) -> bytes:
    return HKDF(SHA256(), _KEY_BYTES, None, str(row).encode()).derive(master)
