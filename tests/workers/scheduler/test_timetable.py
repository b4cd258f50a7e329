from schemas.schedules import Every, parse_schedule
from workers.scheduler.timetable import LATE_S, Due, Timetable

MINUTE = parse_schedule("* * * * *", "GMT")


def test_nothing_is_due_of_an_empty_timetable():
    assert Timetable().take(100.0) == ([], [])
    assert Timetable().next_moment() is None


def test_a_moment_is_taken_once():
    table = Timetable()
    table.update({"a": MINUTE}, 10.0)

    assert table.next_moment() == 60.0
    assert table.take(59.9) == ([], [])
    assert table.take(60.1) == ([Due("a", 60.0)], [])
    assert table.take(60.2) == ([], [])
    assert table.next_moment() == 120.0


def test_what_is_long_past_is_missed_and_not_caught_up():
    table = Timetable()
    table.update({"a": MINUTE}, 10.0)

    assert table.take(60.0 + LATE_S + 1000) == ([], [Due("a", 60.0)])
    assert table.next_moment() == 1140.0


def test_a_schedule_that_does_not_change_keeps_its_moment_and_a_new_one_counts_from_now():
    table = Timetable()
    table.update({"a": Every(30), "b": Every(10)}, 0.0)
    table.update({"a": Every(30), "b": Every(20)}, 15.0)

    assert table.take(40.0) == ([Due("a", 30.0, 1), Due("b", 35.0, 1)], [])


def test_what_is_gone_is_not_due():
    table = Timetable()
    table.update({"a": Every(1)}, 0.0)
    table.update({}, 0.0)

    assert table.take(10.0) == ([], [])
