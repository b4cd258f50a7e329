"""One caller's slow queries beside another caller's fast reads: what the reader waits, and how the slow ones are answered.

    python -m tests.bench.fairness [--slow 1500] [--slow-callers 1] [--seconds 30] [--sleep 60] [--readers user,address,key]

It starts a platform of its own. `--slow` queries are sent at once, each on a connection of its own, by `--slow-callers` users;
each would take `--sleep` seconds, and `statement_timeout` (8 s for signed-in users) ends it. Meanwhile every reader reads one
row after the other: another user, a client without a token from another address, a server with the secret key. A reader that
gets no answer to a request for `--seconds` counts that time as its latency.
"""

import argparse
import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import asyncpg
import jwt

from tests.bench.load import http
from tests.platform import MANY_CLIENTS, Platform, platform

_SCHEMA = """
create table public.shelf (id int primary key, name text);
insert into public.shelf select n, 'row ' || n from generate_series(1, 1000) n;
grant select on public.shelf to anon, authenticated, service_role;
create function public.slow(seconds float8) returns int language sql as 'select 1 from pg_sleep(seconds)';
notify pgrst;
"""
_PAUSE_S = 0.02
_ANOTHER_ADDRESS = "127.0.0.2"
_LONGEST_S = 90.0


@dataclass(slots=True)
class Caller:
    """Who sends requests: the headers that say so, and the address they come from."""

    name: str
    headers: dict[str, str]
    address: str = "127.0.0.1"


@dataclass(slots=True)
class Answers:
    """Answers of one kind of caller: seconds until each, by status; 0 is a connection that broke or an answer that never came."""

    by_status: dict[int, list[float]] = field(default_factory=dict)

    def add(self, status: int, seconds: float) -> None:
        """Note one answer."""
        self.by_status.setdefault(status, []).append(seconds)

    @property
    def seconds(self) -> list[float]:
        """Return the times of all answers, shortest first."""
        return sorted(second for seconds in self.by_status.values() for second in seconds)


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return a percentile of ordered numbers: `0.5` is the median."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else float("nan")


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> int:
    """Send one request and read its answer; return the status."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line[15:])
        elif line.startswith(b"transfer-encoding:"):
            while await reader.readuntil(b"\r\n") != b"0\r\n":
                pass
            await reader.readuntil(b"\r\n")
    await reader.readexactly(length)
    return int(head[9:12])


async def ask_slowly(one: Platform, caller: Caller, seconds: float, answers: Answers) -> None:
    """Send one slow query on a connection of its own."""
    host = f"127.0.0.1:{one.port}"
    request = http("POST", "/rest/v1/rpc/slow", host, caller.headers, b'{"seconds":%g}' % seconds)
    reader, writer = await asyncio.open_connection("127.0.0.1", one.port)
    began, status = time.monotonic(), 0
    with contextlib.suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
        async with asyncio.timeout(_LONGEST_S):
            status = await exchange(reader, writer, request)
    answers.add(status, time.monotonic() - began)
    writer.close()


async def read_fast(one: Platform, caller: Caller, seconds: float, answers: Answers) -> None:
    """Read one row after the other for so long, on one connection."""
    host = f"127.0.0.1:{one.port}"
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        reader, writer = await asyncio.open_connection("127.0.0.1", one.port, local_addr=(caller.address, 0))
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while time.monotonic() < end:
                number += 1
                request = http("GET", f"/rest/v1/shelf?id=eq.{number % 1000 + 1}", host, caller.headers)
                began, status = time.monotonic(), 0
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        status = await exchange(reader, writer, request)
                answers.add(status, time.monotonic() - began)
                if not status:
                    break
                await asyncio.sleep(_PAUSE_S)
        writer.close()


def callers(one: Platform, names: Sequence[str]) -> list[Caller]:
    """Return the readers of these names."""
    anonymous = {"apikey": one.values["ANON_KEY"]}
    known = {
        "user": Caller("user", user_headers(one, "reader")),
        "address": Caller("address", anonymous, _ANOTHER_ADDRESS),
        "key": Caller("key", {"apikey": one.values["SERVICE_ROLE_KEY"]}),
    }
    return [known[name] for name in names]


def user_headers(one: Platform, sub: str) -> dict[str, str]:
    """Return the headers of a signed-in user."""
    claims = {"role": "authenticated", "sub": sub}
    token = jwt.encode(claims, one.values["JWT_SECRET"], algorithm="HS256")
    return {"apikey": one.values["ANON_KEY"], "Authorization": f"Bearer {token}"}


async def measure(one: Platform, options: argparse.Namespace) -> None:
    """Send the slow queries and read beside them; print what came of both."""
    connection = await asyncpg.connect(one.values["DB_URL"])
    await connection.execute(_SCHEMA)
    await connection.close()
    await asyncio.to_thread(one.wait_for_catalog, "shelf")
    readers = callers(one, options.readers.split(","))
    quiet = [(caller, Answers()) for caller in readers]
    await asyncio.gather(*(read_fast(one, caller, 2.0, answers) for caller, answers in quiet))
    print("readers alone")
    for caller, answers in quiet:
        show_reader(caller, answers)
    slow, beside = Answers(), [(caller, Answers()) for caller in readers]
    users = [Caller("slow", user_headers(one, f"slow-{n}")) for n in range(options.slow_callers)]
    asking = [
        asyncio.ensure_future(ask_slowly(one, users[n % len(users)], options.sleep, slow))
        for n in range(options.slow)
    ]
    await asyncio.gather(*(read_fast(one, caller, options.seconds, answers) for caller, answers in beside))
    await asyncio.gather(*asking)
    print(f"readers beside {options.slow} slow queries of {options.slow_callers} user(s)")
    for caller, answers in beside:
        show_reader(caller, answers)
    print("slow queries")
    for status, seconds in sorted(slow.by_status.items()):
        ordered = sorted(seconds)
        print(
            f"  status {status}: {len(ordered):5}   answered after s: p50 {percentile(ordered, 0.5):6.2f}"
            f"  p99 {percentile(ordered, 0.99):6.2f}  max {ordered[-1]:6.2f}"
        )


def show_reader(caller: Caller, answers: Answers) -> None:
    """Print the line of one reader."""
    ordered = answers.seconds
    statuses = Counter({status: len(seconds) for status, seconds in answers.by_status.items()})
    print(
        f"  {caller.name:8} p50 {percentile(ordered, 0.5) * 1000:8.1f} ms  p99 {percentile(ordered, 0.99) * 1000:9.1f} ms"
        f"  max {(ordered[-1] if ordered else float('nan')) * 1000:9.1f} ms  {dict(statuses)}"
    )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--slow", type=int, default=1500, help="slow queries, sent at once")
    parser.add_argument("--slow-callers", type=int, default=1, help="users that send them")
    parser.add_argument("--sleep", type=float, default=60.0, help="seconds that a slow query would take")
    parser.add_argument("--seconds", type=float, default=30.0, help="length of the reading")
    parser.add_argument("--readers", default="user,address,key", help="user, address, key")
    options = parser.parse_args()
    with platform(environment=MANY_CLIENTS) as one:
        asyncio.run(measure(one, options))


if __name__ == "__main__":
    main()
