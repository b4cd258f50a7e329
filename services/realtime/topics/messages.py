"""Broadcast messages of a topic, and the packets in which edges exchange them. Pure.

A public and a private topic of one name are two different topics. A message goes to the channels of this process at once,
and over the broker to the other edges. A packet is the name of the sending edge (16 characters, so that an edge skips its
own packets without decoding them), then a kind, then the message. A message longer than `_PART` is sent in parts.
"""

from enum import IntEnum

from msgspec import Struct

from broker.codec import InvalidMessage, MessageDecoder, encode
from schemas.bounded_cache import BoundedCache
from services.realtime.protocol import frames
from services.realtime.protocol.frames import TOPIC_PREFIX, Vsn

EDGE_SIZE = 16
"""Characters of an edge's name."""

_PART = 512 * 1024
"""Bytes of a packet, without its head."""
_MOST_PARTS = 16
_MOST_OPEN = 64
"""Incomplete messages of other edges that are stored at once."""


class PayloadForm(IntEnum):
    """Form of the payload of a message."""

    CLIENT_TEXT = 0
    """JSON text of the complete payload of a `broadcast`, as a client sent it in the text form."""
    JSON = 1
    """JSON text of the user's payload."""
    BINARY = 2
    """Bytes of the user's payload."""


class TopicMessage(Struct, frozen=True, array_like=True):
    """A message to the channels of a topic."""

    topic: str
    """Without `realtime:`."""
    is_private: bool
    event: str
    payload: bytes
    form: PayloadForm = PayloadForm.JSON
    id: str = ""
    """Id of a stored message, or the id that the sender chose."""
    is_replayed: bool = False

    def frame(self, vsn: Vsn) -> bytes | None:
        """Return the frame for clients of this version; None if the version cannot carry the payload."""
        if self.form is PayloadForm.CLIENT_TEXT:
            return frames.fanout(vsn, TOPIC_PREFIX + self.topic, "broadcast", self.payload)
        return frames.user_broadcast(
            vsn,
            TOPIC_PREFIX + self.topic,
            self.event,
            self.payload,
            self._meta(),
            is_json=self.form is PayloadForm.JSON,
        )

    def _meta(self) -> bytes:
        if not self.id:
            return b""
        meta = {"replayed": True, "id": self.id} if self.is_replayed else {"id": self.id}
        return frames.json_text(meta)


class _Part(Struct, frozen=True, array_like=True):
    """A part of a message: the number of the message, the index of the part, the count of parts."""

    number: int
    index: int
    count: int
    data: bytes


_decode_message = MessageDecoder(TopicMessage)
_decode_part = MessageDecoder(_Part)
_WHOLE, _PIECE = b"w", b"p"
"""Kinds of packets: a message, or a part of one."""


def packets(edge: str, number: int, message: TopicMessage) -> list[bytes]:
    """Return the packets of a message. `number` must be unique among the messages of this edge."""
    data = encode(message)
    head = edge.encode()
    if len(data) <= _PART:
        return [head + _WHOLE + data]
    pieces = [data[start : start + _PART] for start in range(0, len(data), _PART)]
    return [
        head + _PIECE + encode(_Part(number, index, len(pieces), piece)) for index, piece in enumerate(pieces)
    ]


class MessageAssembler:
    """Decodes the packets of other edges. The oldest incomplete message is dropped when there are more than `_MOST_OPEN`."""

    def __init__(self, edge: str) -> None:
        self._edge = edge.encode()
        self._open: BoundedCache[tuple[bytes, int], list[bytes]] = BoundedCache(_MOST_OPEN)

    def take(self, packet: bytes) -> TopicMessage | None:
        """Return the message that a packet completes, if it completes one. Raises: InvalidMessage."""
        edge, kind, data = packet[:EDGE_SIZE], packet[EDGE_SIZE : EDGE_SIZE + 1], packet[EDGE_SIZE + 1 :]
        if edge == self._edge:
            return None
        if kind == _WHOLE:
            return _decode_message(data)
        if kind != _PIECE:
            raise InvalidMessage("packet", f"unknown kind {kind!r}")
        part = _decode_part(data)
        key = (edge, part.number)
        pieces = self._open.get(key, [])
        if part.index != len(pieces) or part.count > _MOST_PARTS:  # an earlier part was lost
            self._open.pop(key)
            return None
        if not pieces:
            self._open.put(key, pieces)
        pieces.append(part.data)
        if len(pieces) < part.count:
            return None
        self._open.pop(key)
        return _decode_message(b"".join(pieces))
