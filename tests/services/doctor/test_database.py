"""Tests of what the facts about a database mean."""

import pytest
from msgspec.structs import replace

from services.doctor.database import Facts, Replacement, Slot, look_at_facts, silent
from services.doctor.finding import Level

GOOD = Facts(180006, "logical", 0.0, 5, 10, 100, [], Slot(1024, True, False))


def test_good_database_has_no_findings_but_good_ones() -> None:
    assert {each.level for each in look_at_facts(GOOD, realtime=True)} == {Level.OK}


@pytest.mark.parametrize(
    ("changed", "title", "level"),
    [
        ({"version": 140002}, "database", Level.ERROR),
        ({"version": 150002}, "database", Level.WARNING),
        ({"copies_cluster": True}, "replication", Level.WARNING),
        ({"pending": ["auth/0001_users"]}, "migrations", Level.ERROR),
        ({"newer": ["auth/0099"]}, "migrations", Level.ERROR),
        ({"sessions": 95}, "sessions", Level.WARNING),
        ({"wal_level": "replica"}, "realtime", Level.ERROR),
        ({"slot": None, "slots_free": 0}, "realtime", Level.ERROR),
        ({"slot": Slot(0, False, True)}, "realtime", Level.ERROR),
        ({"slot": Slot(0, False, False)}, "realtime", Level.WARNING),
        ({"slot": Slot(2**31, True, False)}, "realtime", Level.WARNING),
        ({"replacement": Replacement(False, False, ["headwater_next"])}, "restore", Level.WARNING),
        ({"replacement": Replacement(False, True, ["headwater_before"])}, "restore", Level.ERROR),
    ],
)
def test_each_fault_is_found_with_its_cure(changed: dict[str, object], title: str, level: Level) -> None:
    found = [
        each for each in look_at_facts(replace(GOOD, **changed), realtime=True) if each.level is not Level.OK
    ]

    assert [(each.title, each.level) for each in found] == [(title, level)]
    assert found[0].cure


def test_slot_does_not_matter_without_realtime() -> None:
    found = look_at_facts(replace(GOOD, wal_level="replica"), realtime=False)

    assert {each.level for each in found} == {Level.OK}


def test_silent_database_is_an_error_with_a_cure() -> None:
    assert silent("refused").level is Level.ERROR
    assert silent("refused").cure


def test_a_restore_under_way_is_no_fault() -> None:
    facts = replace(GOOD, replacement=Replacement(True, False, ["headwater_next"]))

    assert {each.level for each in look_at_facts(facts, realtime=True)} == {Level.OK}


def test_a_database_that_is_not_there_is_not_cured_by_starting_the_server() -> None:
    assert "Restart the platform" in silent('database "postgres" does not exist').cure
