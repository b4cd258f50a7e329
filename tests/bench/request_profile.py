"""Where the CPU time of a request goes: by process, by library, by Python module, and in system calls.

    python -m tests.bench.request_profile [--workloads by_pk,rpc,insert1] [--connections 32] [--seconds 5]

It starts a platform of its own and drives each workload four times: plainly for the CPU time by process, under `perf` (samples of the
CPU clock by library), under `py-spy` (samples by module, for edge and worker) and under `strace` (counts of system calls). A share of the samples
times the plain CPU time is what is printed, so the tools' own cost is in no figure. A tool that is not on the PATH is left out by name:
`perf` and `strace` come from the system's packages, `py-spy` from PyPI.
"""

import argparse
import asyncio
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import jwt

from tests.bench import cpu
from tests.bench.load import drive
from tests.bench.rest import prepare, workloads
from tests.bench.system_calls import counted_calls, process_roles
from tests.platform import Platform, platform

_PYTHON = ("edge", "worker")
_MOST = 14
_SMALLEST_US = 0.5
_SAMPLE = re.compile(r"^\s*(\d+)\s+[0-9a-f]+ .*\((\S+)\)$")
_FRAME = re.compile(r"^(?P<function>.*) \((?P<path>[^()]+?)(?::\d+)?\)$")
_ROOT = str(Path(__file__).parents[2])


class RequestProfile:
    """A platform under one workload."""

    def __init__(self, running: Platform, requests: Sequence[bytes], options: argparse.Namespace) -> None:
        self._running, self._requests, self._options = running, requests, options
        self._address = ("127.0.0.1", running.port)

    def measure(self, name: str) -> None:
        """Print everything about a workload."""
        self._drive()  # connections, plans and caches are there
        groups = process_roles(self._running.pid)
        by_process = self._cpu_by_process(groups)
        used: dict[str, float] = {}
        busiest: dict[str, int] = {}
        for pid, us in sorted(by_process.items(), key=lambda pair: pair[1]):
            used[groups[pid]] = used.get(groups[pid], 0.0) + us
            busiest[groups[pid]] = pid
        print(f"\n== {name} at {self._options.connections}: {sum(used.values()):.0f} us of CPU a request")
        print(
            "   "
            + ", ".join(
                f"{role} {value:.0f}"
                for role, value in sorted(used.items(), key=lambda pair: -pair[1])
                if value >= _SMALLEST_US
            )
        )
        if _is_there("perf"):
            for role, shares in self._by_library(groups).items():
                _print_shares(f"{role} by library", shares, used[role])
        if _is_there("py-spy"):
            for role in _PYTHON:
                _print_shares(f"{role} by module", self._by_module(busiest[role]), used[role])
        if _is_there("strace"):
            for role, calls in counted_calls(self._running.pid, self._drive).items():
                listed = " ".join(f"{call}={each:.2f}" for call, each in calls.most_common(8))
                print(f"   {role}: {sum(calls.values()):.1f} system calls: {listed}")

    def _drive(self) -> int:
        """Drive the workload once; return the number of requests."""
        outcome = drive(self._address, self._requests, self._options.connections, self._options.seconds)
        if outcome.errors:
            raise AssertionError(f"{outcome.errors} requests failed")
        return outcome.good

    def _cpu_by_process(self, groups: dict[int, str]) -> dict[int, float]:
        """Return the microseconds of CPU of each process for one request."""
        before = cpu.spent(groups)
        count = self._drive()
        after = cpu.spent(groups)
        return {pid: (after[pid] - before[pid]) / count * 1e6 for pid in groups if pid in after}

    def _by_library(self, groups: dict[int, str]) -> dict[str, Counter[str]]:
        """Return samples by library for each role."""
        with tempfile.NamedTemporaryFile(prefix="headwater-perf-") as file:
            pids = ",".join(map(str, groups))
            self._sampled(
                ["perf", "record", "-q", "-e", "cpu-clock", "-F", "1999", "-p", pids, "-o", file.name]
            )
            script = ["perf", "script", "-i", file.name, "-F", "pid,ip,sym,dso"]
            lines = subprocess.run(script, capture_output=True, text=True, check=True).stdout
        found: dict[str, Counter[str]] = {}
        for line in lines.splitlines():
            sample = _SAMPLE.match(line)
            role = groups.get(int(sample[1])) if sample else None
            if sample and role is not None:
                found.setdefault(role, Counter())[_library(sample[2])] += 1
        return found

    def _by_module(self, pid: int) -> Counter[str]:
        """Return samples of a Python process by the innermost module of the project or of a package."""
        with tempfile.NamedTemporaryFile(prefix="headwater-py-spy-") as file:
            self._sampled(
                [
                    "py-spy",
                    "record",
                    "--full-filenames",
                    "-p",
                    str(pid),
                    "-r",
                    "400",
                    "-d",
                    "3600",
                    "-f",
                    "raw",
                    "-o",
                    file.name,
                ]
            )
            found: Counter[str] = Counter()
            for line in Path(file.name).read_text().splitlines():
                stack, _, count = line.rpartition(" ")
                found[_module(stack.split(";"))] += int(count)
        found.pop("", None)
        return found

    def _sampled(self, command: Sequence[str]) -> None:
        """Drive the workload while a program samples; it writes its file when it is interrupted."""
        sampling = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self._drive()
        finally:
            sampling.send_signal(signal.SIGINT)
            sampling.wait(60)


def _is_there(program: str) -> bool:
    if shutil.which(program) is not None:
        return True
    print(f"   without {program}, which is not on the PATH")
    return False


def _library(path: str) -> str:
    """Return the name of a library or program without its version. Pure."""
    if "kernel" in path or path in ("[vdso]", "[unknown]"):
        return "kernel" if "kernel" in path else path
    return re.sub(r"[.-][0-9a-f.-]*(cpython|abi3|so).*$", "", Path(path).name)


def _module(stack: Sequence[str]) -> str:
    """Return the module of the innermost frame that is not of the standard library, shortened; "" for a waiting thread. Pure."""
    for frame in reversed(stack):
        path = match["path"] if (match := _FRAME.match(frame)) else ""
        if path.endswith("/broker/processes/lifecycle.py"):
            return "the event loop"  # nothing of ours runs above the frame that runs it
        if "site-packages/" in path:
            return path.partition("site-packages/")[2]
        if path and not path.startswith(("/usr", "<")) and "/lib/python3" not in path:
            return path.removeprefix(_ROOT + "/")
    return ""


def _print_shares(title: str, shares: Counter[str], us: float) -> None:
    total = shares.total() or 1
    print(f"   {title} ({us:.0f} us, {shares.total()} samples)")
    for name, count in shares.most_common(_MOST):
        if us * count / total >= _SMALLEST_US:
            print(f"   {us * count / total:9.1f}  {name}")


def main() -> int:
    """Profile the workloads that the options name."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--workloads", default="by_pk,rpc,insert1", help="comma separated, of tests.bench.rest"
    )
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    with platform() as running:
        asyncio.run(prepare(running.values["DB_URL"]))
        running.wait_for_catalog("items")
        claims = {"role": "authenticated", "sub": "user-7"}
        token = jwt.encode(claims, running.values["JWT_SECRET"], algorithm="HS256")
        headers = {"apikey": running.values["ANON_KEY"], "Authorization": f"Bearer {token}"}
        known = workloads(f"127.0.0.1:{running.port}", headers)
        for name in options.workloads.split(","):
            RequestProfile(running, known[name](), options).measure(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
