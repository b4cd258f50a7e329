"""Upload tickets: what the pool has checked in the grant, sealed with a MAC. Pure.

The gateway carries the ticket from the grant to the commit and cannot change it. The ticket of an allowance is carried to
further uploads of the same caller to the same bucket; it has another MAC, so that neither passes for the other.
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
_ALLOWANCE_PURPOSE = b"headwater storage upload allowance 1"


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


class AllowanceTicket(Struct, frozen=True, array_like=True):
    """An allowance: until a time this caller's uploads to a bucket may be stored first, as versions of a series."""

    bucket: str
    role: str
    subject: str
    series: str
    rules: UploadRules
    """The rules of the bucket that the grant was checked against."""
    until: float
    """Epoch seconds."""


_decode = msgspec.msgpack.Decoder(UploadTicket).decode
_decode_allowance = msgspec.msgpack.Decoder(AllowanceTicket).decode


@dataclass(frozen=True, slots=True)
class TicketSealer:
    """Seals tickets with a key derived from the project's secret."""

    secret: bytes = field(repr=False)

    def seal(self, ticket: UploadTicket) -> bytes:
        """Return a ticket as bytes with a MAC in front."""
        return self._seal(ticket, _PURPOSE)

    def open(self, sealed: bytes) -> UploadTicket:
        """Return a sealed ticket. Raises: StorageError (InvalidSignature) if its MAC is wrong."""
        payload = self._payload(sealed, _PURPOSE)
        if payload is None:
            raise invalid_signature()
        return _decode(payload)

    def seal_allowance(self, ticket: AllowanceTicket) -> bytes:
        """Return the ticket of an allowance as bytes with a MAC in front."""
        return self._seal(ticket, _ALLOWANCE_PURPOSE)

    def open_allowance(self, sealed: bytes) -> AllowanceTicket | None:
        """Return a sealed ticket of an allowance; None if its MAC is wrong."""
        payload = self._payload(sealed, _ALLOWANCE_PURPOSE)
        return None if payload is None else _decode_allowance(payload)

    def _seal(self, ticket: UploadTicket | AllowanceTicket, purpose: bytes) -> bytes:
        payload = msgspec.msgpack.encode(ticket)
        return self._mac(payload, purpose) + payload

    def _payload(self, sealed: bytes, purpose: bytes) -> bytes | None:
        mac, payload = sealed[:_MAC], sealed[_MAC:]
        return payload if hmac.compare_digest(mac, self._mac(payload, purpose)) else None

    def _mac(self, payload: bytes, purpose: bytes) -> bytes:
        key = hmac.digest(self.secret, purpose, hashlib.sha256)
        return hmac.digest(key, payload, hashlib.sha256)
