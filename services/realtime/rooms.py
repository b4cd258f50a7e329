"""Messages of rooms, and their way between the edges. Pure.

A room is a topic, public or private: two different rooms. What a member sends goes to the members of this process at
once, and over the broker to the other edges: the name of the edge (16 signs, so that it skips its own without reading
them), then the message. One that is longer than the broker takes travels in parts.
"""

from collections import OrderedDict
from enum import IntEnum

from msgspec import Struct

from broker.codec import Decoder, Undecodable, encode
from services.realtime import frames
from services.realtime.frames import Vsn

EDGE_SIZE = 16
"""Signs of an edge's name."""
PREFIX = "realtime:"

_PART = 512 * 1024
_MOST_PARTS = 16
_MOST_OPEN = 64


class Form(IntEnum):
    """What the payload of a message is."""

    WHOLE = 0
    """JSON text of the whole payload of a `broadcast`, as a client sent it in the text form."""
    JSON = 1
    """JSON text of the user's payload."""
    BINARY = 2
    """Bytes of the user's payload."""


class Message(Struct, frozen=True, array_like=True):
    """A message to a room."""

    topic: str
    """Without `realtime:`."""
    is_private: bool
    event: str
    payload: bytes
    form: Form = Form.JSON
    id: str = ""
    """Of a stored message, or as the sender named it."""
    is_replayed: bool = False

    def frame(self, vsn: Vsn) -> bytes | None:
        """Make the frame that members with this version get; None if they get none."""
        if self.form is Form.WHOLE:
            return frames.fanout(vsn, PREFIX + self.topic, "broadcast", self.payload)
        return frames.user_broadcast(
            vsn,
            PREFIX + self.topic,
            self.event,
            self.payload,
            self._meta(),
            is_json=self.form is Form.JSON,
        )

    def _meta(self) -> bytes:
        if not self.id:
            return b""
        told = {"replayed": True, "id": self.id} if self.is_replayed else {"id": self.id}
        return frames.json_text(told)


class _Part(Struct, frozen=True, array_like=True):
    """A piece of a message: its number, that of the piece, how many there are."""

    number: int
    index: int
    count: int
    data: bytes


_decode_message = Decoder(Message)
_decode_part = Decoder(_Part)
_WHOLE, _PIECE = b"w", b"p"


def packets(edge: str, number: int, message: Message) -> list[bytes]:
    """Give what is published for a message. `number` is one that this edge uses for no other message."""
    data = encode(message)
    head = edge.encode()
    if len(data) <= _PART:
        return [head + _WHOLE + data]
    pieces = [data[start : start + _PART] for start in range(0, len(data), _PART)]
    return [
        head + _PIECE + encode(_Part(number, index, len(pieces), piece)) for index, piece in enumerate(pieces)
    ]


class Assembler:
    """Makes messages of what other edges published. What stays incomplete is dropped for what comes later."""

    def __init__(self, edge: str) -> None:
        self._own = edge.encode()
        self._open: OrderedDict[tuple[bytes, int], list[bytes]] = OrderedDict()

    def take(self, packet: bytes) -> Message | None:
        """Give the message that a packet completes. Raises: Undecodable."""
        edge, kind, data = packet[:EDGE_SIZE], packet[EDGE_SIZE : EDGE_SIZE + 1], packet[EDGE_SIZE + 1 :]
        if edge == self._own:
            return None
        if kind == _WHOLE:
            return _decode_message(data)
        if kind != _PIECE:
            raise Undecodable("packet", f"unknown kind {kind!r}")
        part = _decode_part(data)
        key = (edge, part.number)
        pieces = self._open.setdefault(key, [])
        if part.index != len(pieces) or part.count > _MOST_PARTS:  # one before it was lost
            del self._open[key]
            return None
        pieces.append(part.data)
        if len(pieces) < part.count:
            while len(self._open) > _MOST_OPEN:
                self._open.popitem(last=False)
            return None
        del self._open[key]
        return _decode_message(b"".join(pieces))
