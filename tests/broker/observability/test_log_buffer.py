"""Lines that wait to be sent: bounded, counted when dropped, sampled by request, whatever they contain."""

import msgspec
import pytest

from broker.observability.log_buffer import LogBuffer, line_record, shortened
from broker.observability.observations import HandlerFailed, MemberGone, RequestAnswered, RequestCancelled
from broker.observability.observe import configure, observe, store_lines
from schemas.logs import LONGEST_LINE, MOST_LINES, LogBatch, LogRecord
from schemas.settings.log import LogStoreSettings

_SETTINGS = LogStoreSettings()


def lines_of(batch: LogBatch | None) -> list[LogRecord]:
    assert batch is not None
    return [msgspec.msgpack.decode(data, type=LogRecord) for data in batch.lines]


def taken(buffer: LogBuffer) -> list[LogRecord]:
    lines: list[LogRecord] = []
    while (batch := buffer.take("host:1")) is not None:
        lines += lines_of(batch)
    return lines


@pytest.fixture
def buffer() -> LogBuffer:
    """The buffer of this process, for one test."""
    return LogBuffer("pools", _SETTINGS)


def test_batches_are_numbered_and_bounded(buffer: LogBuffer) -> None:
    for number in range(MOST_LINES + 5):
        buffer.add_line("info", f"line {number}", {})

    first, second = buffer.take("host:1"), buffer.take("host:1")

    assert first is not None
    assert second is not None
    assert (first.number, second.number, first.run) == (1, 2, buffer.run)
    assert [len(first.lines), len(second.lines), buffer.waiting] == [MOST_LINES, 5, 0]
    assert buffer.take("host:1") is None
    assert lines_of(second)[-1].text == f"line {MOST_LINES + 4}"


def test_a_full_buffer_drops_new_lines_and_counts_them() -> None:
    buffer = LogBuffer("pools", _SETTINGS, most_bytes=10_000)
    for number in range(500):
        buffer.add_line("info", "x" * 100, {"n": number})

    batch = buffer.take("host:1")

    assert batch is not None
    assert 0 < len(batch.lines) < 100
    assert batch.dropped == buffer.dropped_total == 500 - len(batch.lines)
    assert buffer.take("host:1") is None


def test_large_batches_are_split_by_bytes(buffer: LogBuffer) -> None:
    for _ in range(200):
        buffer.add_line("info", "x" * 10_000, {})

    sizes = []
    while (batch := buffer.take("host:1")) is not None:
        sizes.append(sum(len(bytes(line)) for line in batch.lines))

    assert max(sizes) <= 512 * 1024
    assert len(sizes) > 3


def test_lines_that_cannot_be_encoded_or_are_huge_are_cut(buffer: LogBuffer) -> None:
    loop: list[object] = []
    loop.append(loop)
    for fields in (
        {"reason": "\udcff\ud800"},
        {"number": 1 << 80},
        {"traceback": "t" * 100_000, "reason": "r" * 100_000},
        {"loop": loop},
        {str(number): "y" * 1000 for number in range(1000)},
        {"object": object()},
    ):
        buffer.add_line("error", "text\x00\n\x1b[31m" + "z" * 50_000, fields)
    buffer.add(LogRecord(1, "info", "\ud800", "kind", "text", request_id="\udfff"))

    for line in taken(buffer):
        assert len(msgspec.msgpack.encode(line)) <= LONGEST_LINE


def test_fields_with_a_name_of_their_own_are_found_by_it() -> None:
    line = line_record("pools", "error", "text", {"kind": "HandlerFailed", "pool": "rest", "id": "r-1", "status": 503, "function": "hello", "user_id": "u", "reason": "x"})  # fmt: skip

    assert (line.kind, line.area, line.request_id, line.status, line.function, line.user) == ("HandlerFailed", "rest", "r-1", 503, "hello", "u")  # fmt: skip
    assert line.fields == {"reason": "x"}
    assert shortened(line) == line


def test_some_requests_a_second_and_a_fraction_of_the_others_are_sampled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = msgspec.structs.replace(_SETTINGS, requests=0.25, requests_per_second=10)
    buffer, never = (
        LogBuffer("edges", settings),
        LogBuffer("edges", LogStoreSettings(requests=0.0, requests_per_second=0)),
    )
    now = [100.0]
    monkeypatch.setattr("broker.observability.log_buffer.time.monotonic", lambda: now[0])

    first = [buffer.samples() for _ in range(4010)]
    now[0] += 1
    second = [buffer.samples() for _ in range(10)]

    assert all(first[:10])
    assert 800 < sum(first[10:]) < 1200
    assert all(second)
    assert not any(never.samples() for _ in range(100))
    assert buffer.leaves_lines(404, 0.01, is_sampled=False)
    assert buffer.leaves_lines(200, 1.5, is_sampled=False)
    assert buffer.leaves_lines(200, 0.01, is_sampled=True)
    assert not buffer.leaves_lines(200, 0.01, is_sampled=False)


def test_observations_reach_the_buffer_once(buffer: LogBuffer, capsys: pytest.CaptureFixture[str]) -> None:
    configure("info", "json", "pools")
    store_lines(buffer)
    try:
        observe(RequestAnswered("rest", "r-1", 200, 0.25, sql_s=0.1, is_sampled=True))
        observe(RequestAnswered("rest", "r-5", 200, 0.25))
        observe(RequestAnswered("rest", "r-2", 503, 0.01, "53100: the disk is full"))
        observe(RequestAnswered("health.rest", "r-3", 200, 0.01, is_sampled=True))
        observe(RequestCancelled("rest", "r-4", "deadline"))
        for number in range(3):
            observe(HandlerFailed("rest", f"h-{number}", "KeyError()", ""))
            observe(MemberGone("rest", "m"))
    finally:
        store_lines(None)

    lines = [(line.kind, line.request_id, line.status, line.level) for line in taken(buffer)]
    assert lines == [
        ("RequestAnswered", "r-1", 200, "info"),
        ("RequestAnswered", "r-2", 503, "warning"),
        ("HandlerFailed", "h-0", 0, "error"),
        ("MemberGone", "", 0, "warning"),
        ("HandlerFailed", "h-1", 0, "error"),
        ("HandlerFailed", "h-2", 0, "error"),
    ]
    assert capsys.readouterr().err.count("\n") == 3
