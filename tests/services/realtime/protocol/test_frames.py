"""Frames: what comes in is read whole or dropped, what goes out is read back as it was meant."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.realtime.protocol import frames
from services.realtime.protocol.frames import MalformedFrame, Push, UserPush
from tests.fuzz.mutate import near, near_text
from tests.services.realtime.edges import read_frame, user_push

whole = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
refs = st.none() | whole
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | whole,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(whole, inner, max_size=3),
    max_leaves=8,
)


@given(whole, whole, json_values, refs, refs)
def test_text_of_both_versions_is_read_as_it_was_written(
    topic: str, event: str, payload: object, ref: str | None, join_ref: str | None
) -> None:
    raw = msgspec.json.encode(payload)
    one = msgspec.json.encode(
        {"topic": topic, "event": event, "payload": payload, "ref": ref, "join_ref": join_ref}
    )
    two = msgspec.json.encode([join_ref, ref, topic, event, payload])

    expected = Push(topic, event, raw, ref, join_ref)
    assert frames.read_text(one.decode(), 1) == frames.read_text(two.decode(), 2) == expected


@given(whole, whole, st.binary(max_size=200))
def test_binary_user_broadcast_is_read_as_it_was_written(topic: str, event: str, payload: bytes) -> None:
    names = (topic.encode(), event.encode())
    if any(len(name) > 255 for name in names):
        return

    found = frames.read_binary(user_push(topic, event, payload, is_json=False, ref="1", join_ref="2"), 2)

    assert found == UserPush(topic, event, payload, False, "1", "2")


TEXT_FRAMES = [
    '{"topic":"realtime:a","event":"phx_join","payload":{"config":{}},"ref":"1","join_ref":"1"}',
    '["1","2","realtime:a","broadcast",{"event":"e","payload":{"n":[1,null,"ü"]}}]',
    '[null,7,"phoenix","heartbeat",{}]',
]
BINARY_FRAMES = [
    user_push("realtime:a", "e", b'{"n":1}', is_json=True, ref="1", join_ref="2"),
    user_push("realtime:a", "e", bytes(range(20)), is_json=False, ref="1", join_ref="2"),
    b"\x00\x01\x01\x0a\x09" + b"12realtime:abroadcast" + b'{"event":"e"}',
    b"\x00\x00\x00\x01\x01te",
]


@given(
    near_text(TEXT_FRAMES, ["null", '"topic"', '"ref"', "\\ud800", "[" * 5000])
    | st.text(max_size=80)
    | json_values.map(lambda value: msgspec.json.encode(value).decode())
)
@settings(max_examples=300)
def test_any_text_is_read_or_malformed(text: str) -> None:
    for vsn in (1, 2):
        try:
            push = frames.read_text(text, vsn)  # type: ignore[arg-type]  # both versions there are
        except MalformedFrame:
            continue
        assert frames.is_json(push.payload)


@given(near(BINARY_FRAMES) | st.binary(max_size=60).map(lambda data: b"\x03" + data))
@settings(max_examples=300)
def test_any_bytes_are_read_or_malformed(data: bytes) -> None:
    try:
        found = frames.read_binary(data, 2)
    except MalformedFrame:
        return
    assert isinstance(found, Push) or not found.is_json or frames.is_json(found.payload)


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", "1", '["1","2","t","e"]', '[1.5,"2","t","e",{}]', '["1","2",3,"e",{}]',
        '[null,null,"t","e",{}] x', '[null,null,"\\ud800","e",{}]', '[null,null,"t","e",{"a":}]', "[" * 100_000,
        '[null,null,"t","e",' + "[" * 100_000 + "]" * 100_000 + "]",
    ],
)  # fmt: skip
def test_hostile_text_is_malformed(text: str) -> None:
    with pytest.raises(MalformedFrame):
        frames.read_text(text, 2)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x00", b"\x00\xff\xff\xff\xff", b"\x03", b"\x03\x00\x00\x00\x00\x00", b"\x05\x00\x00\x00\x00",
        b"\x01\x00\x00\x00\x00", b"\x02\x00\x00", b"\x04\x00\x00\x00\x00", user_push("t", "e", b"{") ,
        user_push("t", "e", b'"\xff"'), b"\x03\x00\x00\x01\x01\x00\x00\xff\xffx", b"\x03\x00\x00\x01\x01\x00\x02te{}",
    ],
)  # fmt: skip
def test_hostile_bytes_are_malformed(data: bytes) -> None:
    with pytest.raises(MalformedFrame):
        frames.read_binary(data, 2)


def test_first_version_has_no_binary_frames() -> None:
    with pytest.raises(MalformedFrame):
        frames.read_binary(user_push("t", "e", b"{}"), 1)


def test_push_in_the_binary_form_is_read() -> None:
    data = bytes([0, 1, 1, 7, 9]) + b"12" + b"phoenix" + b"heartbeat"

    assert frames.read_binary(data, 2) == Push("phoenix", "heartbeat", b"{}", "2", "1")


@given(whole, whole, json_values, st.booleans())
def test_user_broadcast_is_the_same_in_both_versions(
    topic: str, event: str, payload: object, has_meta: bool
) -> None:
    raw = msgspec.json.encode(payload)
    meta = b'{"id":"x"}' if has_meta else b""

    told = [_unframed(frames.user_broadcast(vsn, topic, event, raw, meta, is_json=True)) for vsn in (1, 2)]

    one, two = map(read_frame, told)
    assert one.payload == two.payload
    assert (one.topic, one.event) == (two.topic, two.event) == (topic, "broadcast")


def test_names_too_long_for_the_binary_form_travel_as_text() -> None:
    frame = frames.user_broadcast(2, "t" * 300, "e", b"1", b"", is_json=True)
    binary = frames.user_broadcast(2, "t" * 300, "e", b"1", b"", is_json=False)

    assert read_frame(_unframed(frame)).payload["payload"] == 1
    assert binary is None


@pytest.mark.parametrize("size", [0, 125, 126, 65535, 65536])
def test_heads_of_frames_tell_the_size(size: int) -> None:
    frame = frames.user_broadcast(2, "t", "e", b"x" * size, b"", is_json=False)

    assert frame is not None
    assert len(_payload(frame)) == size + 7


def _payload(frame: bytes) -> bytes:
    """Read a frame as RFC 6455, 5.2 says."""
    size, start = frame[1], 2
    if size == 126:
        size, start = int.from_bytes(frame[2:4], "big"), 4
    elif size == 127:
        size, start = int.from_bytes(frame[2:10], "big"), 10
    assert len(frame) == start + size
    return frame[start:]


def _unframed(frame: bytes | None) -> str | bytes:
    assert frame is not None
    payload = _payload(frame)
    return payload.decode() if frame[0] == 0x81 else payload
