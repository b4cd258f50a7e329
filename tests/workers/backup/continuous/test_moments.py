"""What a user may write as the moment of a restore."""

import pytest

from workers.backup.continuous.moments import (
    LatestMoment,
    MigrationMoment,
    Moment,
    MomentRejected,
    PositionMoment,
    TimeMoment,
    TransactionMoment,
    parse_moment,
)

NOW = 1_795_400_000.0  # 2026-11-23 02:13:20 UTC


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-23 01:00", TimeMoment(1_795_395_600.0)),
        ("2026-11-23T01:00:00.5Z", TimeMoment(1_795_395_600.5)),
        ("2026-11-23 01:00 UTC", TimeMoment(1_795_395_600.0)),
        ("2026-11-23 02:00:00+01:00", TimeMoment(1_795_395_600.0)),
        ("2 hours ago", TimeMoment(NOW - 7200)),
        ("1 day ago", TimeMoment(NOW - 86400)),
        ("before the last hour", TimeMoment(NOW - 3600)),
        ("Before the last 30 minutes", TimeMoment(NOW - 1800)),
        ("latest", LatestMoment()),
        ("transaction 7312", TransactionMoment("7312", True)),
        ("before transaction 7312", TransactionMoment("7312", False)),
        ("before migration 20261122101500", MigrationMoment("20261122101500", False)),
        ("lsn 1/3000148", PositionMoment(0x1_0300_0148)),
    ],
)
def test_a_moment_is_read(text: str, moment: Moment) -> None:
    assert parse_moment(text, NOW) == moment


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is no moment"),
        ("yesterday", "is no moment"),
        ("2026-11-23", "add the time"),
        ("2026-13-01 10:00", "is no moment"),
        ("9999-12-31 23:59", "in the future"),
        ("0001-01-01 00:00:00+14:00", "is no moment"),
        ("2026-11-23 10:00", "in the future"),
        ("transaction 99999999999", "has a number up to"),
        ("transaction 12; drop", "is no moment"),
        ("lsn 0/zz", "is no moment"),
        ("999999 weeks ago", "before 1970"),
        ("2026-11-23 01:00'; select 1", "is no moment"),
    ],
)
def test_what_is_no_moment_is_refused_with_the_forms(text: str, reason: str) -> None:
    with pytest.raises(MomentRejected, match=reason):
        parse_moment(text, NOW)
