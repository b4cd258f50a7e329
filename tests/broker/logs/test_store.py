"""The store of log lines: pages in order, retention, a full disk, broken files, and lines that mean harm."""

import contextlib
import json
import os
import random
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from broker.logs import search
from broker.logs.lines import StoredLine, checked_line, place_of
from broker.logs.query import InvalidLogQuery, LogFilter
from broker.logs.segment import BLOCK_LINES, StreamPosition
from broker.logs.store import LogStore, StoreFull, StoreLimits, StoreLocked, segment_paths
from schemas.logs import LEVELS, LogRecord

NOW_MS = 1_790_000_000_000
LIMITS = StoreLimits(10**9, 1 << 40, 0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LogStore]:
    """An open store without lines."""
    opened = LogStore(tmp_path / "store", LIMITS)
    opened.open()
    yield opened
    opened.close()


def folder_of(store: LogStore) -> Path:
    return store._folder


def append(store: LogStore, records: list[LogRecord], seq: int) -> None:
    lines = [StoredLine.of(place_of(0, seq, index), record) for index, record in enumerate(records)]
    store.append(lines, {"LOGS": StreamPosition("made", seq)}, {"run": seq})


def record(number: int, **changes: object) -> LogRecord:
    line = LogRecord(
        NOW_MS + number, "info", "edges", "RequestServed", f"GET /rest/v1/items/{number}", "rest", 200
    )
    return msgspec.structs.replace(line, **changes)


def numbers(lines: list[StoredLine]) -> list[int]:
    return [line.at_ms - NOW_MS for line in lines]


def all_pages(folder: Path, query: LogFilter, limit: int) -> list[StoredLine]:
    lines: list[StoredLine] = []
    cursor = ""
    while True:
        page = search.search(folder, query, limit, cursor)
        lines += page.lines
        cursor = page.next
        if not cursor:
            return lines


def random_records(random_source: random.Random, count: int) -> list[LogRecord]:
    words = ("slot", "Stream", "disk-full", "naïve", "key_error", "42501")
    return [
        LogRecord(
            NOW_MS + random_source.randint(0, 5000),
            random_source.choice(LEVELS),
            random_source.choice(("edges", "pools")),
            random_source.choice(("RequestServed", "HandlerFailed")),
            " ".join(random_source.choices(words, k=3)),
            random_source.choice(("rest", "auth", "")),
            random_source.choice((0, 200, 404, 500, 503)),
            random_source.choice(("", "7b7bd24e-1f0a-4dd6-9a5b-3c8d0e0f7f10")),
            random_source.choice(("", "hello")),
            f"abc-{random_source.randint(0, 300):x}",
            fields={"reason": random_source.choice(words), "list": [random_source.choice(words)], "n": 5},
        )
        for _ in range(count)
    ]


FILTERS = (
    LogFilter(),
    LogFilter(level="warning"),
    LogFilter(level="error", area="rest"),
    LogFilter(area="auth", status="5xx"),
    LogFilter(status="404", process="pools"),
    LogFilter(user="7b7bd24e-1f0a-4dd6-9a5b-3c8d0e0f7f10"),
    LogFilter(function="hello", kind="HandlerFailed"),
    LogFilter(request_id="abc-1f"),
    LogFilter(text="slot disk"),
    LogFilter(text="STREAM"),
    LogFilter(text="naïve"),
    LogFilter(text="error 425"),
    LogFilter(since_ms=NOW_MS + 1000, until_ms=NOW_MS + 1500),
    LogFilter(text="lot"),
    LogFilter(area="storage"),
)


@pytest.mark.parametrize("seed", range(3))
def test_pages_hold_exactly_the_matching_lines_newest_first(store: LogStore, seed: int) -> None:
    source = random.Random(seed)
    written: list[tuple[int, int, LogRecord]] = []
    for seq in range(1, 40):
        records = random_records(source, source.choice((1, 7, 90, 300)))
        append(store, records, seq)
        written += [(line.at_ms, place_of(0, seq, index), line) for index, line in enumerate(records)]

    for query in FILTERS:
        expected = sorted(
            (entry for entry in written if _matches(query, entry[2])), reverse=True, key=lambda e: e[:2]
        )
        pages = all_pages(
            folder_of(store), query, source.choice((1, 50, 1000)) if len(expected) < 300 else 500
        )
        assert [(line.at_ms, line.place) for line in pages] == [entry[:2] for entry in expected], query
        assert [line.record for line in pages] == [entry[2] for entry in expected]


def _matches(query: LogFilter, line: LogRecord) -> bool:
    """Compare a line with a filter, in another way than the store."""
    for name in ("area", "user", "function", "process", "kind", "request_id"):
        if getattr(query, name) and getattr(query, name) != getattr(line, name):
            return False
    if query.level and LEVELS.index(line.level) < LEVELS.index(query.level):
        return False
    if query.status and not (query.status == str(line.status) or query.status == f"{str(line.status)[0]}xx"):
        return False
    if not query.since_ms <= line.at_ms < query.until_ms:
        return False
    text = " ".join((line.text, line.fields["reason"], *line.fields["list"])).lower()
    words = text.replace("-", " ").replace("_", " ").split()
    return all(any(word.startswith(part) for word in words) for part in query.text.lower().split())


def test_a_request_is_found_in_the_order_of_time_whatever_its_id_looks_like(store: LogStore) -> None:
    ids = (
        "b5f1-7",
        "B5F1-7",
        "b5f17",
        "a b",
        'x" OR "y',
        "é-1",
        "---",
        "'; drop table blocks; --",
        "\x00\x1b[31m",
    )
    for seq, id in enumerate(ids, 1):
        append(store, [record(10 - seq, request_id=id), record(20, request_id=id)], 2 * seq)
        append(store, [record(number) for number in range(BLOCK_LINES)], 2 * seq + 1)

    for id in ids:
        page = search.lines_of_request(folder_of(store), id)
        assert [line.record.request_id for line in page.lines] == [id, id]
        assert numbers(page.lines) == sorted(numbers(page.lines))


def test_a_search_without_time_goes_on_from_its_cursor(store: LogStore) -> None:
    for seq in range(1, 7):
        append(store, [record(seq * 1000 + number) for number in range(BLOCK_LINES)], seq)

    cursor, lines, pages = "", list[StoredLine](), 0
    while pages == 0 or cursor:
        page = search.search(folder_of(store), LogFilter(), 5000, cursor, longest_s=-1.0)
        lines, cursor, pages = [*lines, *page.lines], page.next, pages + 1

    assert pages >= 6
    assert numbers(lines) == sorted(numbers(lines), reverse=True)
    assert len(lines) == 6 * BLOCK_LINES


def test_hostile_lines_change_nothing_but_their_own_text(store: LogStore) -> None:
    texts = (
        '{"level": "error", "area": "auth", "request_id": "forged"}',
        "first\nsecond\r\n\x1b[2Jcleared\x00\x07",
        "\ufeff\u202e right to left",
        "x" * 15_000,
        "\udcff".encode("utf-8", "replace").decode(),
        'xlerror xaauth xrforged "*) OR (" NEAR(',
    )
    append(store, [record(number, function="evil", text=text) for number, text in enumerate(texts)], 1)
    append(store, [record(number) for number in range(BLOCK_LINES)], 2)

    folder = folder_of(store)
    assert [line.record.text for line in all_pages(folder, LogFilter(function="evil"), 10)] == list(
        reversed(texts)
    )
    for query in (LogFilter(level="error"), LogFilter(area="auth"), LogFilter(request_id="forged")):
        assert search.search(folder, query, 10).lines == []
    for text in ('"', "* OR", "NEAR(a b)", "a' b", "xr forged", "\x00", "((("):
        try:
            search.search(folder, LogFilter(text=text), 10)
        except InvalidLogQuery:
            assert not any(char.isalnum() for char in text)


@pytest.mark.parametrize(
    "data",
    [b"", b"\xc1", b"\x90", b"\x95\x01\x02\x03\x04\x05", msgspec.msgpack.encode(["x"] * 12), b"\x91" * 2000],
)
def test_what_is_not_a_line_is_skipped(data: bytes) -> None:
    assert checked_line(1, data, NOW_MS) is None


def test_times_ahead_of_the_clock_and_unknown_levels_are_corrected() -> None:
    data = msgspec.msgpack.encode(record(10_000_000, level="fatal"))

    line = checked_line(1, data, NOW_MS)

    assert line is not None
    assert (line.at_ms, line.record.at_ms, line.record.level) == (NOW_MS, NOW_MS, "info")


def test_wrong_filters_say_what_is_right(store: LogStore) -> None:
    for changes, words in (
        ({"level": "fatal"}, "`level` must be one of debug, info"),
        ({"status": "9xx"}, "`status` must be a status"),
        ({"text": "a " * 3 + " ".join(str(number) for number in range(30))}, "at most 20 words"),
        ({"text": "--"}, "a letter or a digit"),
    ):
        with pytest.raises(InvalidLogQuery, match=words):
            LogFilter(**changes)  # type: ignore[arg-type]  # a row of values for any field
    for cursor in ("1", "a.b", "1.2.3", "-1.0", "9" * 40 + ".1"):
        with pytest.raises(InvalidLogQuery, match="`cursor`"):
            search.search(folder_of(store), LogFilter(), 10, cursor)


def test_new_lines_come_once_and_in_the_order_of_arrival(store: LogStore) -> None:
    folder = folder_of(store)
    append(store, [record(5)], 1)
    cursor = search.new_lines(folder, LogFilter(), 100).next
    received: list[int] = []
    for seq in range(2, 60):
        append(store, [record(seq * 1000 + number) for number in range(37)], seq)
        arrived = search.new_lines(folder, LogFilter(), 100, cursor)
        received += numbers(arrived.lines)
        cursor = arrived.next

    assert received == [seq * 1000 + number for seq in range(2, 60) for number in range(37)]
    assert search.new_lines(folder, LogFilter(), 100, cursor).lines == []
    late: list[int] = []
    cursor = "1.0"
    while len(late) < len(received):
        arrived = search.new_lines(folder, LogFilter(), 100, cursor)
        late += numbers(arrived.lines)
        cursor = arrived.next
    assert late == received


def test_a_cursor_far_behind_is_told_of_the_gap(store: LogStore) -> None:
    for seq in range(1, 31):
        append(store, [record(seq * 5000 + number) for number in range(8 * BLOCK_LINES)], seq)

    far = search.new_lines(folder_of(store), LogFilter(), 100, "1.0")
    near = search.new_lines(folder_of(store), LogFilter(level="error"), 100, "29.0")

    assert (far.lines, far.is_gap, far.next) == ([], True, near.next)
    assert not near.is_gap


def test_histograms_count_all_matching_lines(store: LogStore) -> None:
    minute = 60_000
    for seq in range(1, 31):
        level = "error" if seq % 3 == 0 else "info"
        append(
            store,
            [record(seq * minute + number, level=level, status=seq % 2 * 500) for number in range(50)],
            seq,
        )
    folder = folder_of(store)

    by_level = search.histogram(folder, LogFilter(), 10)
    errors = search.histogram(folder, LogFilter(level="error"), 100)
    by_status = search.histogram(folder, LogFilter(status="500"), 10)

    assert sum(bar.lines for bar in by_level.bars) == 1500
    assert len({bar.at_ms for bar in by_level.bars}) <= 11
    assert {(bar.level, bar.lines) for bar in errors.bars} == {("error", 50)}
    assert sum(bar.lines for bar in by_status.bars) == 750
    assert by_status.is_complete


def test_segments_beyond_size_and_age_are_deleted(tmp_path: Path) -> None:
    clock = [NOW_MS / 1000]
    store = LogStore(tmp_path, StoreLimits(1400.0, 6 << 20, 0), clock=lambda: clock[0])
    store.open()
    source = random.Random(1)
    for seq in range(1, 60):
        noise = [record(seq * 1000 + number, text=source.randbytes(400).hex()) for number in range(300)]
        append(store, noise, seq)

    assert store.size < 8 << 20
    assert len(segment_paths(tmp_path)) > 3
    assert numbers(search.search(tmp_path, LogFilter(), 1).lines) == [59 * 1000 + 299]
    clock[0] += 1300.0
    append(store, [record(1_300_000)], 60)
    assert len(segment_paths(tmp_path)) > 1
    clock[0] += 2000.0
    store.delete_expired()
    assert len(segment_paths(tmp_path)) == 1
    append(store, [record(3_300_000)], 61)
    assert store.positions["LOGS"].seq == 61
    store.close()


def test_positions_and_runs_outlive_a_restart_and_a_new_segment(tmp_path: Path) -> None:
    clock = [NOW_MS / 1000]
    store = LogStore(tmp_path, StoreLimits(1400.0, 1 << 30, 0), clock=lambda: clock[0])
    store.open()
    append(store, [record(0)], 7)
    clock[0] += 500
    append(store, [record(1)], 8)
    store.close()
    [first, second] = segment_paths(tmp_path)
    states = []
    for _ in range(2):
        again = LogStore(tmp_path, LIMITS)
        again.open()
        states.append((again.positions["LOGS"], again.runs))
        again.close()
        second.unlink()  # killed between the creation of a segment and its first transaction
        sqlite3.connect(second).close()

    assert states == [(StreamPosition("made", 8), {"run": 8})] * 2
    assert first.exists()


def test_a_store_has_one_writer_and_readers_beside_it(store: LogStore) -> None:
    with pytest.raises(StoreLocked):
        LogStore(folder_of(store), LIMITS).open()
    failures: list[object] = []
    is_done = threading.Event()

    def read() -> None:
        while not is_done.is_set():
            lines = search.search(folder_of(store), LogFilter(), 10_000).lines
            if sorted(numbers(lines)) != list(range(len(lines))):
                failures.append(lines)

    reader = threading.Thread(target=read)
    reader.start()
    for seq in range(1, 150):
        append(store, [record((seq - 1) * 20 + number) for number in range(20)], seq)
    is_done.set()
    reader.join()

    assert failures == []


def test_little_free_space_deletes_old_lines_and_then_stops(tmp_path: Path) -> None:
    free = [10**9]
    limits = StoreLimits(1400.0, 1 << 30, 10**8)
    clock = [NOW_MS / 1000]
    store = LogStore(tmp_path, limits, clock=lambda: clock[0], free_space=lambda _: free[0])
    store.open()
    for seq in range(1, 4):
        append(store, [record(seq)], seq)
        clock[0] += 150.0
    assert len(segment_paths(tmp_path)) > 1

    free[0] = 0
    with pytest.raises(StoreFull, match=r"log\.store\.least_free"):
        append(store, [record(9)], 9)
    assert len(segment_paths(tmp_path)) == 1
    assert store.positions["LOGS"].seq == 3
    free[0] = 10**9
    append(store, [record(9)], 9)
    assert numbers(search.search(tmp_path, LogFilter(), 1).lines) == [9]
    store.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
def test_a_full_disk_stores_nothing_half_and_goes_on_with_room(tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(tmp_path)], check=True)
    source = random.Random(1)
    try:
        store = LogStore(tmp_path / "store", LIMITS)
        store.open()
        stored = 0
        with contextlib.suppress(StoreFull):
            for seq in range(1, 100):
                noise = [record(number, text=source.randbytes(200).hex()) for number in range(300)]
                append(store, noise, seq)
                stored = seq
        assert 0 < stored < 99

        lines = all_pages(tmp_path / "store", LogFilter(), 1000)
        assert len(lines) == stored * 300
        assert store.positions["LOGS"].seq == stored
        subprocess.run(["mount", "-o", "remount,size=8m", str(tmp_path)], check=True)
        append(store, [record(1)], stored + 1)
        assert store.positions["LOGS"].seq == stored + 1
        store.close()
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def test_a_broken_newest_file_is_set_aside(tmp_path: Path) -> None:
    clock = [NOW_MS / 1000]
    store = LogStore(tmp_path, StoreLimits(1400.0, 1 << 30, 0), clock=lambda: clock[0])
    store.open()
    clock[0] += 500
    append(store, [record(0)], 7)
    store.close()
    newest = segment_paths(tmp_path)[-1]
    newest.write_bytes(b"this is no database" * 1000)

    store.open()
    assert store.positions["LOGS"].seq == 7
    append(store, [record(1)], 8)

    assert [path.suffix for path in sorted(tmp_path.glob("*.broken"))] == [".broken"]
    assert numbers(search.search(tmp_path, LogFilter(), 10).lines) == [1, 0]
    store.close()


def test_a_closed_store_can_be_read_and_a_missing_one_is_empty(tmp_path: Path) -> None:
    store = LogStore(tmp_path / "store", LIMITS)
    store.open()
    append(store, [record(0)], 1)
    store.close()

    state = search.store_state(tmp_path / "store")

    assert (state.lines, state.first_ms) == (1, NOW_MS)
    assert search.search(tmp_path / "none", LogFilter(), 10).lines == []
    assert search.field_values(tmp_path / "store")["process"][0] == search.FieldValue("edges", 1)
    assert json.loads(msgspec.json.encode(search.line_fields(record(0))))["area"] == "rest"


def test_killed_in_the_middle_of_a_transaction_the_file_has_all_or_nothing(store: LogStore) -> None:
    append(store, [record(number) for number in range(600)], 1)
    lines = [StoredLine.of(place_of(0, 2, 0), record(700))]

    class Broken(dict[str, StreamPosition]):
        def items(self):  # type: ignore[no-untyped-def]  # raises where a kill would end the transaction
            raise sqlite3.OperationalError("killed")

    segment = store._segment
    assert segment is not None
    with pytest.raises(sqlite3.OperationalError):
        segment.append(lines, Broken(), {})

    assert len(all_pages(folder_of(store), LogFilter(), 1000)) == 600
    append(store, [record(701)], 2)
    assert len(all_pages(folder_of(store), LogFilter(), 1000)) == 601
