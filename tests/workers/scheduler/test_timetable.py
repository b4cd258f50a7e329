from schemas.schedules import IntervalSchedule, parse_schedule
from workers.scheduler.timetable import LATE_S, DueRun, Timetable

MINUTE = parse_schedule("* * * * *", "GMT")


def test_nothing_is_due_of_an_empty_timetable():
    assert Timetable().take(100.0) == ([], [])
    assert Timetable().next_moment() is None


def test_a_moment_is_taken_once():
    table = Timetable()
    table.update({"a": MINUTE}, 10.0)

    assert table.next_moment() == 60.0
    assert table.take(59.9) == ([], [])
    assert table.take(60.1) == ([DueRun("a", 60.0)], [])
    assert table.take(60.2) == ([], [])
    assert table.next_moment() == 120.0


def test_what_is_long_past_is_missed_and_not_caught_up():
    table = Timetable()
    table.update({"a": MINUTE}, 10.0)

    assert table.take(60.0 + LATE_S + 1000) == ([], [DueRun("a", 60.0)])
    assert table.next_moment() == 1140.0

    assert table.take(1140.0 + LATE_S) == ([DueRun("a", 1140.0)], []), "just within the limit"


def test_a_schedule_that_does_not_change_keeps_its_moment_and_a_new_one_counts_from_now():
    table = Timetable()
    table.update({"a": IntervalSchedule(30), "b": IntervalSchedule(10)}, 0.0)
    table.update({"a": IntervalSchedule(30), "b": IntervalSchedule(20)}, 15.0)

    assert table.take(40.0) == ([DueRun("a", 30.0, 1), DueRun("b", 35.0, 1)], [])


def test_what_is_gone_is_not_due():
    table = Timetable()
    table.update({"a": IntervalSchedule(1)}, 0.0)
    table.update({}, 0.0)

    assert table.take(10.0) == ([], [])


NIGHTLY = parse_schedule("0 3 * * *", "GMT")
DAY_S, HOUR_S = 86400.0, 3600.0


def test_a_clock_that_is_set_back_by_little_changes_nothing():
    table = Timetable()
    table.update({"a": IntervalSchedule(1)}, 1000.0)
    table.set_back(1000.0)

    assert table.set_back(960.0) == 0
    assert table.next_moment() == 1001.0


def test_a_clock_that_is_set_back_lets_schedules_count_from_the_new_time():
    table = Timetable()
    ahead = 10 * DAY_S
    table.update({"pace": IntervalSchedule(30), "minute": MINUTE, "night": NIGHTLY}, ahead)
    table.set_back(ahead)

    assert table.set_back(ahead - 2 * HOUR_S) == 2 * HOUR_S

    due, missed = table.take(ahead - 2 * HOUR_S + 60)
    assert {each.key for each in due} == {"pace", "minute"}
    assert missed == []
    assert table.set_back(ahead - 2 * HOUR_S + 61) == 0


def test_a_clock_that_jumps_forward_runs_nothing_many_times():
    table = Timetable()
    table.update({"pace": IntervalSchedule(1), "minute": MINUTE, "night": NIGHTLY}, 10.0)
    table.set_back(10.0)

    assert table.set_back(10.0 + 30 * DAY_S) == 0

    due, missed = table.take(10.0 + 30 * DAY_S)
    assert due == []
    assert len(missed) == 3
    assert table.take(10.0 + 30 * DAY_S) == ([], [])


def test_a_time_of_day_does_not_come_twice_and_a_pace_goes_on():
    table = Timetable()
    table.update({"night": NIGHTLY, "minute": MINUTE}, 3 * HOUR_S - 30)

    due, _ = table.take(3 * HOUR_S)

    after = {each.key: each.wrong_after - each.moment for each in due}
    assert after == {"night": 3 * HOUR_S, "minute": 60.0}
