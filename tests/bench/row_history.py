"""History of rows: processor time of a write with and without it, and how fast versions are stored.

    python -m tests.bench.row_history [--writes 2000] [--rounds 5]

Rounds without and with a history take turns on one platform: PATCH of one row each, by eight clients. First the writer's side alone: nothing
consumes the stream, so the difference is what signing, the trigger, the message in the log and the full replica identity take (edges, pools,
their sessions in Postgres). Then everything: the reader of the log and the consumer with its session as well.
"""

import argparse
import asyncio
import json
import os
import statistics
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import aiohttp
import asyncpg

from tests.platform import Platform, platform

_CLIENTS, _ROWS = 8, 1000
_SCHEMA = f"""
create table public.orders (id int primary key, note text, n int not null default 0, at timestamptz not null default now());
insert into public.orders (id, note) select i, repeat('x', 100) from generate_series(1, {_ROWS}) as i;
grant all on public.orders to service_role;
"""
_WRITERS = frozenset({"edges", "pools", "sessions of authenticator"})
"""What a write waits for."""
_LOGINS = ("authenticator", "headwater_scheduler", "supabase_replication_admin")


async def measure(writes: int, rounds: int, *, consumes: bool) -> None:
    """Measure and print; `consumes`: versions are written too."""
    environment = {"HEADWATER_HISTORY_ENABLED": "true" if consumes else "false"}
    with platform(environment=environment) as running:
        running.psql(_SCHEMA)
        running.wait_for_catalog("orders")
        costs: dict[tuple[bool, str], list[float]] = defaultdict(list)
        await _write(running, writes)  # warms up
        for _ in range(rounds):
            for is_on in (False, True):
                await _switch(running, is_on=is_on, consumes=consumes)
                before = await _cpu_s(running)
                begun = time.monotonic()
                await _write(running, writes)
                stored_after_s = await _wait_until_stored(running, begun) if is_on and consumes else 0.0
                after = await _cpu_s(running)
                for part in after:
                    spent = sum(value - before[part].get(pid, 0.0) for pid, value in after[part].items())
                    costs[is_on, part].append(spent / writes * 1e6)
                if stored_after_s:
                    print(
                        f"{writes} versions stored {writes / stored_after_s:.0f} a second from the first write on"
                    )
    title = "everything" if consumes else "the writer's side"
    for part in sorted({part for _, part in costs}):
        without, with_history = (statistics.median(costs[key, part]) for key in (False, True))
        if max(without, with_history) >= 1:
            print(f"{title}: {part}: {without:.0f} us a write without, {with_history:.0f} us with")
    counted = {part for _, part in costs} if consumes else _WRITERS
    totals = [
        [sum(costs[is_on, part][number] for part in counted) for number in range(rounds)]
        for is_on in (False, True)
    ]
    without, with_history = (statistics.median(total) for total in totals)
    print(
        f"{title}: {without:.0f} us without, {with_history:.0f} us with history ({with_history / without:.3f})"
    )


async def _switch(running: Platform, *, is_on: bool, consumes: bool) -> None:
    """Switch the history; without a consumer by the function that it calls."""
    if consumes:
        words = ["on", "orders"] if is_on else ["off", "orders"]
        await asyncio.to_thread(running.command, "history", *words)
    else:
        connection = await asyncpg.connect(running.login_url("headwater_scheduler"))
        try:
            if is_on:
                await connection.fetchval("select headwater.history_on('public.orders'::regclass, 30)")
            else:
                await connection.fetch(
                    "select headwater.history_off(id) from headwater_history.tables where is_on"
                )
        finally:
            await connection.close()
    await asyncio.sleep(2)  # the workers read the catalog again; they do not say when they have


async def _write(running: Platform, writes: int) -> None:
    key = running.values["SERVICE_ROLE_KEY"]
    headers = {"apikey": key, "authorization": f"Bearer {key}", "prefer": "return=minimal"}
    async with aiohttp.ClientSession(headers=headers) as session:

        async def change(client: int) -> None:
            for number in range(writes // _CLIENTS):
                row = (number * _CLIENTS + client) % _ROWS + 1
                url = f"{running.url}/rest/v1/orders?id=eq.{row}"
                async with session.patch(url, json={"n": number}) as answer:
                    assert answer.status == 204, await answer.text()

        await asyncio.gather(*(change(client) for client in range(_CLIENTS)))


async def _wait_until_stored(running: Platform, begun: float) -> float:
    """Wait until everything that is committed is stored; return the seconds since `begun`."""
    connection = await asyncpg.connect(running.login_url("headwater_management"))
    try:
        reached = await connection.fetchval("select (pg_current_wal_lsn() - '0/0')::int8")
        while True:
            newest = await connection.fetchval(
                "select max(lsn) from headwater_history.versions where table_id is not null"
            )
            count = await connection.fetchval(
                "select count(*) from headwater_history.versions where lsn > $1", reached - 4096
            )
            if newest is not None and (newest >= reached - 4096 or count):
                return time.monotonic() - begun
            await asyncio.sleep(0.05)  # between two questions: the consumer says nothing
    finally:
        await connection.close()


async def _cpu_s(running: Platform) -> dict[str, dict[int, float]]:
    """Return the processor time so far of the processes that take part: part -> process id -> seconds."""
    state = json.loads((running.data / "state.json").read_text())
    pids = {
        child["name"]: [int(child["pid"])]
        for child in state["children"]
        if child["name"] in ("edges", "pools", "changes") and child["pid"]
    }
    connection = await asyncpg.connect(running.login_url("headwater_management"))
    try:
        for login in _LOGINS:
            rows = await connection.fetch("select pid from pg_stat_activity where usename = $1", login)
            pids[f"sessions of {login}"] = [int(row[0]) for row in rows]
    finally:
        await connection.close()
    return {
        part: {pid: spent for pid in own if (spent := _spent_s(pid)) is not None}
        for part, own in pids.items()
    }


def _spent_s(pid: int) -> float | None:
    with suppress(FileNotFoundError, ProcessLookupError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return None


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--writes", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    for consumes in (False, True):
        asyncio.run(measure(arguments.writes, arguments.rounds, consumes=consumes))


if __name__ == "__main__":
    main()
