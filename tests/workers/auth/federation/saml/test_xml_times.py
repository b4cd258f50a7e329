"""Times and spans of XML Schema."""

import contextlib
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.mutate import near_text
from workers.auth.federation.saml.xml_times import BadTime, read_duration, read_time, write_time

NOON = datetime(2026, 8, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-08-01T12:00:00Z", NOON),
        ("2026-08-01T12:00:00", NOON),
        ("2026-08-01T14:00:00+02:00", NOON),
        ("2026-08-01T07:30:00-04:30", NOON),
        ("2026-08-01T12:00:00.25Z", NOON.replace(microsecond=250000)),
        ("2026-08-01T12:00:00.1234567Z", NOON.replace(microsecond=123456)),
        ("", None),
    ],
)
def test_a_time_is_read_in_utc(text: str, moment: datetime | None):
    assert read_time(text) == moment


@pytest.mark.parametrize(
    "text",
    ["now", "2026-08-01", "2026-13-01T12:00:00Z", "2026-08-01T25:00:00Z", "2026-08-01T12:00:00+99:00",
     "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "२०२६-08-01T12:00:00Z", "2026-08-01T12:00:00Zx"],
)  # fmt: skip
def test_what_is_no_time_is_told(text: str):
    with pytest.raises(BadTime):
        read_time(text)


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("PT1H", timedelta(hours=1)),
        ("P1DT2H3M4.5S", timedelta(days=1, hours=2, minutes=3, seconds=4)),
        ("P1Y2M", timedelta(days=425)),
        ("PT0S", timedelta()),
        ("-PT1H", None),
        ("P", None),
        ("PT", None),
        ("P1DT", None),
        ("1h", None),
        ("", None),
    ],
)
def test_a_span_is_read(text: str, span: timedelta | None):
    assert read_duration(text) == span


@given(st.datetimes(min_value=datetime(1000, 1, 1), timezones=st.just(UTC)))
def test_a_time_that_is_written_is_read_again(moment: datetime):
    assert read_time(write_time(moment)) == moment.replace(microsecond=0)


TIMES = [
    "2026-08-01T12:00:00Z",
    "2026-08-01T14:00:00.1234567+02:00",
    "0001-01-01T00:00:00",
    "9999-12-31T23:59:59-14:00",
]
SPANS = ["PT1H", "P1DT2H3M4.5S", "P1Y2M", "P99999999999Y"]


@given(near_text(TIMES + SPANS, list("0123456789PYMDTHS-:.Z+")))
def test_any_text_is_a_time_or_none(text: str):
    span = read_duration(text)
    assert span is None or span >= timedelta()
    with contextlib.suppress(BadTime):
        moment = read_time(text)
        assert moment is None or moment.utcoffset() == timedelta()
