"""What the pool remembers between the two steps of an upload, sealed: it travels by the edge and must come back unchanged. Pure."""

import hashlib
import hmac
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from workers.storage.errors import invalid_signature
from workers.storage.rules import RuleKey

_MAC = 32
_PURPOSE = b"headwater storage upload ticket 1"


class Ticket(Struct, frozen=True, array_like=True):
    """A grant: this caller may write this object, as this version."""

    bucket: str
    key: str
    version: str
    is_upsert: bool
    role: str
    subject: str
    rules: RuleKey | None = None
    """The rules of the bucket that the grant was held against."""


_decode = msgspec.msgpack.Decoder(Ticket).decode


@dataclass(frozen=True, slots=True)
class Tickets:
    """Seals tickets with a key of their own, made of the project's secret."""

    secret: bytes = field(repr=False)

    def seal(self, ticket: Ticket) -> bytes:
        """Give a ticket as bytes that nobody else can make."""
        payload = msgspec.msgpack.encode(ticket)
        return self._mac(payload) + payload

    def open(self, sealed: bytes) -> Ticket:
        """Give a ticket back. Raises: StorageError (InvalidSignature) if it is not ours."""
        mac, payload = sealed[:_MAC], sealed[_MAC:]
        if not hmac.compare_digest(mac, self._mac(payload)):
            raise invalid_signature()
        return _decode(payload)

    def _mac(self, payload: bytes) -> bytes:
        key = hmac.digest(self.secret, _PURPOSE, hashlib.sha256)
        return hmac.digest(key, payload, hashlib.sha256)
