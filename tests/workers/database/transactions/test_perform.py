import pytest

from tests.workers.database.connections import session_database, work
from workers.database.errors import DatabaseError
from workers.database.protocol.postgres_connection import PostgresConnection
from workers.database.transactions.model import Statement, TransactionEnd
from workers.database.transactions.perform import _NOT_CLEAN, perform


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


class Writes:
    """Counts what is written to a connection, on the way to it."""

    def __init__(self, pipeline):
        self.count = 0
        self._begin, pipeline._begin = pipeline._begin, self

    def __call__(self, data, *options):
        self.count += 1
        return self._begin(data, *options)


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({}, 1),
        ({"read_only": True}, 1),
        ({"isolation": "serializable"}, 1),
        ({"end": TransactionEnd.ROLLBACK}, 1),
        ({"end": TransactionEnd.DECIDE}, 2),
    ],
)
async def test_a_work_is_one_write_and_a_decision_one_more(pipeline, options, count):
    writes = Writes(pipeline)

    decide = (lambda _: True) if options.get("end") is TransactionEnd.DECIDE else None
    await perform(pipeline, work("select 1", "select 2", **options), decide)

    assert writes.count == count


async def test_a_statement_in_binary_is_described_once(pipeline):
    writes, statement = Writes(pipeline), Statement("select 1, 2", (), frozenset({1}))

    await perform(pipeline, work(statement, statement))
    await perform(pipeline, work(statement))

    assert writes.count == 3


async def test_a_session_with_temporary_objects_is_cleaned_and_the_work_run_once_more(pipeline):
    await perform(pipeline, work("select leave_temporary('secret')"))
    writes = Writes(pipeline)

    await perform(pipeline, work("select 1"))
    first = writes.count
    await perform(pipeline, work("select leave_temporary('secret')", "select 1"))
    await perform(pipeline, work("select 1"))

    assert (first, writes.count) == (3, 5)


async def test_operators_of_other_schemas_do_not_reach_the_guard(database):
    await database.execute(
        """
        create schema trap;
        create function trap.differs(text, text) returns boolean language plpgsql as
            $$ begin raise exception 'trapped as %', current_user; end $$;
        create operator trap.<> (function = trap.differs, leftarg = text, rightarg = text);
        grant usage on schema trap to public;
        alter role session_login set search_path = trap, pg_catalog, public;
        """
    )
    try:
        pipeline = await PostgresConnection.connect(database.login)
        assert await perform(pipeline, work("select 1")) == [[(b"1",)]]
        pipeline.close()
        await pipeline.closed()
    finally:
        await database.execute("alter role session_login reset search_path")


async def test_a_caller_who_raises_the_alarm_himself_is_not_heard(pipeline):
    text = f"do $$ begin raise exception '{_NOT_CLEAN}: temporary objects'; end $$"

    with pytest.raises(DatabaseError) as caught:
        await perform(pipeline, work(text))

    assert caught.value.code == "P0001"
    assert not pipeline.has_temporary


async def test_a_connection_that_breaks_while_it_rolls_back_leaves_the_error_as_it_was(pipeline, database):
    def decide(_):
        pipeline.terminate("for the test")
        raise LookupError("the reason")

    with pytest.raises(LookupError, match="the reason"):
        await perform(pipeline, work("select 1", end=TransactionEnd.DECIDE), decide)


async def test_long_statements_run_without_being_kept(pipeline):
    """In text and binary, with others before and behind them."""
    long = Statement(f"select 1, 2 /* {'x' * 70_000} */", (), frozenset({1}))
    short, spec = Statement("select 3"), [long, Statement(long.text), Statement("select 3"), long]

    for _ in range(2):
        rows = await perform(pipeline, work(short, *spec))

    assert [row[0][0] for row in rows[1:4:2]] == [b"1", b"3"]
    assert rows[1][0][1] == rows[4][0][1] == b"\0\0\0\2"
    assert not pipeline.statements.is_prepared(long.text, columns=False)
    assert pipeline.statements.is_prepared("select 3", columns=False)
    assert long.text not in pipeline.statements.columns
