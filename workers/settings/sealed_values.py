"""Encrypts the settings that are stored in the database, all of them in one text.

AES-256-GCM under a key that the database does not have: the one that `auth.database_encryption` names, else one that is derived from
`auth.sealing_key` (schemas/keys/sealing_keys.py), else from `auth.jwt_secret`. The version of the row is associated data, so an
older text cannot stand for a newer one. Every configured key opens, one seals, so keys can be rotated.
Sources: NIST SP 800-38D; RFC 5869.
"""

import base64
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from msgspec import Struct

from schemas.keys.sealing_keys import sealing_keys, signing_secrets
from schemas.keys.secret import Secret
from schemas.settings.auth import Auth

_PURPOSE = b"headwater stored settings 1"
_PLATFORM = "platform"
_NONCE_BYTES = 12


class CannotOpenSettings(Exception):
    """The stored settings were encrypted with a key that is not configured, or were changed."""


class StoredValue(Struct, frozen=True):
    """One stored setting: its value as JSON, who changed it and when (ISO 8601)."""

    value: Any
    changed_by: str = ""
    changed_at: str = ""


class StoredSettings(Struct, frozen=True):
    """All stored settings by dotted path; version 0: nothing was ever stored."""

    version: int = 0
    entries: dict[str, StoredValue] = {}

    @property
    def values(self) -> dict[str, Any]:
        """The values alone."""
        return {key: entry.value for key, entry in self.entries.items()}


class _Sealed(Struct, frozen=True):
    key_id: str
    nonce: bytes
    data: bytes


_decode_sealed = msgspec.json.Decoder(_Sealed).decode
_decode_entries = msgspec.json.Decoder(dict[str, StoredValue]).decode


class SettingsSealer:
    """Encrypts with one key, decrypts with any that is configured."""

    def __init__(self, auth: Auth) -> None:
        encryption, sealing = auth.database_encryption, sealing_keys(auth)
        keys = {_PLATFORM: [_cipher(secret) for secret in signing_secrets(auth)]}
        keys |= {key.id: [AESGCM(key.derive(_PURPOSE))] for key in sealing}
        keys |= {name: [_cipher(_decoded(key))] for name, key in encryption.decryption_keys.items()}
        self._key_id = sealing[0].id if sealing else _PLATFORM
        if encryption.encrypt and encryption.encryption_key is not None:
            self._key_id = encryption.encryption_key_id
            keys[self._key_id] = [_cipher(_decoded(encryption.encryption_key))]
        self._keys: Mapping[str, list[AESGCM]] = keys

    def seal(self, stored: StoredSettings) -> str:
        """Return the text that is stored for these settings under their version."""
        nonce = os.urandom(_NONCE_BYTES)
        text = msgspec.json.encode(stored.entries)
        data = self._keys[self._key_id][0].encrypt(nonce, text, _bound_to(stored.version))
        return msgspec.json.encode(_Sealed(self._key_id, nonce, data)).decode()

    def open(self, version: int, sealed: str) -> StoredSettings:
        """Decrypt a stored text. Raises: CannotOpenSettings."""
        try:
            value = _decode_sealed(sealed)
            text = _decrypted(self._keys[value.key_id], value, _bound_to(version))
            return StoredSettings(version, _decode_entries(text))
        except KeyError:
            raise CannotOpenSettings(
                "its key is neither among auth.sealing_key (sealing.key) nor auth.database_encryption.decryption_keys"
            ) from None
        except (msgspec.MsgspecError, InvalidTag, ValueError):
            raise CannotOpenSettings("auth.jwt_secret is another one, or the text was changed") from None

    def is_current(self, sealed: str) -> bool:
        """Return whether a stored text is encrypted with the key that encrypts now."""
        try:
            return _decode_sealed(sealed).key_id == self._key_id
        except msgspec.MsgspecError:
            return False


def _decrypted(ciphers: Iterable[AESGCM], value: _Sealed, bound: bytes) -> bytes:
    """Decrypt with the first of these ciphers that can. Raises: InvalidTag, ValueError."""
    for cipher in ciphers:
        with suppress(InvalidTag):
            return cipher.decrypt(value.nonce, value.data, bound)
    raise InvalidTag


def _cipher(master: bytes) -> AESGCM:
    return AESGCM(HKDF(SHA256(), 32, None, _PURPOSE).derive(master))


def _decoded(key: Secret) -> bytes:
    text = key.reveal().strip().rstrip("=")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _bound_to(version: int) -> bytes:
    return b"version %d" % version
