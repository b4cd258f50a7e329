"""Upload tickets: what the pool has checked in the grant, sealed with a MAC. Pure.

The gateway carries the ticket from the grant to the commit and cannot change it.
"""

import hashlib
import hmac
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from workers.storage.model.errors import invalid_signature
from workers.storage.model.names_and_sizes import UploadRules

_MAC = 32
_PURPOSE = b"headwater storage upload ticket 1"


class UploadTicket(Struct, frozen=True, array_like=True):
    """A grant: this caller may write this object, as this version."""

    bucket: str
    key: str
    version: str
    is_upsert: bool
    role: str
    subject: str
    rules: UploadRules | None = None
    """The rules of the bucket that the grant was checked against."""


_decode = msgspec.msgpack.Decoder(UploadTicket).decode


@dataclass(frozen=True, slots=True)
class TicketSealer:
    """Seals tickets with a key derived from the project's secret."""

    secret: bytes = field(repr=False)

    def seal(self, ticket: UploadTicket) -> bytes:
        """Return a ticket as bytes with a MAC in front."""
        payload = msgspec.msgpack.encode(ticket)
        return self._mac(payload) + payload

    def open(self, sealed: bytes) -> UploadTicket:
        """Return a sealed ticket. Raises: StorageError (InvalidSignature) if its MAC is wrong."""
        mac, payload = sealed[:_MAC], sealed[_MAC:]
        if not hmac.compare_digest(mac, self._mac(payload)):
            raise invalid_signature()
        return _decode(payload)

    def _mac(self, payload: bytes) -> bytes:
        key = hmac.digest(self.secret, _PURPOSE, hashlib.sha256)
        return hmac.digest(key, payload, hashlib.sha256)
