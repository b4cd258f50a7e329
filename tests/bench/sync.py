"""Shapes against the same rows by other ways, and many clients that wait for one change.

    python -m tests.bench.sync [--rows 100000] [--waiting 2000] [--rounds 5] [--shapes 1000] [--writes 200]

first      a new shape of ten columns, from the first request to up-to-date, beside `COPY TO STDOUT` and REST's JSON in turns
second     another client of the same shape
waiting    long polls on one shape, and one commit: when the first, the middle and the last were answered, and the edge's memory for each
memory     what the pool's process grows by while a new shape is read, and the folder of the shapes beside the bytes that were read
shapes     processor time of the pool for a commit that one shape wants, beside 10 shapes and beside many, each with its own equality
confirmed  from the answer of a write to the poll that names its transaction, one client on a platform that does nothing else
"""

import argparse
import asyncio
import statistics
import subprocess
import time
from urllib.parse import urlsplit

import aiohttp
import asyncpg
import psutil

from tests.platform import MANY_CLIENTS, Platform, platform

_TABLE = """
drop table if exists public.wide;
create table public.wide (
  id bigint primary key, a text, b text, c int, d int, e bool, f timestamptz, g numeric, h uuid, i text
);
insert into public.wide
select n, md5(n::text), 'name ' || n, n, n * 2, n % 2 = 0, now(), n * 1.5, gen_random_uuid(), repeat('x', 20)
from generate_series(1, {rows}) as n;
grant all on public.wide to service_role;
"""
_SETTINGS = {
    **MANY_CLIENTS,
    "HEADWATER_SYNC_MAX_WAITING_PER_CALLER": "0",
    "HEADWATER_SYNC_MAX_SHAPES_PER_CALLER": "100000",
    "HEADWATER_API_MAX_ROWS": "1000000",
}
_COMMITS = 50
_LEARNT_S = 5.0
"""By then the shapes that the first change woke know their keys; they do not say so."""
_PLAIN = {"Accept-Encoding": "identity"}


async def copied(database: asyncpg.Connection) -> float:
    """Return the seconds of COPY."""

    async def drop(_: bytes) -> None:
        return None

    began = time.perf_counter()
    await database.copy_from_query("select * from public.wide", output=drop)
    return time.perf_counter() - began


async def read_by_rest(session: aiohttp.ClientSession, url: str) -> float:
    """Return the seconds of REST's JSON."""
    began = time.perf_counter()
    async with session.get(f"{url}/rest/v1/wide", headers=_PLAIN) as answer:
        await answer.read()
    return time.perf_counter() - began


async def read_shape(session: aiohttp.ClientSession, url: str, where: str) -> float:
    """Return the seconds from the first request to up-to-date."""
    began, offset, handle = time.perf_counter(), "-1", ""
    while True:
        query = {"table": "wide", "where": where, "offset": offset} | ({"handle": handle} if handle else {})
        async with session.get(f"{url}/sync/v1/shape", params=query, headers=_PLAIN) as answer:
            await answer.read()
            answer.raise_for_status()
            offset, handle = answer.headers["electric-offset"], answer.headers["electric-handle"]
            if "electric-up-to-date" in answer.headers:
                return time.perf_counter() - began


async def first_and_second(one: Platform, rounds: int) -> None:
    """Print the figures of a first and a second client."""
    database = await asyncpg.connect(one.values["DB_URL"])
    took: dict[str, list[float]] = {"COPY": [], "REST": [], "first": [], "second": []}
    async with aiohttp.ClientSession(headers={"apikey": one.values["SERVICE_ROLE_KEY"]}) as session:
        for number in range(rounds):
            took["COPY"].append(await copied(database))
            took["REST"].append(await read_by_rest(session, one.url))
            took["first"].append(await read_shape(session, one.url, f"id > -{number + 1}"))
            took["second"].append(await read_shape(session, one.url, f"id > -{number + 1}"))
    await database.close()
    middle = {name: statistics.median(values) for name, values in took.items()}
    for name, value in middle.items():
        print(
            f"{name:8} {1000 * value:7.0f} ms  {value / middle['COPY']:5.1f} x COPY  {value / middle['REST']:5.2f} x REST"
        )


def pool_process(one: Platform) -> psutil.Process:
    """Return the process of the pool `sync`."""
    [found] = [
        child
        for child in psutil.Process(one.pid).children(recursive=True)
        if child.cmdline()[-1:] == ["sync"]
    ]
    return found


async def memory(one: Platform) -> None:
    """Print what the pool grows by while a shape is read, and what is on the disk afterwards."""
    process, is_read = pool_process(one), asyncio.Event()
    before = highest = process.memory_info().rss

    async def watch() -> None:
        nonlocal highest
        while not is_read.is_set():
            highest = max(highest, process.memory_info().rss)
            await asyncio.sleep(0.02)  # between two samples

    watching = asyncio.create_task(watch())
    stored = folder_bytes(one)
    async with aiohttp.ClientSession(headers={"apikey": one.values["SERVICE_ROLE_KEY"]}) as session:
        received = await received_bytes(session, one.url, "id > -1000")
    is_read.set()
    await watching
    print(
        f"memory: the pool grew by {(highest - before) / 2**20:.0f} MiB for a shape of {received / 2**20:.0f} MiB;"
        f" on disk {(folder_bytes(one) - stored) / received:.2f} of these"
    )


async def received_bytes(session: aiohttp.ClientSession, url: str, where: str) -> int:
    """Read a new shape to its end; return the bytes of its answers."""
    offset, handle, received = "-1", "", 0
    while True:
        query = {"table": "wide", "where": where, "offset": offset} | ({"handle": handle} if handle else {})
        async with session.get(f"{url}/sync/v1/shape", params=query, headers=_PLAIN) as answer:
            async for piece in answer.content.iter_any():
                received += len(piece)
            offset, handle = answer.headers["electric-offset"], answer.headers["electric-handle"]
            if "electric-up-to-date" in answer.headers:
                return received


def folder_bytes(one: Platform) -> int:
    """Return the bytes of all shapes on the disk."""
    return sum(file.stat().st_size for file in (one.data / "sync").rglob("*") if file.is_file())


async def many_shapes(one: Platform, count: int) -> None:
    """Print the pool's processor time for commits that one shape wants."""
    process, known = pool_process(one), 0
    async with aiohttp.ClientSession(headers={"apikey": one.values["SERVICE_ROLE_KEY"]}) as session:
        for wanted in (10, count):
            for number in range(known, wanted):
                await read_shape(session, one.url, f"d = {2 * (number + 1)}")
            known = wanted
            await confirmed(
                session, one.url, {"where": "d = 2"}, 1, "first"
            )  # the first change makes shapes learn their keys
            await asyncio.sleep(_LEARNT_S)
            before = sum(process.cpu_times()[:2])
            for number in range(_COMMITS):
                await confirmed(session, one.url, {"where": "d = 2"}, 1, f"change {number}")
            took = sum(process.cpu_times()[:2]) - before
            print(f"{wanted} shapes: {1000 * took / _COMMITS:.2f} ms of the pool's processor for a commit")


async def confirmed(
    session: aiohttp.ClientSession, url: str, shape: dict[str, str], id: int, value: str
) -> float:
    """Write a row and wait for its transaction in a shape; return the seconds between the two answers."""
    query = {"table": "wide", **shape}
    async with session.get(f"{url}/sync/v1/shape", params={**query, "offset": "now"}) as answer:
        handle, offset = answer.headers["electric-handle"], answer.headers["electric-offset"]
    async with session.patch(f"{url}/rest/v1/wide?id=eq.{id}", json={"a": value}) as answer:
        answer.raise_for_status()
        wanted = int(answer.headers["headwater-txid"])
    began = time.perf_counter()
    while True:
        place = {"handle": handle, "offset": offset, "live": "true"}
        async with session.get(f"{url}/sync/v1/shape", params={**query, **place}) as answer:
            answer.raise_for_status()
            offset = answer.headers["electric-offset"]
            for message in await answer.json():
                if wanted in message["headers"].get("txids", ()):
                    return time.perf_counter() - began


async def writes_confirmed(one: Platform, count: int) -> None:
    """Print how long a client waits for its own writes."""
    async with aiohttp.ClientSession(headers={"apikey": one.values["SERVICE_ROLE_KEY"]}) as session:
        await read_shape(session, one.url, "id < 1000")
        took = sorted(
            [
                await confirmed(session, one.url, {"where": "id < 1000"}, 1 + number % 100, f"own {number}")
                for number in range(count)
            ]
        )
    print(f"confirmed: p50 {1000 * took[count // 2]:.1f} ms, p99 {1000 * took[count * 99 // 100]:.1f} ms")


async def waiting(one: Platform, count: int) -> None:
    """Print when clients that wait were answered, and the memory of each."""
    key = one.values["SERVICE_ROLE_KEY"]
    async with (
        aiohttp.ClientSession(headers={"apikey": key}) as session,
        session.get(f"{one.url}/sync/v1/shape", params={"table": "wide", "offset": "now"}) as answer,
    ):
        place = answer.headers["electric-offset"], answer.headers["electric-handle"]
    request = (
        f"GET /sync/v1/shape?table=wide&offset={place[0]}&handle={place[1]}&live=true HTTP/1.1\r\n"
        f"Host: bench\r\napikey: {key}\r\n\r\n"
    ).encode()
    parts = urlsplit(one.url)
    before, opened, answered = edge_kib(one), 0, list[float]()

    async def wait() -> None:
        nonlocal opened
        opened += 1
        while True:
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            moment = time.perf_counter()
            writer.close()
            if not head.startswith(b"HTTP/1.1 503"):
                break
            await asyncio.sleep(1.0)
        answered.append(moment)
        assert head.startswith(b"HTTP/1.1 200"), head

    tasks = []
    for number in range(count):
        tasks.append(asyncio.create_task(wait()))
        if (
            number % 50 == 0
        ):  # an edge has 1,024 requests underway at most; clients that receive 503 come again
            await asyncio.sleep(0.1)
    while opened < count:
        await asyncio.sleep(0.05)
    await asyncio.sleep(
        2.0
    )  # the last ones come from the pool to wait in the edge, whose memory is measured next
    memory = edge_kib(one) - before
    cpu_s = edge_cpu_s(one)
    database = await asyncpg.connect(one.values["DB_URL"])
    began = time.perf_counter()
    await database.execute("update public.wide set a = 'changed' where id = 1")
    await asyncio.gather(*tasks)
    await database.close()
    cpu_s = edge_cpu_s(one) - cpu_s
    after = sorted(1000 * (moment - began) for moment in answered)
    print(
        f"{count} waiting: first {after[0]:.0f} ms, middle {after[len(after) // 2]:.0f} ms, last {after[-1]:.0f} ms;"
        f" {memory / count:.1f} KiB and {1e6 * cpu_s / count:.0f} us of the edge's processor each"
    )


def edge_kib(one: Platform) -> int:
    """Return the resident memory of the platform's edge in KiB."""
    lines = subprocess.run(["ps", "-eo", "ppid,rss,args"], capture_output=True, text=True, check=True).stdout
    found = [line.split(None, 2) for line in lines.splitlines()[1:]]
    return sum(
        int(rss) for parent, rss, command in found if parent == str(one.pid) and "services gateway" in command
    )


def edge_cpu_s(one: Platform) -> float:
    """Return the processor time of the platform's edge in seconds."""
    edges = [child for child in psutil.Process(one.pid).children() if "gateway" in child.cmdline()]
    return sum(sum(child.cpu_times()[:2]) for child in edges)


async def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--waiting", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--shapes", type=int, default=1000)
    parser.add_argument("--writes", type=int, default=200)
    options = parser.parse_args()
    with platform(environment=_SETTINGS) as one:
        one.psql(_TABLE.format(rows=options.rows))
        one.wait_for_catalog("wide")
        await first_and_second(one, options.rounds)
        await memory(one)
        await writes_confirmed(one, options.writes)
        await many_shapes(one, options.shapes)
        await waiting(one, options.waiting)


if __name__ == "__main__":
    asyncio.run(main())
