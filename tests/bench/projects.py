"""What several projects on one server cost: memory asleep and awake, time and CPU of a wake, and what the front gateway adds to a request.

    python -m tests.bench.projects [--projects 20] [--pairs 7] [--requests 2000] [--record]

It starts a server of its own with one project that is used and the others that sleep. Requests (a row by key, kept connections) go through the front
gateway and straight to the project's own gateway in turns; the figures are medians of the pairs.

pss      proportional set size of the server (front gateway and code template), and of the project's processes
wake     by the server's log, with the processor time of all processes of the machine that belong to it
front    processor time of the front gateway for one request; p50: time of one request on one connection
"""

import argparse
import asyncio
import json
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import psutil
import psycopg

from tests.bench.table import Budget, Figures, add_record_option
from tests.platform import headwater
from tests.ports import free_port

BUDGETS = (Budget("a sleeping project: memory", 30),)
_CONNECTIONS = 32
_REST_S = 20.0
_WAKE = re.compile(r"one: awake after ([0-9.]+) s")
_MB = 1024 * 1024
_SCHEMA = """
create table public.notes (id int primary key, text text); insert into public.notes values (1, 'one');
grant select on public.notes to anon; notify pgrst;
"""


def main() -> int:
    """Measure and print; 1 where the budget is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--projects", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--requests", type=int, default=2000)
    add_record_option(parser)
    options, figures = parser.parse_args(), Figures("projects", BUDGETS)
    root = Path(tempfile.mkdtemp(prefix="headwater-bench-"))
    try:
        _measure(root, options, figures)
    finally:
        _run(root, "stop")
        shutil.rmtree(root, ignore_errors=True)
    return 0 if figures.finish(options.record) else 1


def _measure(root: Path, options: argparse.Namespace, figures: Figures) -> None:
    port = free_port()
    _run(root, "add", "one")
    _run(root, "start", "--detach", "--port", str(port))
    state = json.loads((root / "server.json").read_text())
    server = psutil.Process(state["pid"])
    time.sleep(15)
    whole, few = _pss(_own(server)), server.memory_full_info().uss
    for number in range(options.projects):
        _run(root, "add", f"sleeper-{number}")
    many = server.memory_full_info().uss
    print(f"server                     {whole:8.1f} MB pss, front gateway {_pss([server]):.1f}")
    print(
        f"a sleeping project         {(many - few) / options.projects / 1024:8.1f} KB of the server's private memory"
    )

    figures.add("server: memory", whole, "MB")
    figures.add("a sleeping project: memory", (many - few) / options.projects / _MB, "MB")

    _run(root, "wake", "one")
    values = json.loads(_run(root, "status", "one", "-o", "json"))
    with psycopg.connect(values["DB_URL"], autocommit=True) as connection:
        connection.execute(_SCHEMA)
    platform = json.loads((root / "one" / ".headwater" / "state.json").read_text())
    time.sleep(10)  # what the start leaves to be done is over then; nothing announces that
    awake = _own(psutil.Process(platform["pid"]))
    memory, before = _pss(awake), _cpu(awake)
    time.sleep(_REST_S)  # it has to be idle: that is what is measured
    rest = (_cpu(awake) - before) / _REST_S
    print(f"a project that is awake    {memory:8.1f} MB pss, {rest * 1000:.1f} ms of processor a second")
    figures.add("an awake project: memory", memory, "MB")
    figures.add("an awake project: CPU a second at rest", rest * 1000, "ms")

    wakes, processor = [], []
    for _ in range(options.pairs):
        _run(root, "sleep", "one")
        _run(root, "wake", "one")
        wakes.append(float(_WAKE.findall((root / "server.log").read_text())[-1]))
        own = psutil.Process(json.loads((root / "one" / ".headwater" / "state.json").read_text())["pid"])
        processor.append(_cpu(_own(own)))
        print(f"wake                       {wakes[-1]:8.1f} s, processor {processor[-1]:.2f} s")
    print(f"wake, median               {statistics.median(wakes):8.1f} s")
    figures.add("wake", statistics.median(wakes), "s")
    figures.add("wake: CPU", statistics.median(processor), "s")
    platform = json.loads((root / "one" / ".headwater" / "state.json").read_text())
    asyncio.run(_pairs(server, port, platform["ports"]["api"], values["ANON_KEY"], options, figures))


async def _pairs(
    server: psutil.Process,
    front: int,
    direct: int,
    key: str,
    options: argparse.Namespace,
    figures: Figures,
) -> None:
    """Send the same requests both ways in turns."""
    per_request, added, single = [], [], []
    for _ in range(options.pairs):
        before = _cpu([server])
        through = await _load(front, "/one", key, _CONNECTIONS, options.requests)
        per_request.append((_cpu([server]) - before) / options.requests * 1000)
        straight = await _load(direct, "", key, _CONNECTIONS, options.requests)
        added.append(through[0] / straight[0])
        slow = await _load(front, "/one", key, 1, options.requests // 8)
        quick = await _load(direct, "", key, 1, options.requests // 8)
        single.append((slow[1] * 1000, quick[1] * 1000))
    print(f"front, processor a request {statistics.median(per_request):8.3f} ms")
    figures.add("front: CPU", statistics.median(per_request), "ms")
    print(f"rate through / straight    {1 / statistics.median(added):8.2f} at {_CONNECTIONS} connections")
    through_s, straight_s = (statistics.median(pair[way] for pair in single) for way in (0, 1))
    print(
        f"p50 of one connection      {through_s:8.2f} ms through, {straight_s:.2f} straight, {through_s - straight_s:.2f} added"
    )


async def _load(port: int, prefix: str, key: str, connections: int, requests: int) -> tuple[float, float]:
    """Send requests on kept connections; return the seconds of all, and the median of one."""
    head = f"GET {prefix}/rest/v1/notes?id=eq.1 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\napikey: {key}\r\n\r\n".encode()
    times: list[float] = []

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(requests // connections):
            began = time.perf_counter()
            writer.write(head)
            answer = await reader.readuntil(b"\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200"), answer
            length = int(re.search(rb"content-length: (\d+)", answer, re.IGNORECASE)[1])  # type: ignore[index]  # it has one
            assert b'"one"' in await reader.readexactly(length)
            times.append(time.perf_counter() - began)
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(connections)))
    return time.perf_counter() - began, statistics.median(times)


def _own(server: psutil.Process) -> list[psutil.Process]:
    return [server, *server.children(recursive=True)]


def _pss(processes: Iterable[psutil.Process]) -> float:
    return sum(process.memory_full_info().pss for process in processes) / _MB


def _cpu(processes: Iterable[psutil.Process]) -> float:
    """Return the processor time of processes, in seconds."""
    return sum(times.user + times.system for times in (process.cpu_times() for process in processes))


def _run(root: Path, *words: str) -> str:
    done = headwater("projects", "--root", str(root), *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
