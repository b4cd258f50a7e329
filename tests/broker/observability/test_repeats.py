"""Counting of lines that repeat."""

from broker.observability.repeats import FIRST_S, NEXT_S, RepeatCounter


def test_repeats_are_counted_with_their_ids_and_written_once_an_interval() -> None:
    lines: RepeatCounter[str] = RepeatCounter()

    assert lines.admit("k", "first", 0.0)
    assert not any(lines.admit("k", f"line {number}", 1.0, f"id{number}") for number in range(30))
    assert lines.due(FIRST_S - 0.1) == []
    [told] = lines.due(FIRST_S)
    assert (told.line, told.count, told.ids[0], len(told.ids)) == ("line 29", 30, "id0", 20)
    assert not lines.admit("k", "later", FIRST_S + 1)
    assert lines.due(FIRST_S + NEXT_S - 0.1) == []
    assert [each.count for each in lines.due(FIRST_S + NEXT_S)] == [1]


def test_a_kind_that_rests_is_written_again() -> None:
    lines: RepeatCounter[str] = RepeatCounter()
    lines.admit("k", "first", 0.0)

    assert lines.due(FIRST_S) == []
    assert lines.admit("k", "again", FIRST_S + 1)


def test_kinds_are_bounded_and_no_count_is_lost() -> None:
    lines: RepeatCounter[int] = RepeatCounter(most=3)
    for number in range(10):
        lines.admit(number, number, 0.0)
        lines.admit(number, number, 0.0)

    told = lines.due(0.0, is_end=True)

    assert sum(each.count for each in told) == 10
    assert lines.next_at() is None or len(told) == 10


def test_it_is_known_when_a_count_is_due() -> None:
    lines: RepeatCounter[str] = RepeatCounter()
    lines.admit("k", "first", 5.0)
    assert lines.next_at() is None
    lines.admit("k", "second", 6.0)
    assert lines.next_at() == 5.0 + FIRST_S
