"""The pace of bodies: pauses and drips, each against a clock that the test moves."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.gateway.requests.transfer_rate import BodyTooSlow, TransferLimits, TransferRate

USUAL = TransferLimits(pause_s=30, rate=100, window_s=60)


def test_a_body_that_arrives_within_the_window_has_any_rate() -> None:
    pace = TransferRate(USUAL)

    for _ in range(11):
        pace.record(5, 1)

    assert pace.left_s == 5


def test_a_drip_is_refused_when_its_window_is_over() -> None:
    pace = TransferRate(USUAL)
    for _ in range(11):
        pace.record(5, 1)

    with pytest.raises(BodyTooSlow, match="less than 100 bytes a second over 60 seconds"):
        pace.record(5, 1)


def test_what_came_in_one_window_does_not_count_in_the_next() -> None:
    pace = TransferRate(USUAL)
    pace.record(20, 100_000)
    assert pace.left_s == 30  # the window is filled: only the pause counts
    pace.record(45, 1)

    for _ in range(11):
        pace.record(5, 1)
    with pytest.raises(BodyTooSlow):
        pace.record(5, 1)


def test_a_slow_body_that_is_fast_enough_passes_for_good() -> None:
    pace = TransferRate(USUAL)

    for _ in range(1000):
        pace.record(5, 500)

    assert 0 < pace.left_s <= 30


@given(st.lists(st.tuples(st.floats(0, 29), st.integers(0, 10)), max_size=200))
def test_without_a_rate_only_pauses_count(pieces: list[tuple[float, int]]) -> None:
    pace = TransferRate(TransferLimits(pause_s=30, rate=0, window_s=60))

    for seconds, size in pieces:
        pace.record(seconds, size)

    assert pace.left_s == 30


@given(st.lists(st.tuples(st.floats(0, 30), st.integers(0, 10_000)), min_size=1, max_size=200))
def test_no_body_below_the_rate_is_waited_for_longer_than_two_windows(
    pieces: list[tuple[float, int]],
) -> None:
    pace, waited, size = TransferRate(USUAL), 0.0, 0
    try:
        for seconds, more in pieces:
            seconds = min(seconds, pace.left_s)
            waited, size = waited + seconds, size + more
            pace.record(seconds, more)
    except BodyTooSlow:
        return

    windows = waited // (USUAL.window_s + USUAL.pause_s)  # a window that is filled ends with the next piece
    assert size >= windows * USUAL.rate * USUAL.window_s


async def test_a_pause_and_a_drip_are_told_apart() -> None:
    never = asyncio.get_running_loop().create_future()

    with pytest.raises(BodyTooSlow, match=r"^The body did not arrive in time$"):
        await TransferRate(TransferLimits(pause_s=0.01, rate=100, window_s=60)).wait(asyncio.shield(never))
    with pytest.raises(BodyTooSlow, match=r"^The body came too slowly"):
        await TransferRate(TransferLimits(pause_s=60, rate=100, window_s=0.01)).wait(asyncio.shield(never))

    never.cancel()


async def test_the_time_between_two_reads_is_not_the_clients() -> None:
    async def piece() -> bytes:
        return b"x"

    pace = TransferRate(TransferLimits(pause_s=60, rate=1e9, window_s=60))
    before = pace.left_s
    for _ in range(3):
        assert await pace.wait(piece()) == b"x"

    assert before - pace.left_s < 1
