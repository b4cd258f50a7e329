import contextlib
import itertools
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.mutate import near
from workers.database.protocol import backend_reader
from workers.database.protocol.backend_reader import BackendReader
from workers.database.protocol.rows import ProtocolViolation

values = st.one_of(st.none(), st.binary(max_size=40))
rows = st.lists(values, max_size=5).map(tuple)
answers = st.lists(st.lists(rows, max_size=5), max_size=4)


def message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def data_row(row) -> bytes:
    cells = [b"\xff\xff\xff\xff" if cell is None else struct.pack("!i", len(cell)) + cell for cell in row]
    return message(b"D", struct.pack("!H", len(row)) + b"".join(cells))


def answer(results, aside: bytes = b"") -> bytes:
    out = b""
    for result in results:
        out += message(b"1") + message(b"2") + b"".join(data_row(row) for row in result)
        out += message(b"C", b"SELECT %d\0" % len(result)) + aside
    return out + message(b"Z", b"I")


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:stop] for start, stop in itertools.pairwise(edges)]


@given(
    answers,
    st.lists(st.integers(0, 10_000), max_size=12),
    st.sampled_from([b"", message(b"N", b"Mhello\0\0")]),
)
def test_rows_are_the_same_however_the_stream_is_cut(results, places, aside):
    reader = BackendReader()

    ends = [reader.feed(piece) for piece in cut(answer(results, aside), places)]

    assert reader.results == results
    assert reader.parsed == len(results)
    assert ends[-1] is True
    assert not any(ends[:-1])


@given(
    st.integers(17, 300),
    st.lists(values, max_size=3),
    st.lists(st.integers(0, 10_000), max_size=12),
    st.sampled_from([b"", message(b"N", b"Mhello\0\0")]),
)
def test_a_long_value_is_the_same_however_the_stream_is_cut(size, before, places, aside):
    reader, value = BackendReader(), bytes(range(256))[:size] * 2
    row = (*before, value)
    reader.long_value_result = 1
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(backend_reader, "LONG_VALUE", 16)

        ends = [reader.feed(piece) for piece in cut(answer([[row], [row], [row]], aside), places)]

    if reader.long_size:
        assert b"".join(reader.long_pieces) == value
        assert reader.results == [[row], [(*before, None)], [row]]
    else:
        assert reader.results == [[row]] * 3
    assert reader.long_left == 0
    assert ends[-1] is True
    assert not any(ends[:-1])


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_a_long_value_is_given_as_it_comes(monkeypatch, step):
    monkeypatch.setattr(backend_reader, "LONG_VALUE", 16)
    reader, value = BackendReader(), b"0123456789" * 1000
    reader.long_value_result = 0
    data = answer([[(b"1", None, value)]])
    come = data.index(value) + 2 * step

    for start in range(0, come, step):
        reader.feed(data[start : start + step])

    received = b"".join(reader.long_pieces)
    assert received
    assert value.startswith(received)
    assert reader.rows == [(b"1", None, None)]
    assert (reader.long_size, reader.long_left) == (len(value), len(value) - len(received))


@given(st.binary(max_size=100), st.integers(20, 200), st.lists(st.integers(0, 200), max_size=4))
def test_any_row_gives_a_long_value_or_is_garbled(data, length, places):
    reader = BackendReader()
    reader.long_value_result = 0

    with pytest.MonkeyPatch.context() as patched, contextlib.suppress(ProtocolViolation):
        patched.setattr(backend_reader, "LONG_VALUE", 16)
        for piece in cut(b"D" + struct.pack("!i", length) + data, places):
            reader.feed(piece)


@pytest.mark.parametrize(
    ("row", "long_in"),
    [
        ((b"x" * 100,), 1),
        ((b"x" * 100, b"short"), 0),
        ((b"x" * 100, None), 0),
        ((b"x" * 16,), 0),
    ],
)
def test_other_rows_are_read_when_the_whole_of_them_is_there(monkeypatch, row, long_in):
    monkeypatch.setattr(backend_reader, "LONG_VALUE", 16)
    reader = BackendReader()
    reader.long_value_result = long_in

    for byte in answer([[row]]):
        reader.feed(bytes([byte]))

    assert reader.results == [[row]]
    assert reader.long_pieces == []


def test_a_row_whose_first_values_are_long_is_held_without_looking_at_it_again(monkeypatch):
    reader = BackendReader()
    reader.long_value_result = 0
    looked = []
    monkeypatch.setattr(backend_reader, "read_before_last", lambda *place: looked.append(place))
    row = (b"x" * 1_000_000, b"y" * 1_000_000)
    data = answer([[row]])

    for start in range(0, len(data), 1000):
        reader.feed(data[start : start + 1000])

    assert reader.results == [[row]]
    assert len(looked) <= 66


def test_only_the_first_row_of_a_result_ends_in_a_long_value(monkeypatch):
    monkeypatch.setattr(backend_reader, "LONG_VALUE", 16)
    reader = BackendReader()
    reader.long_value_result = 0

    for byte in answer([[(b"x" * 100,), (b"y" * 100,)]]):
        reader.feed(bytes([byte]))

    assert reader.results == [[(None,), (b"y" * 100,)]]


@pytest.mark.parametrize("size", [50, 200])
def test_a_long_value_of_another_length_than_its_row_is_garbled(monkeypatch, size):
    monkeypatch.setattr(backend_reader, "LONG_VALUE", 16)
    reader = BackendReader()
    reader.long_value_result = 0
    body = struct.pack("!Hi", 1, size) + b"x" * 100

    with pytest.raises(ProtocolViolation):
        reader.feed(message(b"D", body)[:60])


def test_every_byte_alone_gives_the_same_rows():
    reader = BackendReader()
    results = [[(b"one", None), (b"", b"two")], [], [(b"x" * 300,)]]

    ends = [reader.feed(bytes([byte])) for byte in answer(results)]

    assert reader.results == results
    assert ends.count(True) == 1


FAILURE = message(b"E", b"SERROR\0C22012\0Mdivision by zero\0\0")
STREAMS = [
    answer([[(b"one", None), (b"", b"two")], [], [(b"x" * 80,)]], message(b"N", b"Mhello\0\0")),
    message(b"1") + message(b"2") + data_row((b"half",)) + FAILURE + message(b"Z", b"E"),
    message(b"1") + message(b"n") + message(b"I") + message(b"s") + message(b"Z", b"T"),
    message(b"S", b"TimeZone\0UTC\0") + message(b"A", b"\0\0\0\1a\0b\0") + message(b"Z", b"I"),
]


@given(near(STREAMS) | st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=4))
@settings(max_examples=300)
def test_any_bytes_give_an_answer_or_are_garbled(data, places):
    reader = BackendReader()

    with contextlib.suppress(ProtocolViolation):
        for piece in cut(data, places):
            reader.feed(piece)


@pytest.mark.parametrize(
    "data",
    [
        message(b"R", b"\0\0\0\0"),
        message(b"D", b"\0\2\0\0\0\1a"),
        message(b"D", b"\0\1\0\0\0\1ab"),
        b"Z\0\0\0\3I",
        b"D\x7f\xff\xff\xff",
        message(b"Z"),
        b"?",
    ],
)
def test_messages_that_cannot_stand_there_are_garbled(data):
    with pytest.raises(ProtocolViolation):
        BackendReader().feed(data)


def test_an_error_drops_the_rows_of_its_statement():
    reader = BackendReader()

    reader.feed(data_row((b"half",)) + message(b"E", b"C22012\0Mby zero\0\0") + message(b"Z", b"E"))

    assert reader.results == []
    assert reader.failure == b"C22012\0Mby zero\0\0"
    assert reader.status == backend_reader.FAILED


def test_empty_statements_count_as_results():
    reader = BackendReader()

    reader.feed(message(b"I") + message(b"C", b"SELECT 0\0") + message(b"Z", b"T"))

    assert reader.results == [[], []]
    assert reader.status == backend_reader.IN_TRANSACTION


def test_a_reader_that_was_cleared_begins_anew():
    reader = BackendReader()
    reader.feed(answer([[(b"old",)]]))

    reader.clear()
    reader.feed(answer([[(b"new",)]]))

    assert reader.results == [[(b"new",)]]
