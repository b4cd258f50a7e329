"""What `advisors.list` costs over a catalog of many tables.

    python -m tests.bench.advisors [--tables 500] [--rounds 5]

Every table has ten columns, a primary key, a foreign key without an index, another index and a policy that calls `auth.uid()` once a
row. Milliseconds of wall time, of CPU of this process and of CPU of Postgres; the first round opens connections and is shown alone.
"""

import argparse
import asyncio
import statistics
import time

import asyncpg
import msgspec

from schemas.database_logins import login_passwords
from schemas.keys.secret import Secret
from schemas.settings.tree import Settings
from tests.bench import cpu
from tests.workers.database.server import Server, temporary_server
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.migrations.migrate import migrate
from workers.management.interface.backends.database import ManagementDatabase
from workers.management.interface.backends.platform_pools import PlatformPools
from workers.management.interface.identity.model import Actor
from workers.management.interface.rights import Right
from workers.management.operations.advisors import AdvisorFindings
from workers.management.worker import ManagementWorker

_COLUMNS = ", ".join(f"column_{number} text" for number in range(7))
_OWNER = Actor("bench", Right.OWNER, may_write=True, is_confirmed=True)


async def _make_tables(url: str, count: int) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute("set role postgres")
    for number in range(count):
        name = f"public.table_{number}"
        await connection.execute(
            f"create table {name} (id int primary key, owner uuid, before int references public.table_{max(0, number - 1)}, {_COLUMNS});"
            f" create index on {name} (owner); alter table {name} enable row level security;"
            f" create policy own on {name} for all to authenticated using (owner = auth.uid())"
        )
    await connection.execute("analyze pg_catalog.pg_class, pg_catalog.pg_attribute")
    await connection.close()


async def _round(worker: ManagementWorker, server: Server) -> tuple[float, float, float, int]:
    """Return milliseconds of wall time, of this process and of Postgres, and the number of findings."""
    pids = cpu.groups_of([server.process.pid])
    before, own, start = cpu.spent(pids), time.process_time(), time.perf_counter()
    result = await worker.operate(_OWNER, "advisors.list", b"{}", "bench", "")
    wall, used = time.perf_counter() - start, time.process_time() - own
    pids = cpu.groups_of([server.process.pid])
    after = cpu.spent(pids)
    postgres = cpu.difference(before, after, pids).get("postgres", 0.0)
    assert isinstance(result, AdvisorFindings)
    return wall * 1000, used * 1000, postgres * 1000, len(result.findings) + result.omitted


async def main(tables: int, rounds: int) -> None:
    """Print the figures."""
    with temporary_server() as server:
        await migrate(server.url(), Settings())
        await _make_tables(server.url(), tables)
        database = msgspec.structs.replace(Settings().db, url=Secret(server.url()))
        settings = msgspec.structs.replace(Settings(), db=database)
        passwords = login_passwords(settings)
        pools: list[ConnectionPool] = []

        def url_of(login: str) -> str:
            return server.url(login, passwords[login].reveal())

        async def open_pool(login: str) -> ConnectionPool:
            pools.append(await ConnectionPool.open(url_of(login), 2))
            return pools[-1]

        worker = ManagementWorker.create(ManagementDatabase(open_pool, url_of), settings, PlatformPools(None))
        first, *others = [await _round(worker, server) for _ in range(rounds + 1)]
        print(f"{tables} tables, {first[3]} findings; ms of wall time, Python, Postgres")
        print("first   " + "  ".join(f"{value:7.0f}" for value in first[:3]))
        for name, chosen in (("median", statistics.median), ("least ", min)):
            print(
                f"{name}  " + "  ".join(f"{chosen(row[place] for row in others):7.0f}" for place in range(3))
            )
        for pool in pools:
            await pool.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    asyncio.run(main(options.tables, options.rounds))
