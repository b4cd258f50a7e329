"""Rates and counts of the realtime edge."""

import asyncio

from services.realtime.limits import RejectionDelay, SocketCounts, TokenBucket


def test_rate_lets_so_many_pass_and_fills_again() -> None:
    rate = TokenBucket(2, over_s=5)

    first = [rate.take(100.0) for _ in range(11)]
    later = [rate.take(101.0) for _ in range(3)]

    assert first == [True] * 10 + [False]
    assert later == [True, True, False]
    assert rate.left(200.0) == 10


def test_rate_of_zero_is_no_limit() -> None:
    rate = TokenBucket(0)

    assert all(rate.take(0.0) for _ in range(1000))


def test_sockets_are_counted_in_all_and_by_key() -> None:
    sockets = SocketCounts(3, 2)

    places = [sockets.add(key) for key in ("a", "a", "a", "b", "c")]

    assert [place is not None for place in places] == [True, True, False, True, False]
    assert places[0] is not None
    sockets.remove(places[0])
    assert sockets.add("a") is not None


async def test_brake_holds_only_so_many() -> None:
    brake = RejectionDelay(wait_s=60, most=1)
    held = asyncio.ensure_future(brake.wait())
    await asyncio.sleep(0)

    await brake.wait()

    assert not held.done()
    held.cancel()


def test_new_limits_of_sockets_apply_to_those_that_open_later():
    sockets = SocketCounts(2, 0)
    first, second = sockets.add("key"), sockets.add("key")
    assert first is not None
    assert second is not None

    sockets.use(1, 0, 0)
    assert sockets.add("key") is None
    sockets.remove(first)
    assert sockets.add("key") is None
    sockets.remove(second)
    assert sockets.add("key") is not None
    sockets.use(0, 0, 0)
    assert sockets.add("key") is not None
