"""The memory of an idle platform, everything on its default: all of its pages, each counted once, and by process.

    python -m tests.bench.memory [--minutes 2] [--data .headwater] [--record]

The only measure of idle memory; `tests.bench.all` runs it. It starts a platform of its own as users do, waits until nothing happens
in it any more, and prints a line for each process. With `--data` it measures the running platform of that data folder instead.

pss      a page that several processes have is counted in parts, so the sum is what all of them take together
anon     heaps, stacks, and pages of the fork server that a process has changed
file     programs and libraries. Pages that other programs of the machine use too are counted in parts: on a machine that runs
         more than one platform the sum is too small. "Alone" counts every page of the platform once and whole (needs root)
shared   Postgres' shared memory
own      what would be free without this process (private pages)

The budget is for `alone`, which is the sum of PSS where nothing else runs; without root it is compared with that sum.
Pages of files stay in the kernel's page cache when a process lets go of them (`broker/processes/mapped_files.py`); those are not
counted.
"""

import argparse
import json
import re
import shutil
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.bench.start import settled
from tests.bench.table import Budget, Figures, add_record_option
from tests.platform import free_port, headwater

IDLE = "idle platform"
BUDGETS = (Budget(IDLE, 250),)
"""Megabytes that the design allows an idle platform (docs/comparison.md)."""

_AS_USERS = ("env", "-u", "PYTHONDONTWRITEBYTECODE")
"""Before the command: a process of its own, not one that the tests have loaded, which may keep compiled modules."""
_PAGE = 4096
_PRESENT, _FRAME = 1 << 63, (1 << 55) - 1
_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) ")
_NAMES = {
    "broker.processes.fork_server": "fork server",
    "nats-server": "nats-server",
    "headwater start": "supervisor",
    "services.cli.main start": "supervisor",
}


@dataclass(frozen=True, slots=True)
class ProcessMemory:
    """Megabytes of one process."""

    name: str
    pss: float
    anon: float
    file: float
    shared: float
    own: float


def measured(pids: list[int]) -> Iterator[ProcessMemory]:
    """Yield the memory of each process that still runs."""
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
            name = _name(psutil.Process(pid).cmdline())
        except (OSError, psutil.Error):
            continue
        sizes = {key: float(size.split()[0]) / 1024 for key, size in (line.split(":") for line in lines)}
        own = sizes["Private_Dirty"] + sizes["Private_Clean"]
        yield ProcessMemory(name, sizes["Pss"], sizes["Pss_Anon"], sizes["Pss_File"], sizes["Pss_Shmem"], own)


def alone(pids: list[int]) -> float | None:
    """Return the megabytes of all pages of these processes, each counted once; None without the right to see page frames."""
    frames: set[int] = set()
    for pid in pids:
        try:
            with open(f"/proc/{pid}/pagemap", "rb") as pagemap:
                for start, pages in _mappings(pid):
                    pagemap.seek(start // _PAGE * 8)
                    entries = struct.unpack(f"<{pages}Q", pagemap.read(pages * 8))
                    frames.update(entry & _FRAME for entry in entries if entry & _PRESENT)
        except (OSError, struct.error):  # it has ended
            continue
    frames.discard(0)  # shown instead of every frame to users without the right
    return len(frames) * _PAGE / 2**20 if frames else None


def _mappings(pid: int) -> Iterator[tuple[int, int]]:
    """Yield the address and the number of pages of each mapping but the kernel's own."""
    for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines():
        if not line.endswith(("[vsyscall]", "[vvar]", "[vdso]", "[vvar_vclock]")) and (
            bounds := _MAPPING.match(line)
        ):
            start, stop = (int(bound, 16) for bound in bounds.groups())
            yield start, (stop - start) // _PAGE


def _name(command: list[str]) -> str:
    """Return what a process is, from its command line."""
    text = " ".join(command)
    if known := next((name for part, name in _NAMES.items() if part in text), ""):
        return known
    if text.startswith("postgres:"):
        return text.strip()
    if "/bin/postgres" in text:
        return "postgres"
    return text.partition(" -m ")[2].partition(" /")[0] or text[:60]


def report(root: int, figures: Figures) -> None:
    """Print the memory of a platform by process, and the sums; add them to the figures."""
    pids = [root, *(process.pid for process in psutil.Process(root).children(recursive=True))]
    processes, whole = list(measured(pids)), alone(pids)
    print(f"{'process':70}{'pss':>8}{'anon':>8}{'file':>8}{'shared':>8}{'own':>8}")
    for process in processes:
        print(
            f"{process.name[:69]:70}{process.pss:8.1f}{process.anon:8.1f}{process.file:8.1f}{process.shared:8.1f}"
            f"{process.own:8.1f}"
        )
    parts = ("pss", "anon", "file", "shared", "own")
    sums = {part: sum(getattr(process, part) for process in processes) for part in parts}
    print(f"{f'all {len(processes)} processes':70}" + "".join(f"{size:8.1f}" for size in sums.values()))
    figures.add(IDLE, sums["pss"] if whole is None else whole, "MB")
    for part, size in sums.items():
        figures.add(f"sum of {part}", size, "MB")


def own_platform(minutes: float, figures: Figures) -> None:
    """Start a platform, let it come to rest, report it and stop it."""
    root = Path(tempfile.mkdtemp(prefix="headwater-bench-"))
    root.chmod(0o755)
    words = ("start", "--detach", "--port", str(free_port()), "--project", str(root))
    try:
        # Twice: the first start after an installation compiles modules, which takes memory that later starts do not need.
        for number in range(2):
            if number:
                headwater("stop", "--project", str(root))
            started = headwater(*words, prefix=_AS_USERS)
        if started.returncode != 0:
            sys.exit(started.stderr)
        supervisor = _supervisor(root / ".headwater")
        time.sleep(minutes * 60)  # the platform has to be idle: that is what is measured
        settled([supervisor])
        report(supervisor, figures)
    finally:
        headwater("stop", "--project", str(root))
        shutil.rmtree(root, ignore_errors=True)


def _supervisor(data: Path) -> int:
    return int(json.loads((data / "state.json").read_text())["pid"])


def main() -> int:
    """Measure and print; 1 where the budget is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--minutes", type=float, default=2.0, help="idle time before the measurement: 1.5 at least"
    )
    parser.add_argument("--data", type=Path, help="data folder of a running platform")
    add_record_option(parser)
    options = parser.parse_args()
    figures = Figures("memory", BUDGETS)
    if options.data is not None:
        report(_supervisor(options.data), figures)
    else:
        own_platform(options.minutes, figures)
    return 0 if figures.finish(options.record) else 1


if __name__ == "__main__":
    sys.exit(main())
