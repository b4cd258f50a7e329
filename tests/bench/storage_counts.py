"""What a request costs in counts, which a busy machine does not change: statements, WAL, transactions, system calls.

    python -m tests.bench.storage_counts [--workloads upload,upload-user,list-any,download,refresh,user] [--syscalls]
                                         [--seconds 3] [--connections 16]

It starts a platform of its own and prints one line a figure, per request: statements by text (those of triggers and
functions included), inserts into `objects`, WAL records, bytes and fsyncs, commits and rollbacks. With `--syscalls` the
requests run a second time under strace (which needs the right to trace), and its counts by process group are printed.
"""

import argparse
import asyncio
import json
import sys
import urllib.request
from collections import Counter
from collections.abc import Callable
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from tests.bench import cpu
from tests.bench.load import http
from tests.bench.storage_table import Target
from tests.bench.system_calls import counted_calls
from tests.bench.transfer import Exchange, transfer
from tests.platform import Platform, platform

_POLICY = """
create policy bench_all on storage.objects for all to authenticated
using (bucket_id = 'bench') with check (bucket_id = 'bench' and owner_id = (select auth.uid()::text));
create policy bench_public on storage.objects for select to anon using (bucket_id = 'bench');
"""
_SHOWN = 40
_SESSIONS = 32
"""More than connections, so that two refreshes of one session seldom meet."""


class Counts:
    """A platform with a bucket and a user, and a superuser's connection that reads the counters of Postgres."""

    def __init__(self, running: Platform, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        key = running.values["SERVICE_ROLE_KEY"]
        self.platform, self.connection, self._serial = running, connection, 0
        address = ("127.0.0.1", running.port)
        self.service = Target(address, [running.pid], {"apikey": key, "Authorization": f"Bearer {key}"})
        anon = running.values["ANON_KEY"]
        self._once(self.service.post("/storage/v1/bucket", b'{"name":"bench","public":true}'))
        running.psql(_POLICY)
        self.sessions = [self._sign_up(anon, number) for number in range(_SESSIONS)]
        self.session = self.sessions[0]
        user = {"apikey": anon, "Authorization": f"Bearer {self.session['access_token']}"}
        self.user = Target(address, [running.pid], user)

    def _once(self, exchange: Exchange) -> None:
        done = transfer(self.service.address, lambda _: exchange, 1, 0)
        if done.errors:
            raise AssertionError(f"{exchange.head[:100]!r}: {done.statuses}")

    def _sign_up(self, key: str, number: int) -> dict[str, str]:
        body = json.dumps({"email": f"bench{number}@example.com", "password": "long enough 1"}).encode()
        headers = {"apikey": key, "content-type": "application/json"}
        asked = urllib.request.Request(self.platform.url + "/auth/v1/signup", body, headers)
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return json.loads(answer.read())  # type: ignore[no-any-return]  # an object with texts

    def upload(self, target: Target, size: int = 10_000) -> Callable[[int], Exchange]:
        """Return uploads of new objects."""

        def make(_: int) -> Exchange:
            self._serial += 1
            return target.upload(f"/storage/v1/object/bench/new/{self._serial}", size)

        return make

    def download(self) -> Callable[[int], Exchange]:
        """Return downloads of one public object of 10 KB."""
        self._once(self.service.upload("/storage/v1/object/bench/stored", 10_000))
        one = self.service.get("/storage/v1/object/public/bench/stored", 10_000)
        return lambda _: one

    def download_private(self) -> Callable[[int], Exchange]:
        """Return downloads of 10 KB under policies."""
        self._once(self.service.upload("/storage/v1/object/bench/policed", 10_000))
        one = self.user.get("/storage/v1/object/bench/policed", 10_000)
        return lambda _: one

    def list_any(self) -> Callable[[int], Exchange]:
        """Return lists of 100 of 10,000 objects, at any offset."""
        self.platform.psql(
            "insert into storage.objects (bucket_id, name, version, metadata) select 'bench', 'many/' || lpad(n::text, 6, '0'), "
            """gen_random_uuid(), '{"size":1,"mimetype":"text/plain","eTag":"\\"x\\""}' """
            "from generate_series(1, 10000) n on conflict do nothing; analyze storage.objects"
        )
        pages = [
            self.service.post(
                "/storage/v1/object/list/bench", b'{"prefix":"many","limit":100,"offset":%d}' % (n * 100)
            )
            for n in range(100)
        ]
        return lambda number: pages[number % 100]

    def refresh(self) -> Callable[[int], Exchange]:
        """Return refreshes of several sessions: a token that was replaced is accepted again within the reuse interval."""
        bodies = [json.dumps({"refresh_token": one["refresh_token"]}).encode() for one in self.sessions]
        path = "/auth/v1/token?grant_type=refresh_token"
        exchanges = [self._anonymous("POST", path, body) for body in bodies]
        return lambda number: exchanges[number % _SESSIONS]

    def user_of_session(self) -> Callable[[int], Exchange]:
        """Return `GET /user`."""
        one = self.user.get("/auth/v1/user")
        return lambda _: one

    def _anonymous(self, method: str, path: str, body: bytes) -> Exchange:
        headers = {"apikey": self.platform.values["ANON_KEY"]}
        return Exchange(http(method, path, f"127.0.0.1:{self.platform.port}", headers, body))

    async def read(self) -> Counter[str]:
        """Return the counters: statements by text, and those of the server."""
        await asyncio.sleep(1.2)  # backends report their counters at most once a second
        counters: Counter[str] = Counter()
        for text, calls in await self.connection.fetch(
            "select query, calls from extensions.pg_stat_statements where query !~ 'pg_stat'"
        ):
            counters[f"statement {' '.join(text.split())[:110]}"] += calls
            counters["statements"] += calls
        row = await self.connection.fetchrow(
            "select xact_commit, xact_rollback from pg_stat_database where datname = current_database()"
        )
        counters["commits"], counters["rollbacks"] = row["xact_commit"], row["xact_rollback"]
        row = await self.connection.fetchrow(
            "select wal_records, wal_bytes::bigint as wal_bytes, wal_fpi from pg_stat_wal"
        )
        counters |= Counter({f"WAL {name}": value for name, value in row.items()})
        counters["WAL fsyncs"] = await self.connection.fetchval(
            "select sum(fsyncs)::bigint from pg_stat_io where object = 'wal'"
        )
        for table, inserts, updates, deletes in await self.connection.fetch(
            "select relname, n_tup_ins, n_tup_upd, n_tup_del from pg_stat_user_tables"
        ):
            counters |= Counter(
                {
                    f"rows {table} insert": inserts,
                    f"rows {table} update": updates,
                    f"rows {table} delete": deletes,
                }
            )
        return counters


async def count(
    counts: Counts, name: str, make: Callable[[int], Exchange], options: argparse.Namespace
) -> None:
    """Run a workload and print its counters per request."""
    address = counts.service.address
    transfer(address, make, options.connections, 0.5)
    await counts.connection.execute("select extensions.pg_stat_statements_reset()")
    before = await counts.read()
    pids = cpu.groups_of([counts.platform.pid])
    used = cpu.spent(pids)
    done = transfer(address, make, options.connections, options.seconds)
    spent = cpu.difference(used, cpu.spent(pids), pids)
    after = await counts.read()
    print(f"\n== {name}: {done.count} requests, {done.errors} errors, {done.per_second:.0f}/s")
    print(
        "   CPU ms "
        + " ".join(
            f"{group}={value / done.count * 1000:.3f}" for group, value in spent.items() if value > 0.01
        )
    )
    changes = {key: (after[key] - before[key]) / done.count for key in after}
    shown = [(key, value) for key, value in changes.items() if value >= 0.02]
    for key, value in sorted(
        shown, key=lambda pair: (pair[0].startswith("statement "), pair[0].startswith("rows"), -pair[1])
    )[:_SHOWN]:
        print(f"   {value:9.2f}  {key}")
    if options.syscalls:
        _print_syscalls(counts, make, options)
    sys.stdout.flush()


def _print_syscalls(counts: Counts, make: Callable[[int], Exchange], options: argparse.Namespace) -> None:
    def work() -> int:
        return transfer(counts.service.address, make, options.connections, options.seconds).count

    for role, calls in counted_calls(counts.platform.pid, work).items():
        most = " ".join(f"{name}={number:.2f}" for name, number in calls.most_common(12))
        print(f"   {calls.total():9.1f}  syscalls {role}: {most}")


async def main() -> None:
    """Count the workloads that the options name."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--workloads", default="upload,upload-user,list-any,download,download-private,refresh,user"
    )
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--syscalls", action="store_true")
    options = parser.parse_args()
    many = {"HEADWATER_AUTH_RATE_LIMIT_TOKEN_REFRESH": "0", "HEADWATER_AUTH_RATE_LIMIT_SIGN_IN_SIGN_UPS": "0"}
    with platform(environment=many) as running:
        passwords = json.loads((running.data / "passwords.json").read_text())
        parts = urlsplit(running.values["DB_URL"])
        url = urlunsplit(
            parts._replace(netloc=f"supabase_admin:{passwords['database']}@{parts.netloc.rpartition('@')[2]}")
        )
        connection = await asyncpg.connect(url)
        await connection.execute("alter system set pg_stat_statements.track = 'all'")
        await connection.execute("select pg_reload_conf()")
        counts = Counts(running, connection)
        workloads: dict[str, Callable[[], Callable[[int], Exchange]]] = {
            "upload": lambda: counts.upload(counts.service),
            "upload-user": lambda: counts.upload(counts.user),
            "list-any": counts.list_any,
            "download": counts.download,
            "download-private": counts.download_private,
            "refresh": counts.refresh,
            "user": counts.user_of_session,
        }
        for name in options.workloads.split(","):
            await count(counts, name, workloads[name](), options)
        await connection.close()


if __name__ == "__main__":
    asyncio.run(main())
