"""Who puts the cause of a write into the log: a trigger of the table, or the worker by one more statement.

    python -m tests.bench.cause_writes [--seconds 1.5] [--rounds 7]

An update of one row by key, and a read of one, by the workers' own connections, with the settings of a request. The ways run in turns; CPU
microseconds of this process (a worker's part: signing and the protocol) and of the server's processes, medians of the rounds.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable

import asyncpg
import psutil
import uvloop

from schemas.causes import SETTING, SignedCause, sign_cause
from schemas.settings.tree import Settings
from tests.bench import cpu
from tests.workers.database.server import migrated_server
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.transactions.model import Statement, TransactionSpec

_ROWS = 1000
_KEY = b"k" * 32
_SCHEMA = f"""
set synchronous_commit = off;
create table public.plain (id int primary key, note text, n int not null default 0);
insert into public.plain (id, note) select i, repeat('x', 100) from generate_series(1, {_ROWS}) as i;
create table public.traced (like public.plain including all);
insert into public.traced select * from public.plain;
alter table public.plain replica identity full;
select headwater.history_on('public.traced'::regclass, 30);
create table public.empty (like public.plain including all);
insert into public.empty select * from public.plain;
alter table public.empty replica identity full;
create function public.do_nothing() returns trigger language plpgsql as $$ begin return null; end $$;
create trigger nothing before insert or update or delete or truncate on public.empty for each statement execute function public.do_nothing();
grant all on public.empty to service_role;
grant all on public.plain, public.traced to service_role;
"""
_MESSAGE = "select pg_catalog.pg_logical_emit_message(true, 'headwater.cause', $1)"
_CONCURRENCY = 4


def _settings() -> list[tuple[str, str]]:
    return [
        ("search_path", '"public"'), ("role", "service_role"), ("synchronous_commit", "off"),
        ("request.jwt.claims", '{"role":"service_role"}'), ("request.method", "PATCH"), ("request.path", "/plain"),
    ]  # fmt: skip


def _cause(number: int) -> str:
    nonce = f"0123456789abcdef{number:x}"
    return sign_cause(
        _KEY,
        SignedCause(nonce, int(time.time() * 1000), "request", "service_role", "", "rest", "PATCH /plain"),
    )


def _update(table: str, number: int) -> Statement:
    text = f"update public.{table} set n = $1 where id = $2"
    return Statement(text, (str(number).encode(), str(number % _ROWS + 1).encode()))


def _read(table: str, number: int) -> TransactionSpec:
    text = f"select to_json(t) from public.{table} as t where id = $1"
    return TransactionSpec(
        _settings(), [Statement(text, (str(number % _ROWS + 1).encode(),))], read_only=True
    )


_WAYS: dict[str, Callable[[int], TransactionSpec]] = {
    "a write without a cause": lambda number: TransactionSpec(_settings(), [_update("plain", number)]),
    "a write, by the trigger": lambda number: TransactionSpec(
        [*_settings(), (SETTING, _cause(number))], [_update("traced", number)]
    ),
    "a write, signed alone": lambda number: TransactionSpec(
        [*_settings(), (SETTING, _cause(number))], [_update("plain", number)]
    ),
    "a write, an empty trigger": lambda number: TransactionSpec(
        [*_settings(), (SETTING, _cause(number))], [_update("empty", number)]
    ),
    "a write, by the worker": lambda number: TransactionSpec(
        _settings(), [_update("plain", number), Statement(_MESSAGE, (_cause(number).encode(),))]
    ),
    "a read, without a history": lambda number: _read("plain", number),
    "a read, with a history": lambda number: _read("traced", number),
}


async def measure(superuser_url: str, url: str, seconds: float, rounds: int) -> None:
    """Run the ways in turns and print the medians."""
    connection = await asyncpg.connect(superuser_url)
    await connection.execute(_SCHEMA)
    backend = psutil.Process(await connection.fetchval("select pg_backend_pid()"))
    postmaster = psutil.Process(backend.ppid())
    pool = await ConnectionPool.open(url, _CONCURRENCY)
    figures: dict[str, list[tuple[float, float]]] = {name: [] for name in _WAYS}
    try:
        for _ in range(rounds):
            for name, way in _WAYS.items():
                figures[name].append(await _round(way, pool.run, seconds, postmaster))
    finally:
        await pool.close()
        await connection.close()
    for name, found in figures.items():
        own, theirs = (statistics.median(column) for column in zip(*found, strict=True))
        least = min(one + other for one, other in found)
        print(
            f"{name:28} worker {own:6.1f} us, Postgres {theirs:6.1f} us, both {own + theirs:6.1f} (least {least:.1f})"
        )


async def _round(
    way: Callable[[int], TransactionSpec],
    run: Callable[[TransactionSpec], Awaitable[object]],
    seconds: float,
    postmaster: psutil.Process,
) -> tuple[float, float]:
    count = 0
    end = time.perf_counter() + seconds

    async def caller(number: int) -> None:
        nonlocal count
        while time.perf_counter() < end:
            number += _CONCURRENCY
            await run(way(number))
            count += 1

    server = {child.pid: "postgres" for child in postmaster.children()}
    own, theirs = time.process_time(), sum(cpu.spent(server).values())
    await asyncio.gather(*(caller(number) for number in range(_CONCURRENCY)))
    own, theirs = time.process_time() - own, sum(cpu.spent(server).values()) - theirs
    return own / count * 1e6, theirs / count * 1e6


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with migrated_server() as server:
        url = server.url("postgres", Settings().db.password.reveal())
        uvloop.run(measure(server.url(), url, options.seconds, options.rounds))


if __name__ == "__main__":
    main()
