import contextlib
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.schedules import (
    CalendarSchedule,
    IntervalSchedule,
    InvalidSchedule,
    next_times,
    parse_schedule,
    schedule_in_words,
)
from tests.fuzz.mutate import near_text


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "zone", "after", "expected"),
    [
        ("*/5 * * * *", "GMT", "2026-01-01T00:00:01", "2026-01-01T00:05"),
        ("* * * * *", "GMT", "2026-01-01T00:05", "2026-01-01T00:06"),
        ("@daily", "GMT", "2026-01-01T00:00", "2026-01-02T00:00"),
        (" 0  12 * * MON-FRI ", "GMT", "2026-01-02T13:00", "2026-01-05T12:00"),
        ("0 12 $ * *", "GMT", "2026-02-01T00:00", "2026-02-28T12:00"),
        ("0 0 13 * 5", "GMT", "2026-01-01T00:00", "2026-01-02T00:00"),
        ("0 9 * * *", "Europe/Berlin", "2026-01-01T00:00", "2026-01-01T08:00"),
        ("30 2 * * *", "Europe/Berlin", "2026-03-29T00:00", "2026-03-29T01:00"),
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T00:00", "2026-10-25T00:30"),
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T00:30", "2026-10-26T01:30"),
        ("30 seconds", "GMT", "2026-01-01T00:00:01", "2026-01-01T00:00:31"),
    ],
)
def test_a_schedule_is_due_when_cron_says(text: str, zone: str, after: str, expected: str):
    assert parse_schedule(text, zone).next_due(at(after)) == at(expected)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("@daily", "At 00:00 every day"),
        ("1 second", "Every second"),
        ("45 seconds", "Every 45 seconds"),
        ("0 12 $ * *", "At 12:00 on the last day of every month"),
        ("0 0 30 2 *", "Never"),
    ],
)
def test_a_schedule_is_said_in_words(text: str, words: str):
    assert schedule_in_words(parse_schedule(text, "GMT")) == words


def test_the_next_times_follow_each_other():
    hourly, never = parse_schedule("@hourly", "GMT"), parse_schedule("0 0 30 2 *", "GMT")

    assert next_times(hourly, at("2026-01-01T00:10"), 2) == [at("2026-01-01T01:00"), at("2026-01-01T02:00")]
    assert next_times(never, 0, 5) == []


def test_a_day_that_never_comes_is_never_due():
    schedule = parse_schedule("0 0 30 2 *", "GMT")

    assert schedule == CalendarSchedule("0 0 30 2 *", "GMT")
    assert schedule.next_due(0) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "* * * *",
        "60 * * * *",
        "0 seconds",
        "60 seconds",
        "@reboot",
        "a b c d e",
        "*/0 * * * *",
        f"{'9' * 5000} * * * *",
        f"{'9' * 5000} seconds",
    ],
)
def test_what_is_no_schedule_is_refused(text: str):
    with pytest.raises(InvalidSchedule):
        parse_schedule(text, "GMT")


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "../etc/passwd"])
def test_a_zone_that_there_is_none_of_is_refused(zone: str):
    with pytest.raises(InvalidSchedule):
        parse_schedule("* * * * *", zone)


SCHEDULES = [
    "*/5 * * * *",
    "@daily",
    "0 12 * * MON-FRI",
    "0 12 $ * *",
    "1,2-9/3 0-23 L 1-12/2 7",
    "59 23 31 dec sun",
    "30 seconds",
]
ZONES = ["GMT", "Europe/Berlin", "America/Argentina/Buenos_Aires"]


@given(
    near_text(SCHEDULES, ["*", "/0", "-", ",", "$", "L", "60", "@hourly", " seconds", "mon"])
    | st.text(max_size=20),
    st.just("GMT") | near_text(ZONES),
)
def test_any_text_is_a_schedule_or_refused(text: str, zone: str):
    with contextlib.suppress(InvalidSchedule):
        schedule = parse_schedule(text, zone)

        due = schedule.next_due(at("2026-01-01T00:00"))
        assert isinstance(schedule, IntervalSchedule | CalendarSchedule)
        assert due is None or due > at("2026-01-01T00:00")
