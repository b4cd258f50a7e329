from workers.database.protocol import frontend_messages
from workers.database.protocol.prepared_statements import MAX_CHARACTERS, PreparedStatements


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


def test_the_texts_of_prepared_statements_have_a_length():
    statements, out = PreparedStatements(), []
    texts = [f"select {number:060000}" for number in range(40)]

    for text in texts:
        statements.prepare(text, out)
        statements.confirm_parsed(1)

    assert len(statements) == MAX_CHARACTERS // len(texts[0])
    assert len(statements.take_due_closes()) == 40 - len(statements)
    assert statements.is_prepared(texts[-1], columns=False)
    assert not statements.is_prepared(texts[0], columns=False)


def test_statements_of_the_exchange_that_is_made_are_not_closed_before_it():
    statements, out = PreparedStatements(), []
    texts = [f"select {number:060000}" for number in range(40)]

    for text in texts:
        statements.prepare(text, out)

    assert statements.take_due_closes() == []
    statements.confirm_parsed(40)
    statements.prepare("select 1", out)
    assert len(statements) == MAX_CHARACTERS // len(texts[0]) + 1


def test_statements_that_fail_leave_no_length_behind():
    statements, out = PreparedStatements(), []
    for number in range(40):
        statements.prepare(f"select {number:060000}", out)
        statements.confirm_parsed(0)

    statements.prepare("select 1", out)

    assert statements.take_due_closes() == []


def test_a_long_statement_is_not_kept():
    statements, out = PreparedStatements(), []
    long = f"select {1:070000}"

    first = statements.prepare(long, out)
    short = statements.prepare("select 1", out)
    statements.confirm_parsed(1)  # the long one: what comes behind it was skipped
    statements.store_column_count(long, 1)
    statements.prepare(long, out)

    assert first.name == b""
    assert short.name != b""
    assert len(statements) == 0
    assert statements.columns == {long: 1}
    statements.confirm_parsed(1)
    assert statements.columns == {}
