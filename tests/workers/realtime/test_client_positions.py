"""Positions of clients as a member of the pool remembers them: who gets which, once, for how long, and how many."""

from typing import Literal

from schemas.changes import Position
from schemas.realtime import ClientPosition, ClientPositions, PositionAnswer, PositionQuery
from workers.realtime.client_positions import RememberedPositions

ADA, BOB = b"ada", b"bob"
NOTHING = PositionAnswer()


def report(
    edge: str,
    number: int,
    lsn: int = 5,
    state: Literal["live", "broken", "left"] = "broken",
    client: bytes = ADA,
) -> ClientPositions:
    return ClientPositions(edge, [ClientPosition(number, client, Position(lsn), state)])


def remembered(*reports: ClientPositions, window_s: float = 60, most: int = 100) -> RememberedPositions:
    positions = RememberedPositions(window_s, most)
    for at, each in enumerate(reports):
        positions.update(each, float(at))
    return positions


def use(positions: RememberedPositions, answer: PositionAnswer, edge: str = "e9") -> None:
    """Report that a channel of an edge goes on from an answer."""
    positions.update(ClientPositions(edge, [], [(answer.edge, answer.number)]), 9)


def test_a_position_is_used_by_one_client() -> None:
    positions = remembered(report("e1", 1), report("e1", 2, client=BOB))

    ada = positions.take(PositionQuery("e1", ADA), 9)
    assert ada == PositionAnswer(Position(5), "e1", 1)
    use(positions, ada)
    assert positions.take(PositionQuery("e1", ADA), 9) == NOTHING
    bob = positions.take(PositionQuery("e2", BOB), 9)
    assert bob == PositionAnswer(Position(5), "e1", 2)
    use(positions, bob)
    assert len(positions) == 0


def test_a_position_that_was_answered_but_not_used_is_answered_again() -> None:
    positions = remembered(report("e1", 1), report("e2", 2, 7, "live"))

    answers = [positions.take(PositionQuery("e3", ADA), 9) for _ in range(2)]

    # The one that is not lent comes first; the position is always the lowest of all.
    assert answers == [PositionAnswer(Position(5), "e1", 1), PositionAnswer(Position(5), "e2", 2)]
    use(positions, answers[1])
    assert positions.take(PositionQuery("e3", ADA), 9) == answers[0]


def test_clients_that_look_the_same_all_go_on_from_the_lowest_position() -> None:
    positions = remembered(report("e1", 1, 30), report("e1", 2, 10), report("e2", 3, 20))

    answers = [positions.take(PositionQuery("e1", ADA), 9) for _ in range(3)]
    for answer in answers:
        use(positions, answer)
    answers.append(positions.take(PositionQuery("e1", ADA), 9))

    assert [answer.position for answer in answers] == [Position(10)] * 3 + [None]
    assert {answer.number for answer in answers[:3]} == {1, 2, 3}


def test_an_open_channel_of_the_edge_that_asks_is_never_given_and_one_of_another_edge_only_without_broken_ones() -> (
    None
):
    positions = remembered(report("e1", 1, 5, "live"), report("e2", 2, 6, "broken"))

    answer = positions.take(PositionQuery("e2", ADA), 9)
    assert answer == PositionAnswer(Position(6), "e2", 2)
    use(positions, answer)
    assert positions.take(PositionQuery("e1", ADA), 9) == NOTHING
    assert positions.take(PositionQuery("e2", ADA), 9) == PositionAnswer(Position(5), "e1", 1)


def test_a_channel_that_was_left_or_taken_elsewhere_is_forgotten() -> None:
    positions = remembered(
        report("e1", 1), report("e1", 2), report("e1", 1, 7, "left"), ClientPositions("e9", [], [("e1", 2)])
    )

    assert positions.take(PositionQuery("e1", ADA), 9) == NOTHING


def test_a_position_is_forgotten_when_the_window_is_over_since_its_last_report() -> None:
    positions = remembered(report("e1", 1), report("e1", 2, client=BOB), window_s=10)
    positions.update(report("e1", 1, 8), 9)

    assert positions.take(PositionQuery("e1", BOB), 12) == NOTHING
    assert positions.take(PositionQuery("e1", ADA), 19) == PositionAnswer(Position(8), "e1", 1)


def test_of_too_many_positions_those_that_were_reported_first_are_forgotten() -> None:
    positions = remembered(*(report("e1", number, client=b"%d" % number) for number in range(9)), most=3)

    assert len(positions) == 3
    assert positions.take(PositionQuery("e1", b"5"), 9) == NOTHING
    assert positions.take(PositionQuery("e1", b"6"), 9).number == 6


def test_nothing_is_remembered_while_it_is_switched_off() -> None:
    assert len(remembered(report("e1", 1), window_s=0)) == 0
