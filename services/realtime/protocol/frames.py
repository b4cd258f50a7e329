"""Frames of the Realtime socket protocol, versions 1.0.0 and 2.0.0: parse what clients send, build what they receive. Pure.

    vsn 1.0.0   text: {"topic", "event", "payload", "ref", "join_ref"}
    vsn 2.0.0   text: [join_ref, ref, topic, event, payload]
                binary: a kind, sizes of one byte each, the fields in the order of their sizes, the rest is the payload
                    0 push             client sends  join_ref ref topic event
                    3 user broadcast   client sends  join_ref ref topic event metadata, then the encoding (0 bytes, 1 JSON)
                    4 user broadcast   server sends  topic event metadata, then the encoding

Everything that is read is validated: texts must be valid Unicode, and payloads valid JSON where the frame says so. So one
client cannot send a frame on which the library of another client fails. Payloads pass through as bytes; they are checked,
never rebuilt. Frames that are built are complete WebSocket frames (`websocket.py`).
Source: docs/reference/realtime.md, sections 2 and 3.
"""

from dataclasses import dataclass
from typing import Literal

import msgspec

from services.realtime.protocol.websocket import binary_frame, text_frame

TOPIC_PREFIX = "realtime:"
"""Before the name of every topic in frames."""
Vsn = Literal[1, 2]
Ref = str | int | None
"""The client's reference of a message; the reply carries it back unchanged."""

VERSIONS: dict[str, Vsn] = {"1.0.0": 1, "2.0.0": 2}

_LONGEST = 255
_PUSH, _USER_PUSH, _USER_BROADCAST = 0, 3, 4


class MalformedFrame(Exception):
    """The frame is not valid; the message says why. The frame is dropped, and the socket stays open."""


@dataclass(frozen=True, slots=True)
class Push:
    """A message of a client other than a binary user broadcast. `payload` is JSON text."""

    topic: str
    event: str
    payload: bytes
    ref: Ref = None
    join_ref: Ref = None


@dataclass(frozen=True, slots=True)
class UserPush:
    """A user broadcast in the binary form. `event` is the user's, `payload` is JSON text or bytes."""

    topic: str
    event: str
    payload: bytes
    is_json: bool
    ref: Ref = None
    join_ref: Ref = None


class _Object(msgspec.Struct):
    topic: str
    event: str
    payload: msgspec.Raw = msgspec.Raw(b"{}")
    ref: Ref = None
    join_ref: Ref = None


_read_object = msgspec.json.Decoder(_Object).decode
_read_array = msgspec.json.Decoder(tuple[Ref, Ref, str, str, msgspec.Raw]).decode
_read_any = msgspec.json.Decoder(msgspec.Raw).decode
_json = msgspec.json.encode


def read_text(text: str, vsn: Vsn) -> Push:
    """Parse a text frame. Raises: MalformedFrame."""
    try:
        if vsn == 1:
            message = _read_object(text)
            push = Push(message.topic, message.event, bytes(message.payload), message.ref, message.join_ref)
        else:
            join_ref, ref, topic, event, payload = _read_array(text)
            push = Push(topic, event, bytes(payload), ref, join_ref)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise MalformedFrame(str(error)) from None
    _check_unicode(push)
    return push


def read_binary(data: bytes, vsn: Vsn) -> Push | UserPush:
    """Parse a binary frame. Raises: MalformedFrame."""
    if vsn == 1:
        raise MalformedFrame("version 1.0.0 has no binary frames")
    kind = data[0] if data else -1
    if kind == _PUSH:
        (join_ref, ref, topic, event), payload = _fields(data, 1, 4, 5)
        return Push(topic, event, _valid_json(payload) if payload else b"{}", ref or None, join_ref or None)
    if kind == _USER_PUSH:
        (join_ref, ref, topic, event, _), payload = _fields(data, 1, 5, 7)
        encoding = data[6]
        if encoding > 1:
            raise MalformedFrame(f"unknown encoding {encoding}")
        if encoding:
            _valid_json(payload)
        return UserPush(topic, event, payload, bool(encoding), ref or None, join_ref or None)
    raise MalformedFrame(f"unknown kind {kind}")


def json_text(value: object) -> bytes:
    """Return a value as JSON text."""
    return _json(value)


def is_json(data: bytes) -> bool:
    """Return whether bytes are one JSON text in UTF-8."""
    try:
        data.decode()
        _read_any(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True


def reply(vsn: Vsn, topic: str, join_ref: Ref, ref: Ref, status: str, response: bytes) -> bytes:
    """Return the `phx_reply` to a push. `response` is JSON text."""
    return _message(
        vsn, topic, join_ref, ref, "phx_reply", b'{"status":"%b","response":%b}' % (status.encode(), response)
    )


def push(vsn: Vsn, topic: str, join_ref: Ref, event: str, payload: bytes) -> bytes:
    """Return a message of the server to the client of one channel."""
    return _message(vsn, topic, join_ref, None, event, payload)


def close(vsn: Vsn, topic: str, join_ref: Ref) -> bytes:
    """Return the `phx_close` of a channel."""
    return _message(vsn, topic, join_ref, join_ref, "phx_close", b"{}")


def fanout(vsn: Vsn, topic: str, event: str, payload: bytes) -> bytes:
    """Return a message to all channels of a topic: it names no join reference, so all sockets of a version share it."""
    return _message(vsn, topic, None, None, event, payload)


def user_broadcast(
    vsn: Vsn, topic: str, event: str, payload: bytes, meta: bytes, *, is_json: bool
) -> bytes | None:
    """Return a user broadcast, or None if this version cannot carry bytes. `meta` is a JSON object or empty.

    Names that are too long for the binary form (255 bytes) are sent as text.
    """
    if vsn == 2:
        names = (topic.encode(), event.encode(), meta)
        if all(len(name) <= _LONGEST for name in names):
            sizes = bytes((_USER_BROADCAST, *(len(name) for name in names), int(is_json)))
            return binary_frame(b"".join((sizes, *names, payload)))
    if not is_json:
        return None
    message = b"".join((
        b'{"event":', _json(event), b',"payload":', payload, b',"type":"broadcast"',
        b',"meta":' + meta if meta else b"", b"}",
    ))  # fmt: skip
    return fanout(vsn, topic, "broadcast", message)


def _message(vsn: Vsn, topic: str, join_ref: Ref, ref: Ref, event: str, payload: bytes) -> bytes:
    if vsn == 1:
        return text_frame(
            b'{"topic":%b,"event":%b,"payload":%b,"ref":%b}'
            % (_json(topic), _json(event), payload, _json(ref))
        )
    return text_frame(
        b"[%b,%b,%b,%b,%b]" % (_json(join_ref), _json(ref), _json(topic), _json(event), payload)
    )


def _fields(data: bytes, first: int, count: int, start: int) -> tuple[list[str], bytes]:
    """Return the `count` fields that begin at `start`, whose sizes are the bytes from `first` on, and the rest."""
    if len(data) < start:
        raise MalformedFrame("the head of a binary frame is cut off")
    fields = []
    for size in data[first : first + count]:
        end = start + size
        if end > len(data):
            raise MalformedFrame("a field of a binary frame is cut off")
        try:
            fields.append(data[start:end].decode())
        except UnicodeError:
            raise MalformedFrame("a field of a binary frame is no Unicode") from None
        start = end
    return fields, data[start:]


def _valid_json(payload: bytes) -> bytes:
    if not is_json(payload):
        raise MalformedFrame("the payload is not JSON")
    return payload


def _check_unicode(push: Push) -> None:
    """Reject unpaired surrogates, which JSON can escape and UTF-8 cannot encode."""
    try:
        for text in (push.topic, push.event, push.ref, push.join_ref):
            if isinstance(text, str):
                text.encode()
    except UnicodeError:
        raise MalformedFrame("a name is no Unicode") from None
