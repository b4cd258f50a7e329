"""What a warm call of a hosted function costs, all processes together."""

import argparse
import statistics
import time

from tests.bench.cpu import resident_mb
from tests.bench.functions import HELLO
from tests.bench.load import drive, http
from tests.bench.table import Figures, medians, run
from tests.platform import platform

_PATIENCE_S = 120


def measure(options: argparse.Namespace, figures: Figures) -> None:
    """Measure warm calls, and the memory of a function that runs."""
    with platform() as one:
        folder = one.data.parent / "supabase" / "functions" / "hello"
        folder.mkdir(parents=True)
        (folder / "index.ts").write_text(HELLO)
        before = sum(resident_mb([one.pid]).values())
        deadline = time.monotonic() + _PATIENCE_S
        while one.get("/functions/v1/hello") != (200, b"hello"):
            if time.monotonic() > deadline:
                raise SystemExit("the function does not answer")
            time.sleep(0.1)  # between two questions
        address = ("127.0.0.1", one.port)
        requests = [
            http("GET", "/functions/v1/hello", f"127.0.0.1:{one.port}", {"apikey": one.values["ANON_KEY"]})
        ]
        drive(address, requests, 16, 0.5)
        runs = [run(one, address, requests, 16, options.seconds) for _ in range(options.repeat)]
        memory = sum(resident_mb([one.pid]).values()) - before
    groups = sorted({group for _, used in runs for group in used})
    costs = {group: statistics.median(used.get(group, 0.0) for _, used in runs) for group in groups}
    rate = medians(runs).per_second
    for group, cost in costs.items():
        figures.add(f"function call at 16: CPU of {group}", cost, "ms")
    figures.add("function call at 16: CPU", sum(costs.values()), "ms")
    figures.add("function call at 16: rate", rate, "/s")
    figures.add("memory of a function that runs", memory, "MB")
    print(
        f"function call: {sum(costs.values()):.3f} ms CPU, {rate:.0f}/s; a running function {memory:.0f} MB",
        flush=True,
    )
