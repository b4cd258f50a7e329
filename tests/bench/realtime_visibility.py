"""Who may see a row: 1,000 groups x 50 rows by SQL, the same by rules, and the time that recognition takes.

    python -m tests.bench.realtime_visibility [GROUPS [ROWS]]

Postgres, the pool and this process share the machine's cores. CPU is that of all of them.
"""

import asyncio
import resource
import sys
import time
import uuid
from collections.abc import Awaitable, Callable

import msgspec
import psutil

from schemas.realtime import TableQuery, VisibilityQuery
from schemas.realtime_rules import may_see, read_claims
from schemas.settings.tree import Settings
from tests.workers.database.server import Server, connected, temporary_server
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.migrations.migrate import migrate
from workers.realtime.metrics import RealtimeMetrics
from workers.realtime.recognition import PolicyColumn, PolicyScope, recognise
from workers.realtime.tables import describe_table
from workers.realtime.visibility import find_visible

_POLICIES = {
    "recognised": "owner = ( SELECT auth.uid() AS uid)",
    "by SQL": "owner = ( SELECT auth.uid() AS uid) OR length(title) > 90",
}
_LONG = (
    "(((owner = ( SELECT auth.uid() AS uid)) AND (open = true)) OR ((tenant = ((auth.jwt() -> 'app_metadata'::text)"
    " ->> 'tenant'::text)) AND (status = ANY (ARRAY['a'::text, 'b'::text, 'c'::text]))) OR (EXISTS ( SELECT 1"
    " FROM public.members m WHERE ((m.id = t.id) AND (m.who = auth.uid())))))"
)


async def main() -> None:
    """Run and print."""
    groups, rows = (int(one) for one in (*sys.argv[1:], *("1000", "50")[len(sys.argv) - 1 :]))
    with temporary_server() as server:
        await migrate(server.url(), Settings())
        pool = await ConnectionPool.open(server.url("authenticator", Settings().db.password.reveal()), 4)
        for name, policy in _POLICIES.items():
            await _measure(server, pool, name, policy, groups, rows)
        await pool.close()
    _recognition()


async def _measure(
    server: Server, pool: ConnectionPool, name: str, policy: str, groups: int, rows: int
) -> None:
    table, users = f"t_{uuid.uuid4().hex[:8]}", [str(uuid.uuid4()) for _ in range(groups)]
    async with connected(server.url()) as admin:
        await admin.execute(
            f"create table {table} (id int8 primary key, owner uuid, title text); alter table {table} enable row level security;"
            f"grant select on {table} to authenticated; create policy p on {table} using ({policy})"
        )
        owners = [(number, users[number % groups], "x") for number in range(100 * rows)]
        await admin.copy_records_to_table(table, records=owners, columns=["id", "owner", "title"])
        await admin.execute(f"analyze {table}")
    claims = [msgspec.json.encode({"sub": user, "role": "authenticated"}) for user in users]
    logged: list[list[bytes | None]] = [
        [b"%d" % number, b'"%b"' % users[number % groups].encode(), b'"x"'] for number in range(rows)
    ]
    callers = [("authenticated", one) for one in claims]
    asked = VisibilityQuery("public", table, ["id"], logged, callers, ["owner", "title"])
    found = await find_visible(pool, asked, RealtimeMetrics())
    best = await _timed(server, lambda: find_visible(pool, asked, RealtimeMetrics()))
    described = await describe_table(pool, TableQuery("authenticated", "public", table), RealtimeMetrics())
    took, cpu = best
    print(
        f"{name:>11}: {groups} groups x {rows} rows by SQL {took * 1e3:7.1f} ms, CPU {cpu * 1e6 / groups:5.0f} us a group,"
        f" {rows / took:7.0f} changes/s"
    )
    read = [read_claims(one) or {} for one in claims]
    values = [
        {"id": b"%d" % number, "owner": b'"%b"' % users[number % groups].encode()} for number in range(rows)
    ]
    began = time.perf_counter()
    seen = [bytes(bool(may_see(described.rule, row, one)) for row in values) for one in read]
    took = time.perf_counter() - began
    print(
        f"{'':>11}  by its rule {took * 1e6 / groups / rows:.2f} us a row and group, {type(described.rule).__name__}"
    )
    if name == "recognised" and seen != found.groups:
        raise AssertionError("the rule and SQL disagree")


async def _timed(server: Server, run: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """Give the best wall clock seconds of some runs, and the CPU seconds of all processes in it."""
    best = (1e9, 0.0)
    for _ in range(5):
        cpu, began = _cpu(server), time.perf_counter()
        await run()
        best = min(best, (time.perf_counter() - began, _cpu(server) - cpu))
    return best


def _cpu(server: Server) -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = psutil.Process(server.process.pid).children()
    times = [child.cpu_times() for child in children]
    return own.ru_utime + own.ru_stime + sum(one.user + one.system for one in times)


def _recognition() -> None:
    columns = {"owner": "uuid", "open": "boolean", "tenant": "text", "status": "text", "title": "text"}
    scope = PolicyScope({name: PolicyColumn(kind) for name, kind in columns.items()}, "authenticated")
    for name, text in {"short": _POLICIES["recognised"], "long": _LONG}.items():
        began = time.perf_counter()
        for _ in range(1000):
            rule = recognise(text, scope)
        print(
            f"recognition of a {name} policy: {(time.perf_counter() - began) * 1e3:.0f} us ({type(rule).__name__})"
        )


if __name__ == "__main__":
    asyncio.run(main())
