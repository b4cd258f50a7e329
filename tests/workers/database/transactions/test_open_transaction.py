"""Decisions that want more done in their transaction before it ends."""

import pytest

from tests.workers.database.connections import session_database, work
from workers.database.errors import DatabaseError
from workers.database.protocol.postgres_connection import PostgresConnection
from workers.database.transactions.model import Statement, TransactionEnd
from workers.database.transactions.perform import perform


@pytest.fixture(scope="module")
async def database(server):
    async with session_database(server.url) as made:
        yield made


@pytest.fixture
async def pipeline(database):
    made = await PostgresConnection.connect(database.login)
    yield made
    made.close()
    await made.closed()


class Script:
    """Answers with what comes next, one after the other, and keeps what it was shown."""

    def __init__(self, *answers):
        self.answers, self.seen = list(answers), []

    def __call__(self, results):
        self.seen.append(results)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def numbers(*names):
    return [Statement(f"insert into dialogue values ({name}) returning n") for name in names]


@pytest.fixture
async def table(database):
    owner = await PostgresConnection.connect(database.admin)
    await owner.command(
        "drop table if exists dialogue; create table dialogue (n int unique); grant all on dialogue to public"
    )
    yield owner
    await owner.command("drop table dialogue")
    owner.close()
    await owner.closed()


async def count(owner):
    return (await owner.command("select count(*) from dialogue")).results[0][0][0]


async def test_each_round_sees_what_the_rounds_before_did(pipeline, table):
    script = Script(numbers(2), [Statement("select sum(n) from dialogue", (), frozenset())], True)

    await perform(pipeline, work(*numbers(1), end=TransactionEnd.DECIDE), script)

    assert script.seen == [[[(b"1",)]], [[(b"2",)]], [[(b"3",)]]]
    assert await count(table) == b"2"
    assert pipeline.is_settled


async def test_settings_hold_for_all_rounds(pipeline, table):
    asked = Statement("select current_setting('request.jwt.claims'), current_user")
    script = Script([asked], [asked], True)

    await perform(pipeline, work("select 1", sub=7, end=TransactionEnd.DECIDE), script)

    assert script.seen[1] == script.seen[2] == [[(b'{"sub":"7"}', b"session_member")]]


@pytest.mark.parametrize("last", [False, ValueError("enough")])
async def test_what_is_not_kept_in_the_end_was_never_done(pipeline, table, last):
    script = Script(numbers(2), last)

    if last is False:
        await perform(pipeline, work(*numbers(1), end=TransactionEnd.DECIDE), script)
    else:
        with pytest.raises(ValueError, match="enough"):
            await perform(pipeline, work(*numbers(1), end=TransactionEnd.DECIDE), script)

    assert await count(table) == b"0"
    assert pipeline.is_settled


async def test_an_error_in_a_later_round_undoes_all_and_leaves_the_connection_fit(pipeline, table):
    script = Script(numbers(2, 2), True)

    with pytest.raises(DatabaseError) as caught:
        await perform(pipeline, work(*numbers(1), end=TransactionEnd.DECIDE), script)

    assert caught.value.code == "23505"
    assert await count(table) == b"0"
    assert pipeline.is_settled
    assert await perform(pipeline, work("select 5")) == [[(b"5",)]]


async def test_binary_columns_are_described_where_they_are_first_wanted(pipeline, table):
    statement = Statement("select 1, 258", (), frozenset({1}))
    script = Script([statement, statement], True)

    await perform(pipeline, work("select 1", end=TransactionEnd.DECIDE), script)

    assert script.seen[1] == [[(b"1", b"\x00\x00\x01\x02")]] * 2


async def test_a_round_that_ends_the_transaction_itself_is_refused(pipeline, table):
    script = Script([Statement("commit")], True)

    with pytest.raises(DatabaseError) as caught:
        await perform(pipeline, work(*numbers(1), end=TransactionEnd.DECIDE), script)

    assert caught.value.code == "2D000"
    assert pipeline.is_settled


async def test_a_round_may_want_nothing(pipeline, table):
    script = Script([], True)

    await perform(pipeline, work(*numbers(1), end=TransactionEnd.DECIDE), script)

    assert script.seen[1] == []
    assert await count(table) == b"1"


async def test_parameters_that_cannot_be_sent_undo_all(pipeline, table):
    script = Script([Statement("select $1::text", [b"a\x00b"])], True)

    with pytest.raises(DatabaseError) as caught:
        await perform(pipeline, work(*numbers(1), end=TransactionEnd.DECIDE), script)

    assert caught.value.code == "22021"
    assert await count(table) == b"0"
    assert pipeline.is_settled
