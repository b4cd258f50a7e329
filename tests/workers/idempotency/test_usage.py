"""How many keys a caller has, as a worker knows it."""

from workers.idempotency.usage import CallerUsages


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_caller_is_counted_first_and_when_the_count_is_old() -> None:
    clock = Clock()
    usage = CallerUsages(1000, 500, clock)
    assert usage.is_old(b"a")

    usage.counted(b"a", 5, 100)
    assert not usage.is_old(b"a")
    assert usage.is_old(b"b")

    clock.now += 10.5
    assert usage.is_old(b"a")


def test_a_caller_is_counted_again_after_a_hundredth_of_its_bound() -> None:
    usage = CallerUsages(300, 500, Clock())
    usage.counted(b"a", 0, 0)

    usage.add(b"a", 1)
    usage.add(b"a", 1)
    assert not usage.is_old(b"a")
    usage.add(b"a", 1)
    assert usage.is_old(b"a")


def test_bounds_are_those_of_one_caller() -> None:
    usage = CallerUsages(2, 100, Clock())
    assert (usage.is_full(b"a"), usage.room(b"a")) == (False, 100)

    usage.counted(b"a", 1, 70)
    assert (usage.is_full(b"a"), usage.room(b"a")) == (False, 30)
    usage.add(b"a", 60)

    assert (usage.is_full(b"a"), usage.room(b"a")) == (True, 0)
    assert (usage.is_full(b"b"), usage.room(b"b")) == (False, 100)


def test_a_worker_remembers_so_many_callers() -> None:
    usage = CallerUsages(1, 1, Clock())
    for number in range(10_001):
        usage.counted(str(number).encode(), 1, 1)

    assert not usage.is_full(b"0")
    assert usage.is_full(b"1")
    assert usage.is_full(b"10000")
