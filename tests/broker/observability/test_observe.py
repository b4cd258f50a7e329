import asyncio
import logging
import sys
from collections.abc import Iterator

import msgspec
import pytest
import structlog

from broker.observability import observe as module
from broker.observability.observations import (
    BrokerLost,
    HandlerFailed,
    Observation,
    ProcessEnded,
    RequestAnswered,
    RequestFailed,
)
from broker.observability.observe import configure, exposition, gauge, observe
from schemas.keys.secret import Secret


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    yield
    configure()
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


def _lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [
        msgspec.json.decode(line, type=dict[str, object]) for line in capsys.readouterr().err.splitlines()
    ]


def _metric(name: str) -> float:
    """Give the value of a sample, 0 when it is not there."""
    values = [line for line in exposition().decode().splitlines() if line.startswith(name + " ")]
    return float(values[0].rpartition(" ")[2]) if values else 0.0


class Signed(Observation, frozen=True):
    """Something was signed."""

    key: Secret


def test_an_observation_becomes_a_line_with_its_text_and_fields(capsys: pytest.CaptureFixture[str]) -> None:
    configure("info", "json", "edges")

    observe(BrokerLost("gone"))

    [line] = _lines(capsys)
    assert line["event"] == "The connection to the broker is lost"
    assert (line["kind"], line["level"], line["process"], line["reason"]) == (
        "BrokerLost",
        "warning",
        "edges",
        "gone",
    )
    assert str(line["time"]).endswith("+00:00")


def test_lines_below_the_level_are_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    configure("error", "json", "edges")

    observe(BrokerLost("gone"))
    observe(HandlerFailed("rest", "1", "broken", ""))

    assert [line["kind"] for line in _lines(capsys)] == ["HandlerFailed"]


def test_a_secret_is_three_stars(capsys: pytest.CaptureFixture[str]) -> None:
    configure("info", "json")
    observe(Signed(Secret("do not show")))
    configure("info", "console")
    observe(Signed(Secret("do not show")))

    shown = capsys.readouterr().err
    assert "do not show" not in shown
    assert shown.count("***") == 2


@pytest.mark.parametrize(
    ("level", "status", "count"), [("info", 200, 0), ("info", 503, 1), ("debug", 200, 1)]
)
def test_an_answered_request_has_a_line_at_debug_or_when_it_failed(
    capsys: pytest.CaptureFixture[str], level: str, status: int, count: int
) -> None:
    configure(level, "json")

    observe(RequestAnswered("rest", "1", status, 0.01))

    assert len(_lines(capsys)) == count


def test_failures_that_repeat_are_counted_with_the_ids_of_their_requests(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure("info", "json")

    for number in range(40):
        observe(RequestAnswered("rest", f"r{number}", 503, 0.01 * number, "53100: the disk is full"))
    observe(RequestAnswered("rest", "other", 503, 0.01, "no database"))
    observe(ProcessEnded(0))

    first, other, counted, _ = _lines(capsys)
    assert (first["event"], first["id"], first["status"], first["reason"]) == (
        "A request failed", "r0", 503, "53100: the disk is full",
    )  # fmt: skip
    assert other["id"] == "other"
    assert (counted["repeated"], counted["id"], counted["ids"]) == (
        39,
        "r39",
        [f"r{n}" for n in range(1, 21)],
    )


def test_answers_are_counted_by_pool_and_status_with_their_times() -> None:
    counted, below, sum = (
        'headwater_requests_total{pool="counted",status="201"}',
        'headwater_request_duration_seconds_bucket{le="0.05",pool="counted"}',
        'headwater_request_duration_seconds_sum{pool="counted"}',
    )

    for seconds in (0.05, 0.02, 0.3):
        observe(RequestAnswered("counted", "1", 201, seconds))

    assert _metric(counted) == 3
    assert _metric(below) == 2
    assert _metric(sum) == pytest.approx(0.37)


def test_failed_calls_are_counted_by_their_reason() -> None:
    observe(RequestFailed("failing", "1", "deadline"))

    assert _metric('headwater_calls_failed_total{pool="failing",reason="deadline"}') == 1


def test_a_gauge_is_read_when_somebody_asks_until_it_is_removed() -> None:
    level = 3.0
    remove = gauge("headwater_test_level", "A level.", lambda: level, pool="p")

    assert _metric('headwater_test_level{pool="p"}') == 3
    remove()
    assert _metric('headwater_test_level{pool="p"}') == 0


def test_lines_of_libraries_have_the_same_form(capsys: pytest.CaptureFixture[str]) -> None:
    configure("info", "json", "edges")

    logging.getLogger("library").warning("it is %s", "late")
    logging.getLogger("library").info("chatter")

    [line] = _lines(capsys)
    assert (line["event"], line["kind"], line["level"]) == ("it is late", "library", "warning")


async def test_what_nobody_awaits_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    configure("info", "json")
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    module.watch_loop(loop)
    try:
        loop.call_soon(lambda: 1 / 0)
        await asyncio.sleep(0)
    finally:
        loop.set_exception_handler(before)

    [line] = _lines(capsys)
    assert line["kind"] == "LoopComplained"
    assert "ZeroDivisionError" in str(line["traceback"])


def test_a_traceback_holds_the_exception_and_its_cause() -> None:
    try:
        raise ValueError("outer") from KeyError("inner")
    except ValueError:
        text = module.traceback_of(sys.exc_info()[1] or ValueError())

    assert "outer" in text
    assert "inner" in text
