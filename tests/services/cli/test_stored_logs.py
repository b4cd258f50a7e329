"""`headwater logs` with filters: the store of a stopped platform, hostile lines, times, wrong options."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from broker.logs.lines import StoredLine, place_of
from broker.logs.segment import StreamPosition
from broker.logs.store import FOLDER, LogStore, StoreLimits
from schemas.logs import LogRecord
from services.cli.logs import logs
from services.cli.stored_logs import InvalidTime, plain, read_time

NOW_MS = 1_790_000_000_000


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder of a stopped platform with a store."""
    (tmp_path / "logs").mkdir()
    store = LogStore(tmp_path / FOLDER, StoreLimits(10**9, 1 << 40, 0))
    store.open()
    append(
        store,
        1,
        LogRecord(NOW_MS, "info", "edges", "RequestServed", "GET /rest/v1/items", "rest", 200, "u-1", request_id="r-1", duration_ms=2.5),
        LogRecord(NOW_MS - 1, "debug", "pools", "StatementFailed", "A statement was rejected", request_id="r-1", fields={"sqlstate": "42501"}),
        LogRecord(NOW_MS + 5, "error", "functions", "function log", "\x1b[2J\nfake\r\u202e 2026 error edges", "functions", function="evil"),
    )  # fmt: skip
    store.close()
    return tmp_path


def append(store: LogStore, seq: int, *records: LogRecord) -> None:
    lines = [StoredLine.of(place_of(0, seq, index), record) for index, record in enumerate(records)]
    store.append(lines, {"LOGS": StreamPosition("made", seq)}, {})


def run(data: Path, *options: str) -> Result:
    return CliRunner().invoke(logs, ["--data", str(data), *options])


def test_a_request_is_printed_in_order(data: Path) -> None:
    lines = run(data, "--request-id", "r-1").output.splitlines()

    assert lines == [
        "2026-09-21T14:13:19.999Z debug   pools A statement was rejected sqlstate=42501 request=r-1",
        "2026-09-21T14:13:20.000Z info    edges rest 200 2.5ms GET /rest/v1/items user=u-1 request=r-1",
    ]


def test_json_lines_have_what_the_line_has(data: Path) -> None:
    [line] = run(data, "--json", "--status", "2xx").output.splitlines()

    assert json.loads(line) == {
        "at": "2026-09-21T14:13:20.000Z", "level": "info", "process": "edges", "kind": "RequestServed",
        "text": "GET /rest/v1/items", "area": "rest", "status": 200, "user": "u-1", "request_id": "r-1", "duration_ms": 2.5,
    }  # fmt: skip


def test_a_terminal_obeys_no_line(data: Path) -> None:
    result = run(data, "--function", "evil")

    assert len(result.output.splitlines()) == 1
    assert "\x1b" not in result.output
    assert "\u202e" not in result.output
    assert r"\x1b[2J\nfake\r\u202e" in result.output
    assert plain("naïve ☃") == "naïve ☃"


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (["--level", "error"], 1),
        (["--level", "debug"], 3),
        (["--level", "debug", "-n", "2"], 2),
        (["--since", "2026-09-21T14:13:20Z"], 2),
        (["--until", "2026-09-21T14:13:20Z"], 1),
        (["--text", "reject 425"], 1),
        (["--user", "u-1", "--area", "rest", "--process", "edges"], 1),
        (["--area", "auth"], 0),
        (["--since", "0s"], 0),
    ],
)
def test_filters(data: Path, options: list[str], count: int) -> None:
    result = run(data, *options)

    assert result.exit_code == 0
    assert len(result.output.splitlines()) == count


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--since", "yesterday"], "neither a time such as"),
        (["--status", "999"], "`status` must be"),
        (["--text", "--", "--json"], "a letter or a digit"),
        (["--level", "error", "--service", "nats"], "--process"),
    ],
)
def test_wrong_options_say_what_is_right(data: Path, options: list[str], words: str) -> None:
    result = run(data, *options)

    assert result.exit_code == 2
    assert words in result.output


def test_without_a_store_the_command_says_why(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()

    result = run(tmp_path, "--request-id", "r-1")

    assert result.exit_code == 1
    assert "log.store.enabled" in result.output


def test_times_are_ages_or_instants() -> None:
    assert read_time("15m", 1000.0) == 100_000
    assert read_time("2d", 200_000.0) == 27_200_000
    assert read_time("1970-01-01T00:00:10Z", 0) == 10_000
    for text in ("", "soon", "-5m", "9999999999999d", "2026-13-01"):
        with pytest.raises(InvalidTime):
            read_time(text, 0)


@pytest.fixture
def follower(data: Path) -> Iterator["subprocess.Popen[str]"]:
    """The command that follows errors."""
    command = [
        sys.executable,
        "-c",
        "from services.cli.main import main; main()",
        "logs",
        "--data",
        str(data),
        "--level",
        "error",
        "--follow",
        "--json",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_following_shows_last_and_new_lines_once(data: Path, follower: "subprocess.Popen[str]") -> None:
    assert follower.stdout is not None
    first = json.loads(follower.stdout.readline())
    store = LogStore(data / FOLDER, StoreLimits(10**9, 1 << 40, 0))
    store.open()
    append(store, 2, LogRecord(NOW_MS + 9, "info", "edges", "", "quiet"))
    append(store, 3, LogRecord(NOW_MS + 9, "error", "edges", "", "loud"))
    second = json.loads(follower.stdout.readline())
    store.close()

    assert (first["function"], second["text"]) == ("evil", "loud")
