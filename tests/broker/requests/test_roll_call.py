from hypothesis import given
from hypothesis import strategies as st

from broker.requests.roll_call import GHOST_S, LEAVING, SETTLE_S, SILENT_S, MemberRoll, RollCallReply

_LATER = SETTLE_S + 1


def _roll(*members: str) -> MemberRoll:
    roll = MemberRoll(since=0)
    for member in members:
        roll.record(RollCallReply("rest", member, 0, []))
    return roll


def _round(roll: MemberRoll, calls: list[str], answers: dict[str, list[str]]) -> list[str]:
    question = roll.start_round(calls)
    for member, held in answers.items():
        roll.record(RollCallReply("rest", member, question.round, held))
    return roll.close_round(_LATER)


def test_a_call_that_a_member_holds_is_not_lost() -> None:
    roll = _roll("a", "b")

    assert _round(roll, ["x"], {"a": ["x"], "b": []}) == []
    assert _round(roll, ["x"], {"a": ["x"], "b": []}) == []


def test_a_call_that_all_deny_twice_is_lost() -> None:
    roll = _roll("a", "b")

    assert _round(roll, ["x"], {"a": [], "b": []}) == []
    assert _round(roll, ["x"], {"a": [], "b": []}) == ["x"]


def test_members_are_named_while_nats_may_know_one_that_is_not_there() -> None:
    """A call that all members disclaim went to a connection that is dead and not found to be yet."""
    roll = _roll("a", "b")
    assert not roll.must_name(_LATER)

    for _ in range(2):
        _round(roll, ["x"], {"a": [], "b": []})

    assert roll.must_name(_LATER + GHOST_S - 0.1)
    assert not roll.must_name(_LATER + GHOST_S)


def test_a_silent_member_may_hold_the_call() -> None:
    roll = _roll("a", "b")

    for _ in range(5):
        assert _round(roll, ["x"], {"a": []}) == []


def test_calls_of_a_member_that_stays_silent_are_lost_and_rounds_are_decided_without_it() -> None:
    roll = _roll("a", "b")
    question = roll.start_round(["x", "y"])
    roll.record(RollCallReply("rest", "b", question.round, ["y"]))
    assert roll.close_round(_LATER) == []
    question = roll.start_round(["x", "y", "z"])
    roll.record(RollCallReply("rest", "a", question.round, ["x"]))
    assert roll.close_round(_LATER) == []  # from here on member b is silent

    lost = []
    for after in (SILENT_S / 2, SILENT_S, SILENT_S + 0.1):
        question = roll.start_round(["x", "y", "z"])
        roll.record(RollCallReply("rest", "a", question.round, ["x"]))
        lost.append(sorted(roll.close_round(_LATER + after)))

    assert lost == [[], ["y"], ["z"]]  # nobody claims z: it takes two rounds
    assert roll.answering(_LATER + SILENT_S) == ["a"]


def test_a_member_that_answers_again_is_silent_no_more() -> None:
    roll = _roll("a")
    roll.start_round(["x"])
    roll.close_round(_LATER)
    assert roll.silent(_LATER + SILENT_S) == {"a"}

    roll.record(RollCallReply("rest", "a", 1, ["x"]))

    assert roll.silent(_LATER + SILENT_S) == set()


def test_a_round_in_which_nobody_was_asked_makes_no_member_silent() -> None:
    roll = _roll("a")
    roll.start_round([], is_asked=False)

    assert roll.close_round(_LATER) == []
    assert roll.silent(_LATER + 2 * SILENT_S) == set()
    for after in (SILENT_S, SILENT_S + 0.1, SILENT_S + 0.2):  # member a is busy and has not replied yet
        roll.start_round(["x"])
        assert roll.close_round(_LATER + after) == []


def test_silence_is_measured_anew_after_the_caller_was_held_up() -> None:
    roll = _roll("a")
    roll.start_round(["x"])
    roll.close_round(_LATER)

    roll.excuse_silence()

    assert roll.silent(_LATER + SILENT_S) == set()


def test_a_member_that_leaves_is_given_nothing_by_name() -> None:
    roll = _roll("a", "b")

    roll.record(RollCallReply("rest", "a", LEAVING, []))

    assert roll.answering(_LATER) == ["b"]


def test_a_call_is_lost_at_once_with_the_member_that_claimed_it() -> None:
    roll = _roll("a", "b")
    _round(roll, ["x", "y"], {"a": ["x"], "b": ["y"]})

    assert roll.remove("a") == ["x"]
    assert roll.remove("a") == []


def test_a_member_that_is_gone_is_not_waited_for() -> None:
    roll = _roll("a", "b")
    roll.remove("b")

    assert _round(roll, ["x"], {"a": []}) == []
    assert _round(roll, ["x"], {"a": []}) == ["x"]


def test_a_late_answer_to_an_earlier_question_denies_nothing() -> None:
    roll = _roll("a")
    early = roll.start_round([])
    for _ in range(3):
        roll.start_round(["x"])
        roll.record(RollCallReply("rest", "a", early.round, []))
        assert roll.close_round(_LATER) == []


def test_a_new_asker_gives_nothing_up_before_members_had_time_to_be_known() -> None:
    roll = MemberRoll(since=0)
    for _ in range(4):
        roll.start_round(["x"])
        assert roll.close_round(SETTLE_S / 2) == []


def test_a_claim_takes_earlier_denials_back() -> None:
    roll = _roll("a")
    _round(roll, ["x"], {"a": []})
    _round(roll, ["x"], {"a": ["x"]})

    assert _round(roll, ["x"], {"a": []}) == []


@given(
    st.dictionaries(st.sampled_from("abcd"), st.sets(st.sampled_from("uvwxyz")), min_size=1),
    st.lists(st.sets(st.sampled_from("abcd")), min_size=1, max_size=6),
)
def test_no_call_in_the_hands_of_a_living_member_is_ever_lost(
    held: dict[str, set[str]], rounds: list[set[str]]
) -> None:
    """Whoever answers in whichever round: members tell the truth, so what one holds stays."""
    roll = _roll(*held)
    calls = sorted("uvwxyz")
    safe = set().union(*held.values())

    lost = {
        call
        for answering in rounds
        for call in _round(roll, calls, {member: sorted(held[member]) for member in answering & held.keys()})
    }

    assert not lost & safe
