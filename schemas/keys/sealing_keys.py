"""Keys that encrypt what the platform stores: derived from texts that no database, dump or replica contains. Pure.

`auth.sealing_key` holds one text or several, separated by commas or lines. The first encrypts, all decrypt, so a text can be exchanged.
Each purpose has a key of its own, HKDF-SHA-256 of the text with the purpose as info, so a value of one purpose cannot be opened as
one of another. The id of a key is stored with what it encrypts; it is a MAC of a constant, from which nothing of the text follows.

Without such a text, and for values of earlier versions, keys are derived from `auth.jwt_secret` and the secret before it
(`auth.former_jwt_secret`). Source: RFC 5869.
"""

import hmac
import re
from dataclasses import dataclass, field

from schemas.settings.auth import Auth

LEAST_CHARACTERS = 32
"""Shortest text that can be a sealing key."""
_NAME = b"headwater sealing key id 1"
_ID_BYTES = 8


@dataclass(frozen=True, slots=True)
class MasterKey:
    """What keys are derived from, and the id that is stored with what they encrypt."""

    id: str
    material: bytes = field(repr=False)

    def derive(self, purpose: bytes) -> bytes:
        """Return the key of a purpose: 32 bytes of HKDF-SHA-256 without a salt."""
        extracted = hmac.digest(bytes(32), self.material, "sha256")
        return hmac.digest(extracted, purpose + b"\1", "sha256")


def sealing_texts(auth: Auth) -> list[str]:
    """Return the texts of `auth.sealing_key`, the one that encrypts first."""
    text = auth.sealing_key.reveal() if auth.sealing_key else ""
    return [part for line in re.split(r"[,\n]", text) if (part := line.strip())]


def sealing_keys(auth: Auth) -> list[MasterKey]:
    """Return the sealing keys, the one that encrypts first; none if the settings name none."""
    return [_named(text.encode()) for text in sealing_texts(auth)]


def signing_secrets(auth: Auth) -> list[bytes]:
    """Return the secrets that opened and encrypted everything before there were sealing keys: the present and the former one."""
    former = auth.former_jwt_secret
    return [auth.jwt_secret.reveal().encode(), *([former.reveal().encode()] if former else [])]


def current_key_id(auth: Auth) -> str:
    """Return the ids of the keys that encrypt now, as a start compares them with those of the last one."""
    keys, encryption = sealing_keys(auth), auth.database_encryption
    own = encryption.encryption_key_id if encryption.encrypt and encryption.encryption_key else ""
    return f"{keys[0].id if keys else ''}/{own}"


def _named(text: bytes) -> MasterKey:
    return MasterKey(f"sealing-{hmac.digest(text, _NAME, 'sha256')[:_ID_BYTES].hex()}", text)
