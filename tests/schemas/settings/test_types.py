"""Durations, quotas and sizes: what they are read from, what they refuse."""

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.settings.types import Duration, Quota, Size


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


MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("50MiB", 50 * MIB),
        ("50MB", 50 * MIB),
        ("50mb", 50 * MIB),
        ("50m", 50 * MIB),
        ("50 MiB", 50 * MIB),
        (" 50MiB ", 50 * MIB),
        ("1.5g", 1536 * MIB),
        (".5k", 512),
        ("2TiB", 2 * MIB * MIB),
        ("1024", 1024),
        ("7b", 7),
        (1024, 1024),
        (1024.0, 1024),
    ],
)
def test_a_size_is_read_with_units_of_1024(value: object, size: int) -> None:
    assert Size(value) == size


@pytest.mark.parametrize(
    "value",
    ["", "b", "MiB", "-1", "0", "0.0001k", "5x", "5 0", "5  MB", "５", "1e3", "9" * 400, "9" * 400 + ".1", True, None, [], 0, -1, 1.5, 2**63, math.nan, math.inf],
)  # fmt: skip
def test_what_is_no_size_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="not a size"):
        Size(value)


@pytest.mark.parametrize(
    ("size", "text"),
    [(50 * MIB, "50MiB"), (1, "1"), (1000, "1000"), (5 * 1024 * MIB, "5GiB"), (1536 * MIB, "1536MiB")],
)
def test_a_size_is_spelled_as_settings_do(size: int, text: str) -> None:
    assert (str(Size(size)), repr(Size(size))) == (text, text)


@given(st.integers(1, 2**63 - 1))
def test_a_spelled_size_is_read_back(size: int) -> None:
    assert Size(str(Size(size))) == size


@given(st.text(max_size=12) | st.floats() | st.integers() | st.from_regex(r"[0-9.]{1,5}[kmgtpib]{0,3}"))
def test_anything_is_a_size_or_refused(value: object) -> None:
    with contextlib.suppress(ValueError):
        assert 1 <= Size(value) < 2**63
