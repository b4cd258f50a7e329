"""Durations and quotas: what they are read from, what they refuse."""

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.setting_types import Duration, Quota


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("24h0m0s", 86400),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("5s", 5),
        ("+5s", 5),
        ("500ms", 0.5),
        ("250us", 0.00025),
        ("250µs", 0.00025),
        ("1000000ns", 0.001),
        (".5s", 0.5),
        ("5.s", 5),
        (" 10m ", 600),
        ("300", 300),
        ("0", 0),
        ("0.5", 0.5),
        (300, 300),
        (0.5, 0.5),
    ],
)
def test_a_duration_is_read(value: object, seconds: float) -> None:
    assert Duration(value) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "value",
    ["", "s", "-5s", "5d", "1h 30m", "５s", "1e3s", "9" * 400, "9" * 400 + "s", "h1", True, None, [], -1, 10**400, math.nan, math.inf],
)  # fmt: skip
def test_what_is_no_duration_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        Duration(value)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (1, "1s"), (60, "1m"), (5400, "1h30m"), (86400, "24h"), (0.5, "500ms"), (1.5, "1.5s")],
)
def test_a_duration_is_spelled_as_settings_do(seconds: float, text: str) -> None:
    assert str(Duration(seconds)) == text


@given(st.integers(0, 10**9))
def test_a_spelled_duration_is_read_back(seconds: int) -> None:
    assert Duration(str(Duration(seconds))) == seconds


@given(st.text(max_size=12) | st.floats() | st.integers())
def test_anything_is_a_duration_or_refused(value: object) -> None:
    with contextlib.suppress(ValueError):
        assert Duration(value) >= 0


@pytest.mark.parametrize(
    ("value", "most", "over_s", "refills"),
    [
        ("30", 30, 3600, False),
        (30, 30, 3600, False),
        (30.0, 30, 3600, False),
        ("0", 0, 3600, False),
        ("100/24h", 100, 86400, True),
        (" 5/1m30s ", 5, 90, True),
    ],
)
def test_a_quota_is_read(value: object, most: int, over_s: float, refills: bool) -> None:
    quota = Quota(value)

    assert (quota.most, quota.over_s, quota.refills) == (most, over_s, refills)


@pytest.mark.parametrize(
    "value",
    ["", "x", "-1", "1.5", 1.5, -1, True, None, [], math.nan, math.inf, 10**400, "1/", "1/0s", "1/x", "/1h", "1/1h/1h", "9" * 20],
)  # fmt: skip
def test_what_is_no_quota_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="not a"):
        Quota(value)


@given(st.text(max_size=12) | st.floats() | st.integers())
def test_anything_is_a_quota_or_refused(value: object) -> None:
    with contextlib.suppress(ValueError):
        assert Quota(value).over_s > 0
