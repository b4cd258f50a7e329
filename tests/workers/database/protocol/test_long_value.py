"""Long values against the real server: whole, in bounded memory, broken off where they must be, and never kept for ever."""

import asyncio
import contextlib
import hashlib

import pytest

from tests.workers.database.connections import Events, backend, opened, session_database, until, value, work
from workers.database.connection_pool.open_connections import PoolTimes
from workers.database.connection_pool.pool import PoolState
from workers.database.errors import DatabaseError, Disconnected
from workers.database.protocol import backend_reader, frontend_messages
from workers.database.protocol.long_value import MAX_BUFFERED, MAX_DRAINED, LongValueTimeouts
from workers.database.protocol.postgres_connection import PostgresConnection
from workers.database.transactions.model import Statement, TransactionEnd
from workers.database.transactions.perform import perform, perform_long

PIECE = 512 * 1024
"""Above the longest piece."""
MILLION = "repeat('0123456789', 100000)"


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


def reading(*statements: str | Statement, **options):
    return work(*statements, read_only=True, **options)


def of(size: int, **options):
    """Give the work that reads a value of so many bytes, and its backend's process id before it."""
    text = f"select pg_backend_pid(), left(repeat('0123456789', {size // 10 + 1}), {size})"
    return reading(text, **options)


def begun(size: int, come: int) -> bytes:
    """Give the first bytes of a row of one value of `size` bytes, of which some have come."""
    return b"D" + (size + 10).to_bytes(4, "big") + b"\0\1" + size.to_bytes(4, "big") + b"x" * come


async def whole(long) -> bytes:
    return b"".join([piece async for piece in long])


async def transaction_changed(long) -> tuple[int, Exception | None]:
    """Read until it breaks; give how many bytes came, and why there are no more."""
    received = 0
    try:
        async for piece in long:
            received += len(piece)
    except (DatabaseError, Disconnected) as error:
        return received, error
    return received, None


async def state_of(database, process_id: bytes, column: str) -> object:
    return await database.value(f"select {column} from pg_stat_activity where pid = $1", int(process_id))


async def blocked(database, process_id: bytes) -> None:
    """Wait until a backend waits for us to read."""
    async with asyncio.timeout(60):
        while await state_of(database, process_id, "wait_event") != "ClientWrite":
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("size", [0, 1, 1000, backend_reader.LONG_VALUE])
async def test_a_short_value_comes_with_its_row(database, size):
    async with opened(database.login, 1) as pool:
        results, long = await pool.run_long(of(size))

        assert long is None
        assert results[0][0][1] == (b"0123456789" * (size // 10 + 1))[:size]
        assert pool.state == PoolState(open=1, idle=1, waiting=0)


@pytest.mark.parametrize("size", [backend_reader.LONG_VALUE + 1, 10_000_000])
@pytest.mark.parametrize("isolation", [None, "repeatable read"])
async def test_a_long_value_arrives_whole_in_pieces(database, size, isolation):
    async with opened(database.login, 1) as pool:
        results, long = await pool.run_long(
            reading("select 'before'", *of(size).statements, isolation=isolation)
        )
        pieces = [piece async for piece in long]

        assert results[0] == [(b"before",)]
        assert results[1][0][1] is None
        assert long.size == size
        assert max(map(len, pieces)) <= PIECE
        expected = (b"0123456789" * (size // 10 + 1))[:size]
        assert hashlib.sha256(b"".join(pieces)).digest() == hashlib.sha256(expected).digest()
        assert await backend(pool) == results[1][0][0]
        assert pool.state == PoolState(open=1, idle=1, waiting=0)


async def test_a_value_in_binary_arrives_whole(database):
    async with opened(database.login, 1) as pool:
        statement = Statement(
            "select 1, decode(repeat('00ff7f', 1000000), 'hex')", (), frozenset({1})
        )  # read twice: the first time the columns are asked for
        for _ in range(2):
            _, long = await pool.run_long(reading(statement))

            assert await whole(long) == b"\x00\xff\x7f" * 1_000_000


async def test_only_the_last_value_of_the_last_statement_is_long(database):
    async with opened(database.login, 1) as pool:
        results, long = await pool.run_long(reading(f"select {MILLION}", f"select {MILLION}, 1"))

        assert long is None
        assert [len(results[0][0][0]), len(results[1][0][0])] == [1_000_000, 1_000_000]


async def test_many_long_values_pass_at_a_time(database):
    async with opened(database.login, 3) as pool:

        async def read(number):
            results, long = await pool.run_long(reading(f"select {number}, repeat('{number}', 3000000)"))
            return results[0][0][0], set(await whole(long))

        found = await asyncio.gather(*(read(number) for number in range(9)))

    assert found == [(b"%d" % number, {ord(str(number))}) for number in range(9)]


async def test_a_value_that_nobody_takes_is_not_read_further(database):
    async with opened(database.login, 1) as pool:
        results, long = await pool.run_long(of(50_000_000))

        await blocked(database, results[0][0][0])

        assert MAX_BUFFERED < long._buffered_size <= MAX_BUFFERED + PIECE
        assert pool.state.idle == 0
        assert len(await whole(long)) == 50_000_000


@pytest.mark.parametrize("size", [2_000_000, MAX_DRAINED * 4])
async def test_an_abandoned_value_frees_its_connection(database, size):
    events = Events()
    async with opened(database.login, 1, on_event=events.append) as pool:
        results, long = await pool.run_long(of(size))

        await anext(long)
        await long.aclose()

        again = await backend(pool)
        assert (again == results[0][0][0]) is (size < MAX_DRAINED)
        with pytest.raises(Disconnected):
            await anext(long)


async def test_an_abandoned_value_may_have_been_read(database):
    async with opened(database.login, 1) as pool:
        _, long = await pool.run_long(of(2_000_000))
        await whole(long)

        await long.aclose()

        assert pool.state.idle == 1


async def test_a_reader_that_is_cancelled_frees_the_connection(database):
    async with opened(database.login, 1) as pool:
        is_reading = asyncio.Event()

        async def read():
            _, long = await pool.run_long(of(100_000_000))
            async with contextlib.aclosing(long):
                async for _piece in long:
                    is_reading.set()

        task = asyncio.create_task(read())
        await is_reading.wait()
        task.cancel()

        assert await value(pool, "select 1") == b"1"


async def test_a_caller_cancelled_while_its_answer_comes_leaves_nothing_behind(pipeline):
    lost = []
    pipeline._on_lost = lost.append
    task = asyncio.create_task(perform_long(pipeline, reading("select pg_sleep(60)")))
    await asyncio.sleep(0)

    pipeline.data_received(backend_reader._SETTINGS_APPLIED + begun(50_000_000, 100))
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert lost == [pipeline]


async def test_an_answer_that_comes_for_nobody_is_thrown_away(database):
    async with opened(database.login, 1) as pool:
        task = asyncio.create_task(
            pool.run_long(reading("select pg_sleep(0.3)", "select repeat('0123456789', 2000000)"))
        )
        await until(lambda: pool.state.idle == 0)
        task.cancel()

        with pytest.raises(asyncio.CancelledError):
            await task
        assert await value(pool, "select 1") == b"1"


async def test_an_error_behind_the_row_breaks_the_value_off(pipeline):
    statements = [f"select {MILLION}", "select 1/0"]
    out = []
    for text in statements:
        out.append(frontend_messages.run(pipeline.statements.prepare(text, out).head, ()))
    reply = await pipeline.exchange(out, 0)

    received, error = await transaction_changed(reply.long)

    assert isinstance(error, DatabaseError)
    assert error.code == "22012"
    assert 0 < received < reply.long.size
    assert pipeline.is_settled
    assert await perform(pipeline, work("select 1")) == [[(b"1",)]]


@pytest.mark.parametrize("end", ["commit", "rollback"])
async def test_a_value_of_a_transaction_that_a_statement_ended_breaks_off(pipeline, end):
    out = []
    for text in (f"select {MILLION}", end if end == "rollback" else "begin"):
        out.append(frontend_messages.run(pipeline.statements.prepare(text, out).head, ()))
    reply = await pipeline.exchange(out, 0)

    with pytest.raises(DatabaseError) as caught:
        await whole(reply.long)

    assert caught.value.code == "2D000"


async def test_a_backend_that_ends_breaks_the_value_off(database):
    async with opened(database.login, 1) as pool:
        results, long = await pool.run_long(of(50_000_000))
        await blocked(database, results[0][0][0])

        await database.execute(f"select pg_terminate_backend({int(results[0][0][0])})")
        received, error = await transaction_changed(long)

        assert isinstance(error, DatabaseError | Disconnected)
        assert received < long.size
        assert await value(pool, "select 1") == b"1"


async def test_a_limit_of_time_that_ends_while_the_row_is_sent_does_not_break_it(database):
    async with opened(database.login, 1) as pool:
        slow = of(20_000_000, settings=(("statement_timeout", "1s"),))
        results, long = await pool.run_long(slow)
        await blocked(database, results[0][0][0])
        async with asyncio.timeout(60):
            while not await state_of(
                database, results[0][0][0], "clock_timestamp() - query_start > interval '1.2s'"
            ):
                await asyncio.sleep(0.02)

        assert len(await whole(long)) == 20_000_000
        assert await backend(pool) == results[0][0][0]


async def test_a_statement_cancelled_in_an_explicit_transaction_breaks_its_value_off(database):
    async with opened(database.login, 1) as pool:
        results, long = await pool.run_long(of(50_000_000, isolation="repeatable read"))
        await blocked(database, results[0][0][0])
        await database.execute(f"select pg_cancel_backend({int(results[0][0][0])})")

        with pytest.raises(DatabaseError) as caught:
            await whole(long)

        assert caught.value.code == "57014"
        assert await value(pool, "select 1") == b"1"


async def test_a_limit_of_time_before_the_row_is_an_error(database):
    async with opened(database.login, 1) as pool:
        late = reading(f"select pg_sleep(60), {MILLION}", settings=(("statement_timeout", "20ms"),))

        with pytest.raises(DatabaseError) as caught:
            await pool.run_long(late)
        assert caught.value.code == "57014"
        assert pool.state.idle == 1


async def test_a_reader_that_takes_nothing_loses_the_value_and_the_connection_is_closed(database):
    events = Events()
    times = PoolTimes(long_value_idle=0.1)
    async with opened(database.login, 1, on_event=events.append, times=times) as pool:
        results, long = await pool.run_long(of(50_000_000))
        await anext(long)

        assert await backend(pool) != results[0][0][0]

        with pytest.raises(Disconnected, match=r"took nothing for 0\.1 s"):
            await anext(long)
        assert "lost" in events.kinds()


async def test_a_reader_that_waits_for_the_server_is_not_slow(pipeline):
    task = pipeline._begin(frontend_messages.query("select pg_sleep(60)"), 0)
    pipeline.data_received(begun(600_000, 100))
    long = (await task).long
    assert await anext(long) == b"x" * 100
    waiting = asyncio.ensure_future(anext(long))
    await asyncio.sleep(0)
    long._taken_at -= 3600

    long._check_reader()

    assert pipeline.lost is None
    pipeline.data_received(b"y" * 100)
    assert await waiting == b"y" * 100


async def test_an_abandoned_value_that_does_not_end_closes_its_connection(pipeline):
    pipeline.long_value_timeouts = LongValueTimeouts(after_abandon=0.05)
    task = pipeline._begin(frontend_messages.query("select pg_sleep(60)"), 0)
    pipeline.data_received(begun(600_000, 100))
    reply = await task

    reply.long.abandon()

    await until(lambda: pipeline.lost)
    assert "did not end" in str(pipeline.lost)


async def test_closing_the_pool_breaks_what_is_being_read(database):
    async with opened(database.login, 1) as pool:
        _, long = await pool.run_long(of(50_000_000))

        await pool.close(grace=0.01)

        with pytest.raises(Disconnected, match="closed"):
            await whole(long)


async def test_an_error_before_the_row_is_raised_as_ever(database):
    async with opened(database.login, 1) as pool:
        with pytest.raises(DatabaseError) as caught:
            await pool.run_long(reading("select 1", "select 1/0"))

        assert (caught.value.code, caught.value.statement_index) == ("22012", 1)


async def test_a_stale_statement_is_run_once_more(pipeline):
    for _ in range(2):
        results, long = await perform_long(pipeline, reading(f"select 1, {MILLION}"))
        assert results == [[(b"1", None)]]
        assert len(await whole(long)) == 1_000_000
        await until(lambda: pipeline.is_settled)
        await pipeline.command("deallocate all")


@pytest.mark.parametrize(
    "options",
    [
        {"read_only": False},
        {"end": TransactionEnd.ROLLBACK, "read_only": True},
        {"end": TransactionEnd.DECIDE, "read_only": True},
    ],
)
async def test_work_that_may_write_has_no_long_values(database, options):
    async with opened(database.login, 1) as pool:
        with pytest.raises(ValueError, match="read-only"):
            await pool.run_long(work("select 1", **options))

        assert pool.state.idle == 1
