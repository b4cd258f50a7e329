"""Bodies made of rows: the same bytes from memory and from a file, bounded, and nothing left behind."""

import asyncio
import itertools
import os
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workers.database.connections import backend, opened, session_database, until, work
from workers.database.connection_pool.pool import PoolState
from workers.database.errors import DatabaseError, Disconnected
from workers.database.protocol import backend_reader, row_body
from workers.database.protocol.backend_reader import BackendReader
from workers.database.protocol.row_body import MAX_IN_MEMORY, BodyNotStored, BodySpace, GatheredRows, RowBody
from workers.database.transactions.model import Statement


class Line(asyncio.Transport):
    """A connection that notes whether it is read from."""

    is_read = True

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True

    def is_closing(self) -> bool:
        return False


@pytest.fixture(scope="module")
async def database(server):
    async with session_database(server.url) as made:
        yield made


async def read(body: bytes | RowBody) -> bytes:
    if isinstance(body, bytes):
        return body
    expected = body.size
    whole = b"".join([piece async for piece in body])
    assert len(whole) == expected
    return whole


def rows_of(count: int, size: int, *, before: str = "", rows: str = "") -> Statement:
    """Return a statement whose rows are numbers filled up to a size, and its trailer."""
    made = rows or f"select lpad(n::text, {size}, 'x'), null from generate_series(1, {count}) n"
    return Statement(f"{before}{made} union all select null, 'trailer'", separator=b", ")


def filled(count: int, size: int) -> bytes:
    return b", ".join(str(n).encode().rjust(size, b"x") for n in range(1, count + 1))


async def test_long_rows_go_to_a_file_and_come_back() -> None:
    space, line = BodySpace(), Line()
    body = RowBody(b"|", space, line)
    rows = [os.urandom(100_000) for _ in range(50)]
    for row in rows:
        body.add([row])
        while not line.is_read:
            await asyncio.sleep(0)
    await body.complete()

    assert space.used > 4_000_000
    assert (body.count, await read(body.wrap(b"<", b">"))) == (50, b"<" + b"|".join(rows) + b">")
    assert space.used == 0


async def test_reading_from_the_connection_pauses_while_the_disk_is_slow() -> None:
    line = Line()
    body = RowBody(b"", BodySpace(), line)
    for _ in range(3):
        body.add([bytes(MAX_IN_MEMORY + 1)])

    assert not line.is_read
    await body.complete()
    assert line.is_read
    body.abandon()


@given(rows=st.lists(st.binary(max_size=60), max_size=30), cuts=st.lists(st.integers(0, 5000), max_size=12))
@settings(max_examples=150)
def test_rows_are_gathered_however_the_network_cuts_them(rows: list[bytes], cuts: list[int]) -> None:
    async def run() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(backend_reader, "LONG_VALUE", 24)
            data = _answer(rows)
            places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
            reader = BackendReader()
            reader.gathered_result, body = 1, RowBody(b",", BodySpace(), Line())
            reader.row_sink = body
            done = [reader.feed(data[a:b]) for a, b in itertools.pairwise(places)]

            assert (done[-1], any(done[:-1])) == (True, False)
            assert reader.results == [[(b"own",)], [(None, b"trailer", None)]]
            assert (body.count, body.wrap(b"", b"")) == (len(rows), b",".join(rows))

    asyncio.run(run())


def _answer(rows: list[bytes]) -> bytes:
    def message(kind: bytes, content: bytes = b"") -> bytes:
        return kind + (len(content) + 4).to_bytes(4, "big") + content

    def row(*cells: bytes | None) -> bytes:
        parts = [
            b"\xff\xff\xff\xff" if cell is None else len(cell).to_bytes(4, "big") + cell for cell in cells
        ]
        return message(b"D", len(cells).to_bytes(2, "big") + b"".join(parts))

    own = message(b"1") + message(b"2") + row(b"own") + message(b"C", b"SELECT 1\0")
    gathered = b"".join(row(each, None, None) for each in rows) + row(None, b"trailer", None)
    return own + gathered + message(b"C", b"SELECT 2\0") + message(b"Z", b"I")


@pytest.mark.parametrize(("count", "size"), [(0, 1), (1, 10), (2000, 100), (50_000, 120), (3, 2_000_000)])
async def test_rows_of_the_server_become_a_body(database, count: int, size: int) -> None:
    space = BodySpace()
    async with opened(database.login, 1, body_space=space) as pool:
        (rows,), long = await pool.run_long(work(rows_of(count, size), read_only=True))

        assert isinstance(rows, GatheredRows)
        assert (list(rows), long, rows.body.count) == ([(None, b"trailer")], None, count)
        assert pool.state == PoolState(open=1, idle=1, waiting=0)  # before the body is read
        await rows.body.complete()
        assert await read(rows.body.wrap(b"[", b"]")) == b"[" + filled(count, size) + b"]"
    assert space.used == 0


async def test_an_error_behind_many_rows_is_an_error_and_leaves_nothing(database) -> None:
    failing = "select lpad((1 / (60000 - n))::text, 100, 'x'), null from generate_series(1, 60000) n"
    space = BodySpace()
    async with opened(database.login, 1, body_space=space) as pool:
        with pytest.raises(DatabaseError) as caught:
            await pool.run_long(work(rows_of(0, 0, rows=failing), read_only=True))

        assert caught.value.code == "22012"
        await until(lambda: space.used == 0)
        (rows,), _ = await pool.run_long(work(rows_of(2, 3), read_only=True))
        assert rows.body.wrap(b"", b"") == b"xx1, xx2"


async def test_a_statement_that_takes_too_long_amid_its_rows_is_an_error(database) -> None:
    slow = "select lpad(n::text, 1000, 'x') || coalesce(case when n > 5000 then pg_sleep(0.001) end::text, ''), null from generate_series(1, 9000000) n"
    async with opened(database.login, 1) as pool:
        with pytest.raises(DatabaseError) as caught:
            await pool.run_long(
                work(rows_of(0, 0, rows=slow), read_only=True, settings=(("statement_timeout", "300"),))
            )

    assert caught.value.code == "57014"


async def test_a_caller_that_goes_away_amid_the_rows_frees_connection_and_disk(database) -> None:
    space = BodySpace()
    async with opened(database.login, 1, body_space=space) as pool:
        endless = "select lpad(generate_series(1, 90000000)::text, 1000, 'x'), null"
        asking = asyncio.create_task(pool.run_long(work(rows_of(0, 0, rows=endless), read_only=True)))
        await until(lambda: space.used > 5_000_000)
        asking.cancel()

        await until(lambda: pool.state.idle == 1 or pool.state.open == 0)
        await until(lambda: space.used == 0)


@pytest.mark.parametrize(
    ("most", "most_each", "is_too_long"), [(1 << 30, 3_000_000, True), (3_000_000, 1 << 30, False)]
)
async def test_what_exceeds_a_bound_is_not_stored(
    database, most: int, most_each: int, is_too_long: bool
) -> None:
    space = BodySpace(None, most, most_each)
    async with opened(database.login, 1, body_space=space) as pool:
        (rows,), _ = await pool.run_long(work(rows_of(50_000, 120), read_only=True))
        with pytest.raises(BodyNotStored) as caught:
            await rows.body.complete()

        assert (caught.value.is_too_long, rows.body.count, space.used) == (is_too_long, 50_000, 0)
        assert pool.state.idle == 1


async def test_long_bodies_leave_room_for_shorter_ones() -> None:
    space = BodySpace(None, most=10 << 20)
    bodies = [RowBody(b"", space, Line()) for _ in range(4)]
    for body in bodies:
        for _ in range(9):
            body.add([bytes(MAX_IN_MEMORY + 1)])
            while body._file_work is not None:
                await asyncio.sleep(0)
    short = RowBody(b"", space, Line())
    short.add([bytes(MAX_IN_MEMORY + 1)])

    await short.complete()
    assert 5 << 20 < space.used < 10 << 20
    for body in (*bodies, short):
        body.abandon()


async def test_a_disk_that_takes_nothing_is_an_error(database, tmp_path) -> None:
    space = BodySpace(str(tmp_path / "missing"))
    async with opened(database.login, 1, body_space=space) as pool:
        (rows,), _ = await pool.run_long(work(rows_of(50_000, 120), read_only=True))
        with pytest.raises(BodyNotStored, match="disk"):
            await rows.body.complete()

    assert space.used == 0


async def test_a_reader_that_takes_nothing_loses_the_body(monkeypatch) -> None:
    monkeypatch.setattr(row_body, "READER_S", 0.05)
    space = BodySpace()
    body = RowBody(b"", space, Line())
    for _ in range(4):
        body.add([bytes(MAX_IN_MEMORY + 1)])
        await body.complete()
    pieces: AsyncIterator[bytes] = aiter(body.wrap(b"", b""))  # type: ignore[arg-type]  # it is too long for bytes
    await anext(pieces)

    await until(lambda: space.used == 0)
    with pytest.raises(Disconnected, match="took nothing"):
        await anext(pieces)


async def test_a_body_that_is_dropped_unread_gives_its_space_back() -> None:
    space = BodySpace()
    body = RowBody(b"", space, Line())
    body.add([bytes(MAX_IN_MEMORY + 1)])
    await body.complete()
    assert space.used > MAX_IN_MEMORY

    del body

    await until(lambda: space.used == 0)


async def test_the_server_process_stays_small(database) -> None:
    """`json_agg` of the same rows takes several times their size: 60 MB make 200 MB in the server's process."""
    rows = "select row_to_json(r)::text, null from (select n, repeat(md5(n::text), 30) from generate_series(1, 60000) n) r"
    async with opened(database.login, 1) as pool:
        process_id = int(await backend(pool))
        before = _peak_mb(process_id)
        (gathered,), _ = await pool.run_long(work(rows_of(0, 0, rows=rows), read_only=True))
        await gathered.body.complete()
        assert gathered.body.size > 55_000_000
        gathered.body.abandon()

        assert _peak_mb(process_id) - before < 20


def _peak_mb(process_id: int) -> float:
    """Return the peak of a process' memory, shared buffers included."""
    with open(f"/proc/{process_id}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) / 1024
