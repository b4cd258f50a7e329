"""Personal data of administrators as it is stored: encrypted, and looked up by keyed digests.

No role of the project reads these tables. Dumps, copies and replicas of the database have them, so addresses, networks and what the audit
log says of accounts are stored as this module makes them:

    sealed text:<base64>   a text, AES-256-GCM
    sealed json:<base64>   a JSON document, in a JSON string
    HMAC-SHA-256           of a text that is only compared; a plain digest of an address or of an IPv4 network can be guessed

The keys are derived from the password of the login `headwater_management`, which the database does not have.
"""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Any

import msgspec

from schemas.keys.secret import Secret
from workers.management.interface.identity.secrets import CannotUnseal, Sealer

_PURPOSE = b"headwater management personal data"
_TEXT, _JSON = "sealed text:", "sealed json:"
UNREADABLE = "(unreadable)"
"""Shown in place of data that was sealed with another secret."""


@dataclass(frozen=True, slots=True)
class Personal:
    """A text to store sealed."""

    text: str


@dataclass(frozen=True, slots=True)
class PersonalDocument:
    """A JSON document to store sealed."""

    json: bytes


@dataclass(frozen=True, slots=True)
class Lookup:
    """A text that is stored as its keyed digest, or looked up by it."""

    text: str


PersonalValue = Personal | PersonalDocument | Lookup


class PersonalData:
    """Seals and opens personal data; `secret` is the password of the pool's login."""

    def __init__(self, secret: Secret) -> None:
        self._sealer = Sealer(secret, _PURPOSE)
        self._key = self._sealer.derived_key(b"lookups")

    def stored(self, value: PersonalValue) -> str | bytes:
        """Return a value as a parameter of a statement."""
        match value:
            case Personal(text):
                return _TEXT + self._sealer.seal(text)
            case PersonalDocument(document):
                return msgspec.json.encode(_JSON + self._sealer.seal(document.decode()))
            case Lookup(text):
                digest = hmac.new(self._key, text.encode(errors="surrogatepass"), hashlib.sha256)
                return b"\\x" + digest.hexdigest().encode()

    def opened(self, row: Any) -> Any:
        """Return a row (a JSON value) with its sealed values opened: those of an object's own fields."""
        if not isinstance(row, dict):
            return row
        return {name: self._opened(value) for name, value in row.items()}

    def _opened(self, value: object) -> object:
        if not isinstance(value, str) or not value.startswith((_TEXT, _JSON)):
            return value
        try:
            text = self._sealer.unseal(value[len(_TEXT) :])
        except CannotUnseal:
            return UNREADABLE
        return msgspec.json.decode(text) if value.startswith(_JSON) else text
