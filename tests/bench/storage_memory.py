"""Memory of every process of a platform while uploads run: what each holds for itself, beyond what it held before."""

import shutil
import threading
from collections.abc import Callable

import psutil

from tests.bench import cpu
from tests.bench.transfer import Exchange, transfer
from tests.platform import Platform

AT_ONCE = 16
MOST_GROWTH_MB = 64
_EVERY_S = 0.25


class Watch:
    """Looks at the processes now and then, in a thread."""

    def __init__(self, roots: list[int]) -> None:
        self._roots, self._end = roots, threading.Event()
        self.names: dict[int, str] = {}
        self.before = self._look()
        self.most = dict(self.before)
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(_EVERY_S):
            for pid, size in self._look().items():
                self.before.setdefault(pid, 0.0)  # a process that was not there before counts wholly
                self.most[pid] = max(self.most.get(pid, 0.0), size)

    def _look(self) -> dict[int, float]:
        found = {}
        for pid, group in cpu.groups_of(self._roots).items():
            size = own_mb(pid)
            if size is not None:
                found[pid] = size
                self.names.setdefault(pid, f"{group} {_part(pid)}".strip())
        return found


def own_mb(pid: int) -> float | None:
    """Give the resident memory of a process without what it shares (the buffers of the database); None if it is gone."""
    total = 0
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith(("RssAnon:", "RssFile:")):
                    total += int(line.split()[1])
    except OSError:
        return None
    return total / 1024


def _part(pid: int) -> str:
    try:
        words = psutil.Process(pid).cmdline()
    except psutil.Error:
        return ""
    return " ".join(words[-1:]) if "-m" in words else " ".join(words)[:40]


def measure_memory(one: Platform, make: Callable[[int], Exchange]) -> bool:
    """Upload 16 at once, and print how far each process grew; False if one grew too far or an upload failed."""
    size = make(0).size
    free = shutil.disk_usage(one.data).free
    if free < 2 * AT_ONCE * size:
        raise SystemExit(f"{free / 1e9:.0f} GB are free, {2 * AT_ONCE * size / 1e9:.0f} GB are wanted")
    host = ("127.0.0.1", one.port)
    warm = Exchange(make(0).head.replace(str(size).encode(), b"20000000"), make(0).piece, 20_000_000)
    transfer(host, lambda _: Exchange(warm.head.replace(b"/new/", b"/warm/"), warm.piece, warm.size), 1, 0)
    with Watch([one.pid]) as watch:
        done = transfer(host, make, AT_ONCE, 0)
    print(f"{done.count} uploads of {size / 1e6:.0f} MB: {done.mb_per_second:.0f} MB/s, errors {done.errors}")
    growth = {pid: most - watch.before[pid] for pid, most in watch.most.items()}
    for pid, grown in sorted(growth.items(), key=lambda each: -each[1]):
        if grown >= 1:
            print(
                f"   {watch.names[pid]:50} {watch.before[pid]:7.1f} -> {watch.most[pid]:7.1f} MB  {grown:+7.1f}"
            )
    return not done.errors and max(growth.values()) < MOST_GROWTH_MB
