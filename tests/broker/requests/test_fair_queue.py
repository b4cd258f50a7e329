import contextlib
import random
from collections import Counter

import pytest

from broker.requests.fair_queue import PLATFORM, FairQueue, QueueFull, may_take


def queue(places: int = 8, most_waiting: int = 100) -> FairQueue[str]:
    return FairQueue(places, most_waiting)


def taken(one: FairQueue[str], key: str, now: float = 0.0) -> int:
    """Take as many places as a caller may have; return how many."""
    count = 0
    while one.take(key, now):
        count += 1
    return count


def begun(one: FairQueue[str], now: float = 0.0) -> list[str]:
    """Begin the waiting requests that may have a place; return them in order."""
    items = []
    while (entry := one.next(now)) is not None:
        items.append(entry.item)
    return items


@pytest.mark.parametrize(
    ("places", "alone"), [(1, 1), (2, 1), (3, 2), (4, 3), (8, 6), (10, 8), (64, 48), (1024, 768)]
)
def test_a_caller_alone_gets_three_quarters_and_leaves_a_place_for_another(places: int, alone: int) -> None:
    one = queue(places)

    assert taken(one, "a") == alone
    assert places == 1 or one.take("b", 0.0)


def test_a_place_is_free_for_each_further_caller_until_there_are_as_many_as_places() -> None:
    one = queue(10)

    held = [taken(one, str(number)) for number in range(5)]

    assert held[0] == 8
    assert held[1:3] == [1, 1]
    assert one.used == one.slots


def test_the_last_free_place_goes_to_a_caller_that_holds_none() -> None:
    assert may_take(0, 1)
    assert not may_take(1, 1)
    assert not may_take(0, 0)


def test_the_platform_itself_may_take_any_free_place() -> None:
    assert taken(queue(8), PLATFORM) == 8


def test_callers_that_wait_are_served_in_turn_and_each_in_its_own_order() -> None:
    one = queue(1)
    one.take("x", 0.0)
    for item in ("a1", "a2", "a3", "b1", "c1", "c2"):
        one.wait(item[0], item, 0.0, longest_s=10)
    order = []
    for holder in ("x", "a", "b", "c", "a", "c", "a"):
        one.release(holder, 0.0, 0.0)
        order += begun(one)

    assert order == ["a1", "b1", "c1", "a2", "c2", "a3"]


def test_a_request_does_not_pass_those_of_its_caller_that_wait() -> None:
    one = queue(4)
    assert taken(one, "a") == 3
    one.wait("a", "a1", 0.0, longest_s=10)
    one.release("a", 0.0, 0.0)

    assert not one.take("a", 0.0)
    assert begun(one) == ["a1"]


def test_a_caller_beyond_its_share_does_not_keep_another_waiting() -> None:
    one = queue(4)
    taken(one, "a")
    one.wait("a", "a1", 0.0, longest_s=10)
    assert one.take("b", 0.0)
    one.wait("b", "b1", 0.0, longest_s=10)

    one.release("b", 0.0, 0.0)

    assert begun(one) == ["b1"]


def test_the_queue_has_room_for_a_second_caller_while_the_first_floods_it() -> None:
    one = queue(1, most_waiting=100)
    one.take("x", 0.0)
    for number in range(75):
        one.wait("a", str(number), 0.0, longest_s=10)

    with pytest.raises(QueueFull, match="share"):
        one.wait("a", "one too many", 0.0, longest_s=10)
    one.wait("b", "b1", 0.0, longest_s=10)


def test_a_full_queue_refuses_everybody() -> None:
    one = queue(1, most_waiting=2)
    one.take("x", 0.0)
    one.wait("a", "a1", 0.0, longest_s=10)
    one.wait("b", "b1", 0.0, longest_s=10)

    with pytest.raises(QueueFull, match="full"):
        one.wait("c", "c1", 0.0, longest_s=10)


def test_a_request_that_would_wait_too_long_is_refused_at_once_with_the_time_to_come_back() -> None:
    one = queue(4)
    taken(one, "a")
    one.wait("a", "a1", 0.0, longest_s=10)
    one.release("a", 0.0, 8.0)  # eight seconds each, three or four at a time
    begun(one, 8.0)
    for number in range(4):
        one.wait("a", str(number), 8.0, longest_s=10)

    with pytest.raises(QueueFull) as refused:
        one.wait("a", "late", 8.0, longest_s=5)

    assert refused.value.reason == "late"
    assert refused.value.retry_after_s == 5


def test_a_request_whose_deadline_cannot_be_met_is_refused_at_once() -> None:
    one = queue(1)
    one.take("a", 0.0)
    one.wait("a", "a1", 0.0, longest_s=100)
    one.release("a", 0.0, 8.0)
    begun(one, 8.0)

    with pytest.raises(QueueFull, match="late"):
        one.wait("a", "a2", 8.0, longest_s=100, deadline=20.0)
    one.wait("a", "a3", 8.0, longest_s=100, deadline=30.0)


def test_those_that_wait_in_vain_are_refused_as_soon_as_that_shows() -> None:
    one = queue(4)
    taken(one, "a")
    for number in range(20):
        one.wait("a", str(number), 0.0, longest_s=10)
    assert one.late(1.0) == []

    refused = one.late(4.0)

    assert {full.reason for _, full in refused} == {"late"}
    assert [entry.item for entry, _ in refused] == [str(number) for number in reversed(range(8, 20))]
    assert one.waiting == 8


def test_nobody_waits_longer_than_allowed_even_where_nothing_is_known() -> None:
    one = queue(1)
    one.take("x", 0.0)
    one.wait("a", "a1", 0.0, longest_s=10)
    one.wait("b", "b1", 5.0, longest_s=10)

    assert [(entry.item, full.reason) for entry, full in one.late(10.0)] == [("a1", "waited")]
    assert one.waiting == 1


def test_one_long_request_does_not_make_those_of_a_quick_caller_hopeless() -> None:
    one = queue(4)
    for _ in range(50):
        one.take("a", 0.0)
        one.take("a", 0.0)
        one.release("a", 0.0, 0.005)
    taken(one, "a", 0.0)
    one.release("a", 0.0, 60.0)
    taken(one, "a", 60.0)

    for number in range(60):
        one.wait("a", str(number), 60.0, longest_s=10)


def test_in_a_queue_that_stands_for_long_requests_may_wait_for_a_tenth_of_the_time() -> None:
    one = queue(1)
    one.take("a", 0.0)
    one.wait("a", "first", 0.0, longest_s=10)
    for second in range(1, 11):
        burst = one.wait("a", str(second), float(second), longest_s=10)
        assert burst.start_by == second + 10
        one.release("a", second - 0.1, float(second))
        begun(one, float(second))

    assert one.wait("a", "newest", 10.5, longest_s=10).start_by == 11.5
    assert one.wait("b", "of another", 10.5, longest_s=10).start_by == 20.5


def test_what_is_discarded_is_not_begun() -> None:
    one = queue(1)
    one.take("x", 0.0)
    first = one.wait("a", "a1", 0.0, longest_s=10)
    one.wait("a", "a2", 0.0, longest_s=10)
    one.discard(first)
    one.discard(first)
    one.release("x", 0.0, 0.0)

    assert begun(one) == ["a2"]
    one.discard(first)
    assert one.waiting == 0


def test_nothing_is_remembered_of_callers_that_are_gone() -> None:
    one, chance = queue(6, most_waiting=20), random.Random(1)
    held: list[tuple[str, float]] = []
    waiting = []
    for step in range(5000):
        now, key = step / 100, str(chance.randrange(1000))
        if one.take(key, now):
            held.append((key, now))
        else:
            with contextlib.suppress(QueueFull):
                waiting.append(one.wait(key, key, now, longest_s=1))
        if held and chance.random() < 0.6:
            caller, since = held.pop(chance.randrange(len(held)))
            one.release(caller, since, now)
        if waiting and chance.random() < 0.2:
            one.discard(waiting.pop(chance.randrange(len(waiting))))
        one.late(now)
        while (entry := one.next(now)) is not None:
            held.append((entry.key, now))
        assert one.used == len(held) <= 6
        assert one.waiting <= 20
        assert one.callers <= one.used + one.waiting + 65
        assert all(one.held(key) == count for key, count in Counter(key for key, _ in held).items())
    for _ in one.clear():
        pass
    for caller, since in held:
        one.release(caller, since, 60.0)

    assert (one.used, one.waiting) == (0, 0)
    assert one.callers <= 64
