"""Settings of the embedded Postgres, each against the defaults, in turns on one platform.

    python -m tests.bench.server_settings [--settings "wal_sync_method=open_datasync;update_process_title=off"]
        [--workloads by_pk,insert1,insert1000,upload10k] [--pairs 20] [--seconds 0.8]

A pair is one run with the setting and one without, in changing order; in between the server only reads its configuration again, so
settings that need a restart are rejected (compare two checkouts with `tests.bench.against`). Printed is the CPU of all processes of the
platform per request with the setting, divided by that without: below 1 the setting is cheaper; and rates and bytes of WAL likewise.
The line "none" compares the defaults with themselves: so much is noise. Settings joined by `+` are one candidate.
"""

import argparse
import asyncio
import os
import re
import signal
import statistics
import sys
from collections.abc import Sequence
from typing import Any

import asyncpg

from tests.bench import rest
from tests.bench.load import drive, http
from tests.bench.new_uploads import new_uploads
from tests.bench.table import run
from tests.platform import Platform, platform

_CANDIDATES = (
    "none;wal_sync_method=open_datasync;update_process_title=off;pg_stat_statements.track=none;compute_query_id=off;"
    "wal_compression=lz4;backend_flush_after=256kB;wal_writer_delay=1s;bgwriter_lru_maxpages=0;wal_init_zero=off;wal_recycle=off"
)
_PAIR = re.compile(r"([a-z_.]+)=([A-Za-z0-9_.]+)")


class Server:
    """The platform's Postgres: its configuration file, its process and a connection."""

    def __init__(self, one: Platform) -> None:
        self._one = one
        (self._file,) = one.data.glob("**/postgresql.conf")
        self._text = self._file.read_text()
        self._pid = int((self._file.parent / "postmaster.pid").read_text().split()[0])

    def apply(self, settings: dict[str, str]) -> None:
        """Set what differs from the defaults. Raises: SystemExit where the server does not take it over."""
        more = "".join(f"{name} = '{value}'\n" for name, value in settings.items())
        self._file.write_text(self._text + more)
        os.kill(self._pid, signal.SIGHUP)
        asyncio.run(self._wait(settings))

    def wal_bytes(self) -> int:
        """Return the position of the log."""
        return int(asyncio.run(self._value("select (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint")))

    async def _value(self, query: str, *values: object) -> Any:
        connection = await asyncpg.connect(self._one.values["DB_URL"])
        try:
            return await connection.fetchval(query, *values)
        finally:
            await connection.close()

    async def _wait(self, settings: dict[str, str]) -> None:
        for _ in range(100):
            wrong = [name for name, value in settings.items() if not await self._has(name, value)]
            if not wrong:
                return
            await asyncio.sleep(
                0.05
            )  # a new session has what the postmaster has read, which nothing announces
        raise SystemExit(f"not applied without a restart, or not as written: {', '.join(wrong)}")

    async def _has(self, name: str, value: str) -> bool:
        return value in (
            await self._value("select current_setting($1)", name),
            await self._value("select setting from pg_settings where name = $1", name),
        )


def requests_of(one: Platform) -> dict[str, Sequence[bytes]]:
    """Return what each workload sends: REST as a user, uploads as the service role under new names."""
    host, key = f"127.0.0.1:{one.port}", one.values["SERVICE_ROLE_KEY"]
    found = {name: make() for name, make in rest.workloads(host, {"apikey": one.values["ANON_KEY"]}).items()}
    service = {"apikey": key, "Authorization": f"Bearer {key}"}
    address = ("127.0.0.1", one.port)
    drive(address, [http("POST", "/storage/v1/bucket", host, service, b'{"name":"bench"}')], 1, 0)
    for name, size in (("upload10k", 10_000), ("upload1m", 1_000_000)):
        found[name] = new_uploads(host, key, "bench", size)
    return found


def compare(
    one: Platform,
    server: Server,
    requests: Sequence[bytes],
    settings: dict[str, str],
    options: argparse.Namespace,
) -> str:
    """Return one line: median ratio of CPU with its quartiles, by group, of the rate, and bytes of WAL."""
    sides: tuple[list[dict[str, float]], list[dict[str, float]]] = ([], [])
    for pair in range(options.pairs):
        for side in (0, 1) if pair % 2 else (1, 0):
            server.apply(settings if side else {})
            drive(
                ("127.0.0.1", one.port), requests, options.connections, 0.1
            )  # sessions read it before their next statement
            began = server.wal_bytes()
            outcome, used = run(one, ("127.0.0.1", one.port), requests, options.connections, options.seconds)
            if outcome.errors:
                raise SystemExit(f"{dict(outcome.statuses)}, {outcome.broken} broken")
            wal = (server.wal_bytes() - began) / outcome.good
            sides[side].append(
                {**used, "all": sum(used.values()), "rate": outcome.per_second, "wal": max(wal, 1.0)}
            )
    server.apply({})

    def ratios(name: str) -> list[float]:
        return [with_it[name] / without[name] for without, with_it in zip(*sides, strict=True)]

    low, middle, high = statistics.quantiles(ratios("all"), n=4)
    parts = " ".join(
        f"{name} {statistics.median(ratios(name)):.2f}"
        for name in ("worker", "postgres", "background", "rate", "wal")
    )
    return f"{middle:6.3f} {f'({low:.2f} to {high:.2f})':17} {parts}, {statistics.median(s['all'] for s in sides[0]):.3f} ms"


def main() -> int:
    """Compare the candidates that the options name."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--settings", default=_CANDIDATES)
    parser.add_argument("--workloads", default="insert1,upload10k")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=0.8, help="length of one run")
    options = parser.parse_args()
    with platform() as one:
        asyncio.run(rest.prepare(one.values["DB_URL"]))
        one.wait_for_catalog("items")
        server, known = Server(one), requests_of(one)
        for workload in options.workloads.split(","):
            drive(("127.0.0.1", one.port), known[workload], options.connections, 3.0)
            for candidate in options.settings.split(";"):
                line = compare(one, server, known[workload], dict(_PAIR.findall(candidate)), options)
                print(f"{workload:11}{candidate:42}{line}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
