"""The short form of the campaign: one of each fault that heals quickly, and the counting behind the table."""

from collections import Counter

import pytest

from tests.faults.campaign import Result, run_campaign
from tests.faults.followers import GAP, compare
from tests.faults.jobs import JobCounts, JobRun, Tick, compare_runs, lost_mails
from tests.faults.ledger import Ledger, Meaning, Operation, meaning_of
from tests.faults.plan import CALM_S, KINDS, FaultKind, one_of_each, planned_faults
from tests.faults.reckoning import TIMED, FaultRecord, StoredData, longest_pause, outcomes
from tests.faults.writers import MAIL, PER_WRITER, ROWS

_KINDS = (
    *(
        FaultKind("kill", name)
        for name in ("edges", "pools", "changes", "functions", "streams", "nats", "postgres", "backend")
    ),
    FaultKind("stop", "pools", (0.5, 0.5)),
    FaultKind("restart", "nats"),
)
_REST_S = 1.0


@pytest.mark.process_group("faults")
@pytest.mark.timeout(400)
async def test_faults_under_traffic_lose_and_double_nothing_and_heal() -> None:
    plan = one_of_each(_KINDS, _REST_S)

    result = await run_campaign(plan, plan[-1].at_s + _REST_S, say=False)

    print(result)
    assert [each for each in result.outcomes if each.broken] == []
    assert [each for each in result.jobs if each.broken] == []
    assert [each for each in result.outcomes if each.unhealed] == []
    assert result.wrong == []
    assert result.is_kept
    assert len(result.faults) == len(_KINDS)


def test_a_seed_says_which_fault_comes_when() -> None:
    plan = planned_faults(7, 10)

    assert plan == planned_faults(7, 10)
    assert plan != planned_faults(8, 10)
    assert plan[0].at_s == CALM_S
    assert max(fault.at_s + fault.lasts_s for fault in plan) < 600
    assert {fault.kind for fault in planned_faults(7, 60)} == set(KINDS)


def test_an_answer_says_what_must_be_stored() -> None:
    assert meaning_of(201, b"")[0] is Meaning.ACKNOWLEDGED
    assert meaning_of(503, b"{}")[0] is Meaning.REFUSED
    assert meaning_of(504, b'{"outcome":"unknown"}') == (Meaning.OPEN, "504 unknown")
    assert meaning_of(500, b"")[0] is Meaning.OPEN


def test_rows_are_counted_with_the_fault_before_them() -> None:
    meanings = [
        Meaning.ACKNOWLEDGED,
        Meaning.ACKNOWLEDGED,
        Meaning.REFUSED,
        Meaning.OPEN,
        Meaning.ACKNOWLEDGED,
    ]
    ledger = Ledger([Operation(ROWS, id, id + 1.0, id + 1.5, each, "x") for id, each in enumerate(meanings)])
    stored = StoredData(Counter({0: 1, 2: 1, 3: 2}), set())

    calm, fault = outcomes(ledger, [FaultRecord("kill it", 2.5, 2.6)], 6.0, stored, [], [])

    assert (calm.lost, calm.doubled, calm.stored_though_refused) == (1, 0, 0)
    assert (fault.lost, fault.doubled, fault.stored_though_refused) == (1, 1, 1)
    assert fault.broken == 3


def test_the_longest_pause_is_not_cut_where_the_next_fault_begins() -> None:
    assert longest_pause([0.0, 1.0, 4.0, 5.0], 0.5, 4.5, 6.0, is_healed=True) == 3.0
    assert longest_pause([1.0, 250.0], 10.0, 35.0, 260.0, is_healed=False) == 249.0
    assert longest_pause([], 2.0, 9.0, 20.0, is_healed=False) == 18.0
    assert longest_pause([0.0, 1.0, 2.0, 12.0], 0.5, 2.1, 20.0, is_healed=True) == 1.0, "the next fault's"


def test_a_campaign_in_which_something_did_not_heal_has_failed() -> None:
    """The pool rest connects no more after the first of three faults; everything else goes on."""
    ledger = Ledger()
    for tick in range(300):
        for kind in TIMED:
            meaning = Meaning.REFUSED if kind == ROWS and tick > 50 else Meaning.ACKNOWLEDGED
            ledger.operations.append(Operation(kind, tick, tick, tick + 0.5, meaning, "x"))
    faults = [FaultRecord("kill backend", at, at + 1) for at in (50.0, 75.0, 100.0)]
    stored = StoredData(Counter(range(51)), set(range(300)))

    counted = outcomes(ledger, faults, 300.0, stored, [], [])
    result = Result(counted, [], faults, [], len(ledger.operations), 51, 0)

    assert [each.broken for each in counted] == [0, 0, 0, 0]
    assert [each.unhealed for each in counted] == [[], [ROWS], [ROWS], [ROWS]]
    assert [each.pauses[ROWS] for each in counted[1:]] == [249.5, 249.5, 249.5]
    assert not result.is_kept
    assert "Every promise was kept" not in str(result)


def test_jobs_that_were_refused_lost_or_doubled_break_a_promise_each() -> None:
    runs = [JobRun(1, None, True), JobRun(2, None, True), JobRun(3, None, False)]
    ticks = [Tick(1, 1), Tick(2, 1), Tick(3, 9), Tick(4, None)]

    assert compare_runs(runs, ticks) == ({2}, {2, 3, 4})
    assert not Result([], [JobCounts("messages", 1, set(), set(), {5})], [], [], 1, 0, 0).is_kept


def test_a_mail_that_waited_when_the_store_was_wiped_is_told_apart_from_a_lost_one() -> None:
    mails = [Operation(MAIL, id, id * 10.0, id * 10.0 + 0.1, Meaning.ACKNOWLEDGED, "200") for id in range(5)]
    mails.append(Operation(MAIL, 5, 50.0, 50.1, Meaning.REFUSED, "503"))

    assert lost_mails(mails, {0, 4}, [20.5]) == ({1, 3}, {2})
    assert lost_mails(mails, {0, 4}, []) == ({1, 2, 3}, set())


def test_what_a_follower_missed_is_told_apart_from_what_it_was_told() -> None:
    other = PER_WRITER
    stored = {1, 2, 3, 4, 5, other + 1}

    received = compare([1, GAP, 4, 4, 99], stored, stored)
    assert received.announced == {2, 3}
    assert received.missing == {5, other + 1}
    assert received.doubled == {4}
    assert received.invented == {99}
    assert compare([1, 3, 2, 4, 5, other + 1], stored, stored).disordered == {2}
    assert compare([1, 3, 2, 4, 5, other + 1], stored, stored - {2}).disordered == set()
