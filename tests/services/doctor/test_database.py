"""Tests of what the facts about a database mean."""

import pytest
from msgspec.structs import replace

from schemas.positions import ReplicaFacts
from services.doctor.database import DatabaseFacts, Replacement, SlotFacts, look_at_facts, unreachable
from services.doctor.finding import FindingLevel

GOOD = DatabaseFacts(
    180006,
    "logical",
    0.0,
    5,
    10,
    100,
    [],
    SlotFacts(1024, True, False),
    replicas=[ReplicaFacts("a:5432", "", 512)],
)


def test_good_database_has_no_findings_but_good_ones() -> None:
    assert {each.level for each in look_at_facts(GOOD, realtime=True)} == {FindingLevel.OK}


@pytest.mark.parametrize(
    ("changed", "title", "level"),
    [
        ({"version": 140002}, "database", FindingLevel.ERROR),
        ({"version": 150002}, "database", FindingLevel.WARNING),
        ({"copies_cluster": True}, "replication", FindingLevel.WARNING),
        ({"pending": ["auth/0001_users"]}, "migrations", FindingLevel.ERROR),
        ({"newer": ["auth/0099"]}, "migrations", FindingLevel.ERROR),
        ({"sessions": 95}, "sessions", FindingLevel.WARNING),
        ({"wal_level": "replica"}, "realtime", FindingLevel.ERROR),
        ({"slot": None, "slots_free": 0}, "realtime", FindingLevel.ERROR),
        ({"slot": SlotFacts(0, False, True)}, "realtime", FindingLevel.ERROR),
        ({"slot": SlotFacts(0, False, False)}, "realtime", FindingLevel.WARNING),
        ({"slot": SlotFacts(2**31, True, False)}, "realtime", FindingLevel.WARNING),
        ({"replicas": [ReplicaFacts("a:5432", "refused")]}, "replica", FindingLevel.WARNING),
        ({"replicas": [ReplicaFacts("a:5432", "", 2**30)]}, "replica", FindingLevel.WARNING),
        ({"replacement": Replacement(False, False, ["headwater_next"])}, "restore", FindingLevel.WARNING),
        ({"replacement": Replacement(False, True, ["headwater_before"])}, "restore", FindingLevel.ERROR),
    ],
)
def test_each_fault_is_found_with_its_cure(
    changed: dict[str, object], title: str, level: FindingLevel
) -> None:
    found = [
        each
        for each in look_at_facts(replace(GOOD, **changed), realtime=True)
        if each.level is not FindingLevel.OK
    ]

    assert [(each.title, each.level) for each in found] == [(title, level)]
    assert found[0].cure


def test_slot_does_not_matter_without_realtime() -> None:
    found = look_at_facts(replace(GOOD, wal_level="replica"), realtime=False)

    assert {each.level for each in found} == {FindingLevel.OK}


def test_silent_database_is_an_error_with_a_cure() -> None:
    assert unreachable("refused").level is FindingLevel.ERROR
    assert unreachable("refused").cure


def test_a_restore_under_way_is_no_fault() -> None:
    facts = replace(GOOD, replacement=Replacement(True, False, ["headwater_next"]))

    assert {each.level for each in look_at_facts(facts, realtime=True)} == {FindingLevel.OK}


def test_a_database_that_is_not_there_is_not_cured_by_starting_the_server() -> None:
    assert "Restart the platform" in unreachable('database "postgres" does not exist').cure
