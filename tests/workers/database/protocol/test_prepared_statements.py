from workers.database.protocol import frontend_messages
from workers.database.protocol.prepared_statements import PreparedStatements


def test_known_statements_need_no_parse():
    statements, out = PreparedStatements(2), []

    first = statements.prepare("select 1", out)
    statements.confirm_parsed(1)
    again = statements.prepare("select 1", out)

    assert first is again
    assert out == [frontend_messages.parse(first.name, "select 1")]


def test_evicted_statements_are_closed_at_the_head_of_the_next_exchange():
    statements, out = PreparedStatements(2), []
    first = statements.prepare("select 1", out)
    statements.prepare("select 2", out)
    statements.prepare("select 1", out)

    statements.prepare("select 3", out)

    assert len(statements) == 2
    second = statements.take_due_closes()
    assert len(second) == 1
    assert second != [frontend_messages.close(first.name)]
    assert statements.take_due_closes() == []


def test_statements_that_were_not_confirmed_are_asked_for_again():
    statements, out = PreparedStatements(9), []
    statements.prepare("select 1", out)
    statements.prepare("select 2", out)

    statements.confirm_parsed(1)
    statements.prepare("select 1", out)
    statements.prepare("select 2", out)

    assert len(out) == 3
