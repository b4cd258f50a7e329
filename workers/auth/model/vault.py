"""Encrypts secrets that must be read again (TOTP secrets, session keys, tokens of providers) before they are stored.

    sealed = {"key_id", "alg": "aes-gcm-hkdf", "data", "nonce"}, data and nonce in base64

AES-256-GCM with a key of its own for each row: HKDF-SHA-256 of the master key with the row's id as info. A value that was
copied to another row is therefore encrypted with another key, and cannot be opened there. Under a sealing key
(schemas/keys/sealing_keys.py) what the value is for is part of the info, too. Several master keys can open values, one seals, so
keys can be rotated. Sources: docs/reference/auth.md, section 19; RFC 5869; NIST SP 800-38D.
"""

import base64
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from uuid import UUID

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from schemas.keys.sealing_keys import sealing_keys, signing_secrets
from schemas.keys.secret import Secret
from schemas.settings.auth import Auth
from schemas.settings.former_secret import former_secret_ends

_ALGORITHM = "aes-gcm-hkdf"
_KEY_BYTES, _NONCE_BYTES = 32, 12
_PLATFORM_KEY_ID = "platform"
"""Id of the key that is derived from the platform's JWT secret, used if the settings name none."""
_SECRETS, _SESSIONS = b"headwater secrets at rest 2", b"headwater session keys 2"
"""What the two keys are for that are derived from a sealing key."""


class SealPurpose(Enum):
    """What a sealed value is for. Each has keys of its own under a sealing key."""

    FACTOR = b"second factor"
    SESSION = b"session key"
    PROVIDER_SECRET = b"provider secret"
    PROVIDER_TOKEN = b"provider token"
    SIGN_IN = b"sign-in under way"
    EMAIL = b"email"


class CannotOpen(Exception):
    """A value was sealed with a key that is not configured any more, or was changed."""


class _Sealed(msgspec.Struct):
    key_id: str
    alg: str
    data: bytes
    nonce: bytes


_decode = msgspec.json.Decoder(_Sealed).decode


@dataclass(frozen=True, slots=True)
class SessionMaster:
    """A key from which sessions derive theirs (accounts/sessions/session_keys.py): 32 bytes that HKDF has made."""

    key_id: str
    key: bytes = field(repr=False)
    ends_at: float = float("inf")
    """Epoch seconds at which its sessions end."""


@dataclass(frozen=True, slots=True)
class Vault:
    """Encrypts with one key, decrypts with any of several."""

    key_id: str
    keys: Mapping[str, tuple[bytes, ...]] = field(repr=False)
    """Master keys by their ids. Several of one id are the keys of the present and the former JWT secret."""

    bound_ids: frozenset[str] = frozenset()
    """Ids of the keys whose values are bound to their purpose: sealing keys."""
    session_masters: tuple[SessionMaster, ...] = field(default=(), repr=False)
    """Keys from which sessions derived the keys of their refresh tokens; new sessions use the first."""
    derives_session_keys: bool = False
    """Whether new sessions derive the keys of their refresh tokens (accounts/sessions/session_keys.py)."""

    def valid_masters(self) -> Iterator[SessionMaster]:
        """Yield the session masters whose sessions have not ended."""
        now = time.time()
        yield from (master for master in self.session_masters if now < master.ends_at)

    def seal(self, text: str, row: UUID, purpose: SealPurpose) -> str:
        """Encrypt a text for a row."""
        # A random 96-bit nonce is safe here: each row has its own key, which encrypts few values.
        nonce = os.urandom(_NONCE_BYTES)
        master = self.keys[self.key_id][0]
        data = AESGCM(self._key(self.key_id, master, row, purpose)).encrypt(nonce, text.encode(), None)
        return msgspec.json.encode(_Sealed(self.key_id, _ALGORITHM, data, nonce)).decode()

    def open(self, sealed: str, row: UUID, purpose: SealPurpose) -> str:
        """Decrypt the value of a row. A value that was never encrypted (imported rows) is returned unchanged.

        Raises: CannotOpen.
        """
        if not is_sealed(sealed):
            return sealed
        try:
            value = _decode(sealed.encode())
            for master in self.keys[value.key_id]:
                cipher = AESGCM(self._key(value.key_id, master, row, purpose))
                with suppress(InvalidTag):
                    return cipher.decrypt(value.nonce, value.data, None).decode()
            raise InvalidTag
        except KeyError:
            raise CannotOpen(
                "its key is neither among auth.sealing_key (sealing.key) nor auth.database_encryption.decryption_keys"
            ) from None
        except (msgspec.DecodeError, InvalidTag, ValueError):
            raise CannotOpen("it was changed, or stood in another row") from None

    def is_current(self, sealed: str) -> bool:
        """Return whether a value is encrypted with the key that encrypts now."""
        return is_sealed(sealed) and _decode(sealed.encode()).key_id == self.key_id

    def _key(self, key_id: str, master: bytes, row: UUID, purpose: SealPurpose) -> bytes:
        return _key_of(master, row, purpose.value + b"\0" if key_id in self.bound_ids else b"")


def is_sealed(text: str) -> bool:
    """Return whether a text has the form of an encrypted value."""
    return text.startswith('{"key_id"') and f'"{_ALGORITHM}"' in text


def read_vault(settings: Auth) -> Vault:
    """Build the vault of the settings; without configured keys, with one derived from the sealing key or the JWT secret.

    The settings were checked: every key has 32 bytes.
    """
    encryption, sealing = settings.database_encryption, sealing_keys(settings)
    derived = tuple(
        HKDF(SHA256(), _KEY_BYTES, None, b"headwater secrets at rest").derive(secret)
        for secret in signing_secrets(settings)
    )
    keys = {
        _PLATFORM_KEY_ID: derived,
        **{key.id: (key.derive(_SECRETS),) for key in sealing},
        **{name: (_decoded(key),) for name, key in encryption.decryption_keys.items()},
    }
    ends = (float("inf"), former_secret_ends(settings))
    masters = (
        *(SessionMaster(key.id, key.derive(_SESSIONS)) for key in sealing),
        *(SessionMaster(_PLATFORM_KEY_ID, key, end) for key, end in zip(derived, ends, strict=False)),
    )
    bound = frozenset(key.id for key in sealing)
    if not encryption.encrypt or encryption.encryption_key is None:
        # Whoever knows the JWT secret must not gain anything by it that signing access tokens does not give already.
        derives = bool(sealing) or (settings.jwt_keys is None and not settings.signing_keys_path)
        id = sealing[0].id if sealing else _PLATFORM_KEY_ID
        return Vault(id, keys, bound, masters, derives_session_keys=derives)
    own = {encryption.encryption_key_id: (_decoded(encryption.encryption_key),)}
    return Vault(encryption.encryption_key_id, keys | own, bound, masters)


def _decoded(key: Secret) -> bytes:
    text = key.reveal().strip().rstrip("=")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _key_of(master: bytes, row: UUID, purpose: bytes) -> bytes:
    return HKDF(SHA256(), _KEY_BYTES, None, purpose + str(row).encode()).derive(master)
