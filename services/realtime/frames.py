"""Frames of the socket protocol, both versions: bytes of a client -> what it wants; what it gets -> bytes. Pure.

    vsn 1.0.0   text: {"topic", "event", "payload", "ref", "join_ref"}
    vsn 2.0.0   text: [join_ref, ref, topic, event, payload]
                binary: a kind, sizes of one byte each, the fields in the order of their sizes, the rest is the payload
                    0 push             client sends  join_ref ref topic event
                    3 user broadcast   client sends  join_ref ref topic event metadata, then the encoding (0 bytes, 1 JSON)
                    4 user broadcast   server sends  topic event metadata, then the encoding

What is read is whole: texts are Unicode, payloads are valid JSON where they say so. So nothing that one client sends can
make a frame that the library of another chokes on. Frames that are given are ready for the transport (`wire.py`).
Payloads pass through as bytes; they are checked, never rebuilt.
Source: reference page "realtime", sections 2 and 3.
"""

from dataclasses import dataclass
from typing import Literal

import msgspec

from services.realtime.wire import binary_frame, text_frame

Vsn = Literal[1, 2]
Ref = str | int | None
"""What a client calls a message by; it is sent back as it came."""

VERSIONS: dict[str, Vsn] = {"1.0.0": 1, "2.0.0": 2}

_LONGEST = 255
_PUSH, _USER_PUSH, _USER_BROADCAST = 0, 3, 4


class Malformed(Exception):
    """A frame that means nothing: why. It is dropped, and the socket stays open."""


@dataclass(frozen=True, slots=True)
class Push:
    """What a client sends, but for user broadcasts: `payload` is JSON text."""

    topic: str
    event: str
    payload: bytes
    ref: Ref = None
    join_ref: Ref = None


@dataclass(frozen=True, slots=True)
class UserPush:
    """A broadcast in the binary form: `event` is the user's, `payload` JSON text or bytes."""

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
    """Read a text frame. Raises: Malformed."""
    try:
        if vsn == 1:
            found = _read_object(text)
            push = Push(found.topic, found.event, bytes(found.payload), found.ref, found.join_ref)
        else:
            join_ref, ref, topic, event, payload = _read_array(text)
            push = Push(topic, event, bytes(payload), ref, join_ref)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Malformed(str(error)) from None
    _check_whole(push)
    return push


def read_binary(data: bytes, vsn: Vsn) -> Push | UserPush:
    """Read a binary frame. Raises: Malformed."""
    if vsn == 1:
        raise Malformed("version 1.0.0 has no binary frames")
    kind = data[0] if data else -1
    if kind == _PUSH:
        (join_ref, ref, topic, event), payload = _fields(data, 1, 4, 5)
        return Push(topic, event, _valid_json(payload) if payload else b"{}", ref or None, join_ref or None)
    if kind == _USER_PUSH:
        (join_ref, ref, topic, event, _), payload = _fields(data, 1, 5, 7)
        encoding = data[6]
        if encoding > 1:
            raise Malformed(f"unknown encoding {encoding}")
        if encoding:
            _valid_json(payload)
        return UserPush(topic, event, payload, bool(encoding), ref or None, join_ref or None)
    raise Malformed(f"unknown kind {kind}")


def json_text(value: object) -> bytes:
    """Give a value as JSON text."""
    return _json(value)


def is_json(data: bytes) -> bool:
    """Tell whether bytes are one JSON text in UTF-8."""
    try:
        data.decode()
        _read_any(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True


def reply(vsn: Vsn, topic: str, join_ref: Ref, ref: Ref, status: str, response: bytes) -> bytes:
    """Give the answer to a push. `response` is JSON text."""
    return _message(
        vsn, topic, join_ref, ref, "phx_reply", b'{"status":"%b","response":%b}' % (status.encode(), response)
    )


def push(vsn: Vsn, topic: str, join_ref: Ref, event: str, payload: bytes) -> bytes:
    """Give what a channel tells its client of itself."""
    return _message(vsn, topic, join_ref, None, event, payload)


def close(vsn: Vsn, topic: str, join_ref: Ref) -> bytes:
    """Give the end of a channel."""
    return _message(vsn, topic, join_ref, join_ref, "phx_close", b"{}")


def fanout(vsn: Vsn, topic: str, event: str, payload: bytes) -> bytes:
    """Give what everybody on a topic gets; the same for all sockets of a version."""
    return _message(vsn, topic, None, None, event, payload)


def user_broadcast(
    vsn: Vsn, topic: str, event: str, payload: bytes, meta: bytes, *, is_json: bool
) -> bytes | None:
    """Give a user broadcast; `meta` is a JSON object or empty. None: this version has no form for bytes.

    Names that are too long for the binary form travel as text.
    """
    if vsn == 2:
        names = (topic.encode(), event.encode(), meta)
        if all(len(name) <= _LONGEST for name in names):
            sizes = bytes((_USER_BROADCAST, *(len(name) for name in names), int(is_json)))
            return binary_frame(b"".join((sizes, *names, payload)))
    if not is_json:
        return None
    told = b"".join((
        b'{"event":', _json(event), b',"payload":', payload, b',"type":"broadcast"',
        b',"meta":' + meta if meta else b"", b"}",
    ))  # fmt: skip
    return fanout(vsn, topic, "broadcast", told)


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
    """Cut fields whose sizes stand from `first` on and that begin at `start`; give them and the rest."""
    if len(data) < start:
        raise Malformed("the head of a binary frame is cut off")
    fields = []
    for size in data[first : first + count]:
        end = start + size
        if end > len(data):
            raise Malformed("a field of a binary frame is cut off")
        try:
            fields.append(data[start:end].decode())
        except UnicodeError:
            raise Malformed("a field of a binary frame is no Unicode") from None
        start = end
    return fields, data[start:]


def _valid_json(payload: bytes) -> bytes:
    if not is_json(payload):
        raise Malformed("the payload is not JSON")
    return payload


def _check_whole(found: Push) -> None:
    """Refuse half characters, which JSON can spell and UTF-8 cannot."""
    try:
        for text in (found.topic, found.event, found.ref, found.join_ref):
            if isinstance(text, str):
                text.encode()
    except UnicodeError:
        raise Malformed("a name is no Unicode") from None
