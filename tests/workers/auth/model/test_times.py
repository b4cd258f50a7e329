"""Times as bodies show them. Reference, section 1.3."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from workers.auth.model.times import iso


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 11, 21, 1, 30, 0, 123456, UTC), "2026-11-21T01:30:00.123Z"),
        (datetime(2026, 11, 21, 1, 30, tzinfo=UTC), "2026-11-21T01:30:00.000Z"),
        (datetime(2026, 11, 21, 1, 30, 59, 999999, UTC), "2026-11-21T01:30:59.999Z"),
        (datetime(2026, 1, 1, 0, 30, tzinfo=timezone(timedelta(hours=2))), "2025-12-31T22:30:00.000Z"),
    ],
)
def test_a_time_is_utc_with_milliseconds(moment: datetime, text: str) -> None:
    assert iso(moment) == text
