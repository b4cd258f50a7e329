"""What one transaction as the caller costs: asyncpg in four round trips against the pipeline in one.

    python -m tests.bench.session [--seconds 2] [--repeat 3] [--concurrency 16] [--url postgresql://...]

A read by primary key among 10,000 rows (and one of 10 rows under row level security), built as JSON by Postgres, with
seven settings and a read-only transaction each. Variants run in turns in one process; CPU microseconds a query of this
process and of the server's processes, and queries a second. Every answer is compared with the row it asked for.
Without `--url` it starts a server of its own.
"""

import argparse
import asyncio
import contextlib
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import asyncpg
import psutil
import uvloop

from tests.bench import cpu
from tests.workers.database.own_server import own_server
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.transactions.model import Statement, TransactionSpec

ROWS = 10_000
OWNERS = 1_000

_SCHEMA = f"""
drop schema if exists bench_session cascade;
create schema bench_session;
create table bench_session.items (id int primary key, name text not null, price numeric not null, note text);
insert into bench_session.items select n, 'item ' || n, n % 100, 'note ' || n from generate_series(1, {ROWS}) n;
create table bench_session.notes (id int primary key, owner int not null, body text not null);
insert into bench_session.notes select n, n % {OWNERS}, 'body ' || n from generate_series(1, {ROWS}) n;
create index on bench_session.notes (owner);
alter table bench_session.notes enable row level security;
create policy own on bench_session.notes
    using (owner = (select (current_setting('request.jwt.claims')::json ->> 'sub')::int));
do $$ begin create role bench_session_caller; exception when duplicate_object then null; end $$;
grant usage on schema bench_session to bench_session_caller;
grant select on all tables in schema bench_session to bench_session_caller;
vacuum analyze bench_session.items, bench_session.notes;
"""

_BY_KEY = "select coalesce(json_agg(t), '[]') from (select * from items where id = $1) t"
_UNDER_RLS = "select coalesce(json_agg(t), '[]') from (select id, body from notes where owner + 0 * $1::int = owner order by id) t"
_SET = f"select {', '.join(f'set_config(${2 * n + 1}, ${2 * n + 2}, true)' for n in range(7))}"

Run = Callable[[int], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to run the query `key`, and what the answer must hold."""

    name: str
    run: Run
    expected: Callable[[int], bytes]


def settings(key: int) -> list[tuple[str, str]]:
    """Give the seven settings of a request."""
    claims = f'{{"sub":"{key % OWNERS}","role":"bench_session_caller","email":"someone@example.com","aud":"authenticated"}}'
    return [
        ("search_path", '"bench_session", "public"'),
        ("role", "bench_session_caller"),
        ("request.jwt.claims", claims),
        ("request.method", "GET"),
        ("request.path", "/items"),
        ("request.headers", '{"accept":"application/json","user-agent":"bench","x-client-info":"bench/1"}'),
        ("request.cookies", "{}"),
    ]


async def as_usual(
    connections: asyncio.LifoQueue["asyncpg.Connection[asyncpg.Record]"], text: str, key: int
) -> bytes:
    """Run the query with asyncpg on a held connection: begin, settings, query, commit."""
    connection = await connections.get()
    try:
        async with connection.transaction(readonly=True):
            await connection.fetchrow(_SET, *(part for pair in settings(key) for part in pair))
            found: str = await connection.fetchval(text, key)
            return found.encode()
    finally:
        connections.put_nowait(connection)


async def in_one(pool: ConnectionPool, text: str, key: int) -> bytes:
    """Run the query with the pipeline."""
    work = TransactionSpec(settings(key), [Statement(text, (str(key).encode(),))], read_only=True)
    found = (await pool.run(work))[0][0][0]
    assert found is not None
    return found


def expected_item(key: int) -> bytes:
    """Give the first bytes of the answer by key."""
    return f'[{{"id":{key},'.encode()


def expected_notes(key: int) -> bytes:
    """Give the first bytes of the answer under row level security: the owner's first note."""
    return f'[{{"id":{key % OWNERS or OWNERS},'.encode()


@contextlib.asynccontextmanager
async def variants(url: str, concurrency: int) -> AsyncIterator[list[Variant]]:
    """Open the connections and give the variants."""
    connections: asyncio.LifoQueue[asyncpg.Connection[asyncpg.Record]] = asyncio.LifoQueue()
    held = [await asyncpg.connect(url) for _ in range(concurrency)]
    for connection in held:
        connections.put_nowait(connection)
    pool = await ConnectionPool.open(url, concurrency)
    try:
        yield [
            Variant("by key, asyncpg", lambda key: as_usual(connections, _BY_KEY, key), expected_item),
            Variant("by key, pipeline", lambda key: in_one(pool, _BY_KEY, key), expected_item),
            Variant("RLS, asyncpg", lambda key: as_usual(connections, _UNDER_RLS, key), expected_notes),
            Variant("RLS, pipeline", lambda key: in_one(pool, _UNDER_RLS, key), expected_notes),
        ]
    finally:
        await pool.close()
        for connection in held:
            await connection.close()


async def measure(
    variant: Variant, seconds: float, concurrency: int, postmaster: psutil.Process
) -> tuple[float, float, float]:
    """Run a variant for a time; give CPU us a query of this process and of the server, and queries a second."""
    count = 0
    end = time.perf_counter() + seconds

    async def caller(number: int) -> None:
        nonlocal count
        key = number
        while time.perf_counter() < end:
            key = (key + 7919) % ROWS + 1
            answer = await variant.run(key)
            assert answer.startswith(variant.expected(key)), (key, answer)
            count += 1

    await asyncio.gather(*(variant.run(1 + number) for number in range(concurrency)))
    server = {child.pid: "postgres" for child in postmaster.children()}
    begun, own, theirs = time.perf_counter(), time.process_time(), sum(cpu.spent(server).values())
    await asyncio.gather(*(caller(number) for number in range(concurrency)))
    took = time.perf_counter() - begun
    own, theirs = time.process_time() - own, sum(cpu.spent(server).values()) - theirs
    return own / count * 1e6, theirs / count * 1e6, count / took


async def compare(url: str, seconds: float, repeat: int, concurrency: int) -> None:
    """Run every variant in turn, `repeat` times, and print the medians."""
    connection = await asyncpg.connect(url)
    await connection.execute(_SCHEMA.rpartition("vacuum")[0])
    await connection.execute(_SCHEMA[_SCHEMA.index("vacuum") :])
    backend = psutil.Process(await connection.fetchval("select pg_backend_pid()"))
    postmaster = psutil.Process(backend.ppid())
    async with variants(url, concurrency) as ways:
        found: dict[str, list[tuple[float, float, float]]] = {way.name: [] for way in ways}
        for _ in range(repeat):
            for way in ways:
                found[way.name].append(await measure(way, seconds, concurrency, postmaster))
    print(
        f"{'concurrency ' + str(concurrency):24}{'client us':>10}{'postgres us':>13}{'total us':>10}{'q/s':>9}"
    )
    for name, figures in found.items():
        own, theirs, rate = (statistics.median(column) for column in zip(*figures, strict=True))
        print(f"{name:24}{own:10.1f}{theirs:13.1f}{own + theirs:10.1f}{rate:9.0f}")
    await connection.execute("drop schema bench_session cascade; drop role bench_session_caller")
    await connection.close()


async def main(url: str | None, seconds: float, repeat: int, concurrency: int) -> None:
    """Compare on the server of the URL, or on one of our own."""
    if url is not None:
        await compare(url, seconds, repeat, concurrency)
        return
    async with own_server() as server:
        await compare(server.url, seconds, repeat, concurrency)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="a superuser's, of a server on this machine")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--concurrency", type=int, default=16)
    given = parser.parse_args()
    uvloop.run(main(given.url, given.seconds, given.repeat, given.concurrency))
