import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.mutate import near
from workers.functions.processes.http_wire import ResponseReader, WireBroken, chunk, request_head

PLAIN = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nset-cookie: a=1\r\nset-cookie: b=2\r\ncontent-length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nend: 1\r\n\r\n"
UNTIL_END = b"HTTP/1.1 200 OK\r\n\r\nhello world"


def read(data: bytes, cuts: list[int], *, is_head: bool = False) -> tuple[ResponseReader, bytes]:
    reader = ResponseReader(is_head=is_head)
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    pieces = [data[start:end] for start, end in itertools.pairwise(places)]
    body = b"".join(piece for each in pieces for piece in reader.feed(each))
    return reader, body


@given(st.lists(st.integers(0, 500), max_size=12))
def test_a_response_is_parsed_alike_however_it_is_split(cuts: list[int]) -> None:
    plain, plain_body = read(PLAIN, cuts)
    chunked, chunked_body = read(CHUNKED, cuts)

    assert plain.head
    assert plain.is_complete
    assert plain.keeps_alive
    assert (plain.head.status, plain.head.size, plain_body) == (200, 5, b"hello")
    assert [text for name, text in plain.head.headers if name == "set-cookie"] == ["a=1", "b=2"]
    assert chunked.head
    assert chunked.is_complete
    assert (chunked.head.status, chunked.head.size, chunked_body) == (201, -1, b"hello world")


WORDS = [b"\r\n", b"\r\n\r\n", b":", b"content-length: 9", b"transfer-encoding: chunked", b"connection: close", b"HTTP/1.1 100 Go on\r\n\r\n",
         b"HTTP/1.1 204 Nothing", b"0\r\n", b"ffffffffffffffff\r\n", b"-1", b"a" * 70_000]  # fmt: skip


@given(
    near([PLAIN, CHUNKED, UNTIL_END], WORDS) | st.binary(max_size=300),
    st.lists(st.integers(0, 500), max_size=6),
    st.booleans(),
)
@settings(max_examples=400)
def test_any_bytes_are_a_response_or_broken(data: bytes, cuts: list[int], is_head: bool) -> None:
    try:
        reader, body = read(data, cuts, is_head=is_head)
        reader.end()
    except WireBroken:
        return

    assert len(body) <= len(data)
    assert reader.head is None or 100 <= reader.head.status <= 999


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    reader, body = read(UNTIL_END, [])

    assert not reader.is_complete
    reader.end()
    assert reader.is_complete
    assert body == b"hello world"
    assert not reader.keeps_alive


@pytest.mark.parametrize("data", [PLAIN[:-1], CHUNKED[:-2], b"", b"HTTP/1.1 200"])
def test_a_response_that_breaks_off_is_broken(data: bytes) -> None:
    reader, _ = read(data, [])

    with pytest.raises(WireBroken):
        reader.end()


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-1\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
        b"x" * 300_000,
    ],
)
def test_invalid_responses_are_broken(data: bytes) -> None:
    with pytest.raises(WireBroken):
        read(data, [])


def test_responses_without_a_body_are_complete_at_once() -> None:
    to_head, body = read(PLAIN[:-5], [], is_head=True)
    empty, _ = read(b"HTTP/1.1 204 No Content\r\n\r\n", [])
    early, early_body = read(b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + PLAIN, [])

    assert to_head.is_complete
    assert body == b""
    assert empty.is_complete
    assert early.head
    assert early.head.status == 200
    assert early_body == b"hello"


def test_bytes_after_an_upgrade_are_unchanged() -> None:
    reader, body = read(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n\x81\x02hi", [])

    assert reader.is_upgraded
    assert body == b"\x81\x02hi"
    assert reader.head
    assert ("upgrade", "websocket") in reader.head.headers


def test_framing_headers_of_the_client_are_not_forwarded() -> None:
    headers = [
        ("host", "evil"), ("content-length", "7"), ("transfer-encoding", "chunked"), ("x", "a\r\nb: c"),
        ("bad name", "x"), ("sb-api-key", "x"), ("connection", "close"), ("accept", "ü"),
    ]  # fmt: skip

    head = request_head("POST", "/a", "good", headers, 3).decode()

    assert head.split("\r\n") == [
        "POST /a HTTP/1.1", "host: good", "x: a  b: c", "accept: ü", "content-length: 3", "", ""
    ]  # fmt: skip
    assert "transfer-encoding: chunked" in request_head("POST", "/", "h", [], -1).decode()
    assert chunk(b"hello") == b"5\r\nhello\r\n"
    assert chunk(b"") == b""
