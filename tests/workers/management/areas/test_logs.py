"""Operations on log lines: pages, requests, tail, wrong arguments."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.logs.lines import StoredLine, place_of
from broker.logs.segment import StreamPosition
from broker.logs.store import FOLDER, LogStore, StoreLimits
from schemas.logs import LogRecord
from tests.workers.management.conftest import Client

NOW_MS = 1_790_000_000_000
"""2026-09-21T14:13:20Z."""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LogStore]:
    """The store of a data folder, with the lines of two requests and an error."""
    monkeypatch.setenv("HEADWATER_DATA", str(tmp_path))
    store = LogStore(tmp_path / FOLDER, StoreLimits(10**9, 1 << 40, 0))
    store.open()
    append(
        store,
        1,
        LogRecord(NOW_MS, "info", "edges", "RequestServed", "POST /functions/v1/hello", "functions", 500, "u-1", request_id="r-1", duration_ms=8.5, fields={"client": "10.0.0.1"}),
        LogRecord(NOW_MS - 2, "info", "functions", "function log", "hello world", "functions", function="hello", request_id="r-1"),
        LogRecord(NOW_MS - 5, "debug", "pools", "StatementFailed", "A statement was rejected by the database", request_id="r-1", fields={"sqlstate": "23505"}),
        LogRecord(NOW_MS + 60_000, "info", "edges", "RequestServed", "GET /rest/v1/items", "rest", 200, request_id="r-2"),
        LogRecord(NOW_MS + 90_000, "error", "pools", "HandlerFailed", "A handler failed", "rest", request_id="r-3"),
    )  # fmt: skip
    yield store
    store.close()


def append(store: LogStore, seq: int, *records: LogRecord) -> None:
    lines = [StoredLine.of(place_of(0, seq, index), record) for index, record in enumerate(records)]
    store.append(lines, {"LOGS": StreamPosition("made", seq)}, {})


async def test_pages_filters_and_histogram(owner: Client, store: LogStore) -> None:
    first = await owner.run("logs.search", limit=2)
    second = await owner.run("logs.search", limit=2, cursor=first["next"])
    errors = await owner.run("logs.search", level="error")
    counted = await owner.run("logs.search", histogram=10, limit=1)
    timed = await owner.run("logs.search", since="2026-09-21T14:14:00Z", until="2026-09-21T14:14:30+00:00")

    assert [line["request_id"] for line in first["lines"] + second["lines"]] == ["r-3", "r-2", "r-1", "r-1"]
    assert [line["kind"] for line in errors["lines"]] == ["HandlerFailed"]
    assert first["lines"][0]["at"] == "2026-09-21T14:14:50.000Z"
    assert sum(bar["lines"] for bar in counted["histogram"]["bars"]) == 5
    assert counted["histogram"]["width_s"] == 60
    assert [line["request_id"] for line in timed["lines"]] == ["r-2"]
    for filters, kind in (
        ({"text": "hello wor"}, "function log"),
        ({"status": "5xx", "user": "u-1"}, "RequestServed"),
        ({"text": "23505"}, "StatementFailed"),
    ):
        page = await owner.run("logs.search", **filters)
        assert [line["kind"] for line in page["lines"]] == [kind], filters


async def test_a_request_is_shown_in_order_through_all_parts(owner: Client, store: LogStore) -> None:
    result = await owner.run("logs.request", id="r-1")

    assert [line["kind"] for line in result["lines"]] == ["StatementFailed", "function log", "RequestServed"]
    assert result["is_complete"] is True
    assert (await owner.run("logs.request", id="nothing"))["lines"] == []


async def test_tail_waits_for_the_next_line(owner: Client, store: LogStore) -> None:
    start = await owner.run("logs.tail")
    waiting = asyncio.create_task(owner.run("logs.tail", cursor=start["next"], level="error", wait_s=20))
    other = asyncio.create_task(owner.run("logs.tail", cursor=start["next"], area="storage", wait_s=0))
    assert (await other)["lines"] == []

    append(store, 2, LogRecord(NOW_MS, "info", "edges", "RequestServed", "quiet"))
    append(store, 3, LogRecord(NOW_MS, "error", "edges", "RequestServed", "loud"))
    result = await waiting

    assert start["lines"] == []
    assert [line["text"] for line in result["lines"]] == ["loud"]
    assert (await owner.run("logs.tail", cursor=result["next"], wait_s=0))["lines"] == []


async def test_fields_name_what_can_be_filtered(owner: Client, store: LogStore) -> None:
    result = await owner.run("logs.fields")

    assert {value["value"] for value in result["fields"]["process"]} == {"edges", "pools", "functions"}
    assert result["fields"]["function"] == [{"value": "hello", "lines": 1}]
    assert (result["lines"], result["first"]) == (5, "2026-09-21T14:13:19.995Z")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("logs.search", {"level": "loud"}),
        ("logs.search", {"status": "6xx"}),
        ("logs.search", {"since": "yesterday"}),
        ("logs.search", {"since": "9999-12-31T23:59:59-23:59", "until": "x"}),
        ("logs.search", {"limit": 0}),
        ("logs.search", {"limit": 1001}),
        ("logs.search", {"cursor": "x"}),
        ("logs.search", {"histogram": 100_000}),
        ("logs.search", {"text": "x" * 501}),
        ("logs.search", {"text": "??"}),
        ("logs.search", {"colour": "red"}),
        ("logs.request", {"id": ""}),
        ("logs.request", {}),
        ("logs.tail", {"wait_s": 1000}),
        ("logs.tail", {"wait_s": -1}),
        ("logs.tail", {"cursor": "1"}),
    ],
)
async def test_wrong_arguments_are_named(
    owner: Client, store: LogStore, name: str, arguments: dict[str, object]
) -> None:
    assert await owner.refused(name, **arguments) == (400, "invalid_arguments")


async def test_without_a_store_everything_is_empty(
    owner: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_DATA", str(tmp_path / "none"))

    assert (await owner.run("logs.search", histogram=5))["lines"] == []
    assert (await owner.run("logs.fields"))["lines"] == 0
    assert (await owner.run("logs.tail"))["next"] == "0.0"


async def test_sql_reads_the_lines_of_a_filter(owner: Client, store: LogStore) -> None:
    counted = await owner.run(
        "logs.sql",
        sql="select area, count(*) as lines, max(duration_ms) from lines group by area order by lines desc, area",
    )
    of_rest = await owner.run(
        "logs.sql", sql="select at, fields ->> 'client', status from lines;", area="functions", lines=1
    )
    cut = await owner.run("logs.sql", sql="select 9007199254740993, x'00ff', 9e999 from lines", limit=2)

    assert counted["columns"] == ["area", "lines", "max(duration_ms)"]
    assert counted["rows"] == [["functions", 2, 8.5], ["rest", 2, None], [None, 1, None]]
    assert (counted["lines_read"], counted["is_complete"], counted["is_cut"]) == (5, True, False)
    assert of_rest["rows"] == [["2026-09-21T14:13:20.000Z", "10.0.0.1", 500]]
    assert (of_rest["lines_read"], of_rest["is_complete"]) == (1, False)
    assert (cut["rows"], cut["is_cut"]) == ([["9007199254740993", "00ff", "inf"]] * 2, True)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("delete from lines", "only SELECT"),
        ("attach 'other.db' as other", "only SELECT"),
        ("pragma table_info(lines)", "only SELECT"),
        ("select * from pragma_database_list", "only SELECT"),
        ("select * from sqlite_schema", "only SELECT"),
        ("select load_extension('x')", "only SELECT"),
        ("select 1; select 2", "one statement"),
        ("select missing from lines", "no such column: missing"),
        ("-- nothing", "no SELECT"),
        ("select length(zeroblob(2000000))", "too big"),
        ("with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n", "longer than 3 seconds"),
        (
            "with recursive n(i, t) as (select 1, hex(randomblob(200000)) union select i + 1, hex(randomblob(200000)) from n)"
            " select count(*) from n",
            "memory",
        ),
    ],
)  # fmt: skip
async def test_sql_over_lines_only_reads_and_is_bounded(
    owner: Client, store: LogStore, sql: str, message: str
) -> None:
    error = await owner.error("logs.sql", sql=sql)

    assert error["code"] == "invalid_log_query"
    assert message in error["message"]


async def test_sql_over_lines_checks_its_arguments(owner: Client, store: LogStore) -> None:
    for arguments in (
        {"sql": ""},
        {"sql": "x" * 10_001},
        {"sql": "select 1", "lines": 0},
        {"sql": "select 1", "lines": 50_001},
    ):
        assert await owner.refused("logs.sql", **arguments) == (400, "invalid_arguments")
