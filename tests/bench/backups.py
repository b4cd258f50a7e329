"""Base backups, full and incremental, and restores of a database of about 1 GB; what is lost when all processes are killed.

    python -m tests.bench.backups [--megabytes 1000] [--kills 2]
    python -m tests.bench.backups --branch [--megabytes 1000]     a branch of a moment, until its REST answers

A platform of a database and the process `archive` alone. The table: the base backup's bytes before compression, those stored, the time by the
server's clock and the CPU time of the process `archive`. 1 % of the rows are changed, once in a row (one range of keys) and once spread over the
whole table, which touches one page in eight. Restores are whole commands. It takes some three minutes: base backups are at least 60 s apart.
"""

import argparse
import contextlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg

from broker.processes.archive_status import StoredBase, read_archive_status

ROOT = Path(__file__).parents[2]
_KEY = "a2V5IG9mIDMyIGJ5dGVzIGZvciB0aGVzZSB0ZXN0cyE="
_WAIT_S = 300.0
_ROW_BYTES = 950
"""Of a row in its table, roughly: eight rows in a page."""
_FILL = """
create table public.filler (id int primary key, text text);
insert into public.filler
select n, (select string_agg(md5(n::text || i::text), '') from generate_series(1, 28) i) from generate_series(1, {rows}) n;
"""


@dataclass
class Drill:
    """A platform that is started and killed; `folder` has its data, its archive and what is restored."""

    folder: Path
    environment: dict[str, str]

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def start(self, data: Path, **more: str) -> str:
        """Start the database and the archive; return the database's URL."""
        done = headwater(
            "start", "--detach", "--data", str(data), "--project", str(self.folder), "--port", "0", "--edge", "none",
            "--pool", "none", environment=self.environment | more,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return str(json.loads((data / "state.json").read_text())["values"]["DB_URL"])

    def restore(self, moment: str, target: str) -> str:
        """Restore a moment; return the seconds and the CPU seconds of the whole command, and the bytes of log that it replayed."""
        began, cpu = time.monotonic(), _cpu_of_children()
        done = headwater(
            "restore", "--to", moment, "--into", str(self.folder / target), "--data", str(self.data),
            "--project", str(self.folder), environment=self.environment,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        log = re.search(r"log +([0-9,]+) bytes", done.stdout)
        return (
            f"{time.monotonic() - began:.1f} s, {_cpu_of_children() - cpu:.1f} s of CPU, "
            f"{log[1] if log else '?'} bytes of log"
        )

    def archiver(self) -> psutil.Process:
        """Return the process `archive`."""
        children = json.loads((self.data / "state.json").read_text())["children"]
        return psutil.Process(next(child["pid"] for child in children if child["name"] == "archive"))

    def bases(self, data: Path | None = None) -> list[StoredBase]:
        """Return the base backups, the newest first."""
        status = read_archive_status(data or self.data)
        return list(status.bases) if status else []

    def next_base(self, count: int, what: str) -> StoredBase:
        """Wait for a base backup, print its line, return it."""
        before = self.archiver().cpu_times()
        until(lambda: len(self.bases()) > count)
        after = self.archiver().cpu_times()
        base = self.bases()[0]
        stored = sum(path.stat().st_size for path in (self.folder / "archive").glob(f"*/base/{base.name}/*"))
        kind = "incremental" if base.parent else "full"
        cpu = after.user + after.system - before.user - before.system
        print(
            f"| {what} | {kind} | {base.bytes / 1e6:,.0f} MB | {stored / 1e6:,.1f} MB | {base.ended_at - base.began_at:.1f} s | {cpu:.1f} s |",
            flush=True,
        )
        return base


def headwater(*words: str, environment: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    """Run a command, however long it takes."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "services.cli.main", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def until(holds: Callable[[], bool]) -> None:
    """Wait for a state."""
    end = time.monotonic() + _WAIT_S
    while not holds():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.2)  # between two looks


@contextlib.contextmanager
def drill() -> Iterator[Drill]:
    """Give a folder, and remove it with all that runs in it."""
    folder = Path(tempfile.mkdtemp(prefix="headwater-backups-"))
    folder.chmod(0o711)
    environment = {
        "HEADWATER_BACKUP_KEY": _KEY,
        "HEADWATER_BACKUP_PATH": str(folder / "archive"),
        "HEADWATER_BACKUP_BASE_INTERVAL": "60",
    }
    try:
        yield Drill(folder, environment)
    finally:
        for path in folder.glob("*/state.json"):
            headwater("stop", "--data", str(path.parent))
        shutil.rmtree(folder, ignore_errors=True)


def kill_all(data: Path) -> None:
    """Kill the supervisor and all of its processes at once."""
    supervisor = psutil.Process(json.loads((data / "state.json").read_text())["pid"])
    processes = [supervisor, *supervisor.children(recursive=True)]
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGKILL)
    psutil.wait_procs(processes, timeout=_WAIT_S)


def lost_seconds(one: Drill, data: Path, target: str, url: str) -> tuple[float, int]:
    """Commit row after row, kill everything, restore elsewhere; return the seconds of acknowledged rows that are lost, and the holes."""
    times: list[float] = []
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("drop table if exists public.ticks")
        connection.execute("create table public.ticks (id int primary key)")
        end = time.monotonic() + 12.0 + os.getpid() % 5  # it is killed anywhere in an interval
        while time.monotonic() < end:
            connection.execute("insert into public.ticks values (%s)", (len(times),))
            times.append(time.monotonic())
        kill_all(data)
    killed = time.monotonic()
    with contextlib.suppress(OSError):
        (data / "archive.json").unlink()
    one.restore("latest", target)
    url = one.start(one.folder / target)
    with psycopg.connect(url) as connection:
        row = connection.execute("select coalesce(max(id), -1), count(*) from public.ticks").fetchone()
    assert row is not None
    last, count = row
    return killed - times[last], last + 1 - count


def _covered_until(data: Path) -> float:
    status = read_archive_status(data)
    return (status.covered_until if status else None) or 0.0


def measure_branch(megabytes: int) -> None:
    """Measure the way from `branch create --at` to the first answer of REST, and print it."""
    rows = megabytes * 1_000_000 // _ROW_BYTES
    with drill() as one:
        one.environment["HEADWATER_BACKUP_CONTINUOUS"] = "true"
        url = one.start(one.data)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_FILL.format(rows=rows) + "; grant select on public.filler to anon")
            connection.execute("vacuum (freeze) public.filler")
            filled = connection.execute("select extract(epoch from clock_timestamp())").fetchone()
            assert filled is not None
            until(lambda: bool(one.bases()) and one.bases()[0].began_at > filled[0])
            moment = connection.execute("select now()::text, extract(epoch from now())::float8").fetchone()
            assert moment is not None
            connection.execute("update public.filler set text = 'later' where id <= 1000")
        named = ("--data", str(one.data), "--project", str(one.folder))
        until(lambda: _covered_until(one.data) > moment[1])
        began, cpu = time.monotonic(), _cpu_of_children()
        done = headwater(
            "branch", "create", "past", "--at", str(moment[0]), *named, environment=one.environment
        )
        assert done.returncode == 0, done.stdout + done.stderr
        made = time.monotonic()
        done = headwater("start", "--branch", "past", "--detach", *named, environment=one.environment)
        assert done.returncode == 0, done.stdout + done.stderr
        data = one.data / "branches" / "past"
        try:
            values = json.loads((data / "state.json").read_text())["values"]
            url = f"{values['API_URL']}/rest/v1/filler?id=eq.1&select=text"
            request = urllib.request.Request(url, headers={"apikey": values["ANON_KEY"]})
            with urllib.request.urlopen(request, timeout=_WAIT_S) as answer:
                assert b"later" not in answer.read()
            print(
                f"a branch of a moment, {megabytes} MB: made after {made - began:.1f} s, REST answered after {time.monotonic() - began:.1f} s, "
                f"{_cpu_of_children() - cpu:.1f} s of CPU in both commands; load average {psutil.getloadavg()[0]:.1f}"
            )
        finally:
            headwater("stop", "--data", str(data))


def measure(megabytes: int, kills: int) -> None:
    """Measure and print."""
    rows = megabytes * 1_000_000 // _ROW_BYTES
    with drill() as one:
        url = one.start(one.data)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_FILL.format(rows=rows))
            connection.execute(
                "vacuum (freeze) public.filler"
            )  # else the first one after the load changes every page
        headwater("stop", "--data", str(one.data))
        print(
            f"| {megabytes} MB, load average {psutil.getloadavg()[0]:.1f} | kind | bytes | stored | time | CPU |\n|---|---|---|---|---|---|"
        )
        one.environment["HEADWATER_BACKUP_CONTINUOUS"] = "true"
        url = one.start(one.data)
        one.next_base(0, "first")
        with psycopg.connect(url, autocommit=True) as connection:
            moment = connection.execute("select clock_timestamp()::text").fetchone()
            time.sleep(1.0)  # so that the moment is before what follows
            connection.execute("update public.filler set text = reverse(text) where id <= %s", (rows // 100,))
            one.next_base(1, "1 % in a row")
            connection.execute("update public.filler set text = reverse(text) where id % 100 = 0")
            one.next_base(2, "1 % spread")
        headwater(
            "backup",
            "--sync",
            "--data",
            str(one.data),
            "--project",
            str(one.folder),
            environment=one.environment,
        )
        assert moment is not None
        for name, text in (("the full one", str(moment[0])), ("and two incremental ones", "latest")):
            print(f"restore from {name}: {one.restore(text, f'restored-{len(name)}')}", flush=True)
        data = one.data
        for number in range(kills):
            seconds, holes = lost_seconds(one, data, f"killed-{number}", url)
            print(f"all processes killed: {seconds:.1f} s lost, {holes} holes before", flush=True)
            data = one.folder / f"killed-{number}"  # what was restored is killed next
            url = str(json.loads((data / "state.json").read_text())["values"]["DB_URL"])
            until(lambda data=data: bool(one.bases(data)))
        print(f"load average {psutil.getloadavg()[0]:.1f}")


def main() -> None:
    """Read the options, measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=1)
    parser.add_argument("--branch", action="store_true", help="measure a branch of a past moment alone")
    chosen = parser.parse_args()
    if chosen.branch:
        measure_branch(chosen.megabytes)
        return
    measure(chosen.megabytes, chosen.kills)


if __name__ == "__main__":
    main()
