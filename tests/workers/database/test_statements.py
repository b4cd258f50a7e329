from workers.database import wire
from workers.database.statements import Statements


def test_known_statements_need_no_parse():
    statements, out = Statements(2), []

    first = statements.find("select 1", out)
    statements.settle(1)
    again = statements.find("select 1", out)

    assert first is again
    assert out == [wire.parse(first.name, "select 1")]


def test_evicted_statements_are_closed_at_the_head_of_the_next_exchange():
    statements, out = Statements(2), []
    first = statements.find("select 1", out)
    statements.find("select 2", out)
    statements.find("select 1", out)

    statements.find("select 3", out)

    assert len(statements) == 2
    second = statements.leave()
    assert len(second) == 1
    assert second != [wire.close(first.name)]
    assert statements.leave() == []


def test_statements_that_were_not_confirmed_are_asked_for_again():
    statements, out = Statements(9), []
    statements.find("select 1", out)
    statements.find("select 2", out)

    statements.settle(1)
    statements.find("select 1", out)
    statements.find("select 2", out)

    assert len(out) == 3
