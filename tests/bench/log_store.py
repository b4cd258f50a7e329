"""What the log store costs and how fast it searches: feed rate, CPU and bytes a line, and searches over all lines.

    python -m tests.bench.log_store [--lines 1000000] [--batch 200]

Lines are like those of a platform: nine of ten are access lines of the gateway, the others texts of the manual. CPU is that of
the writer from encoded lines to the file; the figures of searches are the median of five, in wall time.
"""

import argparse
import random
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import msgspec

from broker.logs import search
from broker.logs.lines import checked_line, place_of
from broker.logs.query import LogFilter
from broker.logs.segment import StreamPosition
from broker.logs.store import LogStore, StoreLimits, segment_paths
from schemas.logs import LogRecord

_START_MS = 1_760_000_000_000
_EVERY_MS = 5
_LIMITS = StoreLimits(10**9, 10**12, 0)


class _Lines:
    """Makes lines."""

    def __init__(self) -> None:
        self._random = random.Random(1)
        self._users = [str(uuid.UUID(int=self._random.getrandbits(128))) for _ in range(5000)]
        self._words = Path("docs/observability.md").read_text().split()

    def line(self, number: int) -> LogRecord:
        """Return the line with this number."""
        chance, at_ms = self._random, _START_MS + number * _EVERY_MS
        if number % 10:
            path = chance.choice(("items", "todos", "orders"))
            fields = {"bytes": chance.randint(100, 20000), "client": f"10.0.{chance.randint(0, 255)}.{chance.randint(0, 255)}"}  # fmt: skip
            status = chance.choice([200] * 20 + [404, 500])
            level = "error" if status == 500 else "info"
            return LogRecord(
                at_ms, level, "edges", "RequestServed", f"GET /rest/v1/{path}", "rest", status, chance.choice(self._users),
                request_id=f"b5f1c0d3a7e94f21-{number:x}", duration_ms=round(chance.random() * 30, 2), fields=fields,
            )  # fmt: skip
        text = " ".join(chance.sample(self._words, 12))
        return LogRecord(
            at_ms, chance.choice(("info", "warning", "error")), "pools", "Something", text, function=f"f{chance.randint(0, 20)}",
            request_id=f"b5f1c0d3a7e94f21-{number - 1:x}", fields={"reason": " ".join(chance.sample(self._words, 8))},
        )  # fmt: skip


def _fill(folder: Path, lines: int, batch: int) -> tuple[float, float]:
    """Store lines; return CPU and wall seconds."""
    made, encode = _Lines(), msgspec.msgpack.Encoder().encode
    store = LogStore(folder, _LIMITS)
    store.open()
    spent, passed = 0.0, 0.0
    for seq, start in enumerate(range(0, lines, batch), 1):
        encoded = [encode(made.line(number)) for number in range(start, start + batch)]
        cpu, wall = time.process_time(), time.perf_counter()
        checked = [checked_line(place_of(0, seq, index), data, 1 << 60) for index, data in enumerate(encoded)]
        stored = [line for line in checked if line is not None]
        store.append(stored, {"LOGS": StreamPosition("now", seq)}, {"run": seq})
        spent, passed = spent + time.process_time() - cpu, passed + time.perf_counter() - wall
    store.close()
    return spent, passed


def _timed(name: str, run: Callable[[], int]) -> None:
    times = []
    for _ in range(5):
        start = time.perf_counter()
        lines = run()
        times.append(time.perf_counter() - start)
    print(f"{name:46} {statistics.median(times) * 1000:8.1f} ms, {lines} lines", flush=True)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=200, help="lines of one transaction")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spent, passed = _fill(folder, options.lines, options.batch)
        size = sum(path.stat().st_size for path in segment_paths(folder))
        print(
            f"{options.lines} lines: {spent / options.lines * 1e6:.1f} us CPU a line, {options.lines / passed:,.0f} lines/s, "
            f"{size / options.lines:.0f} bytes a line, {len(segment_paths(folder))} segments",
            flush=True,
        )
        middle = options.lines // 2 // 10 * 10 + 1
        cases = {
            "request id": LogFilter(request_id=f"b5f1c0d3a7e94f21-{middle:x}"),
            "newest page": LogFilter(),
            "level error, one minute in the middle": LogFilter(
                level="error",
                since_ms=_START_MS + middle * _EVERY_MS,
                until_ms=_START_MS + middle * _EVERY_MS + 60_000,
            ),
            "two words": LogFilter(text="replication slot"),
            "a word that no line has": LogFilter(text="xylophone"),
            "user": LogFilter(user=_Lines().line(1).user),
            "two filters in every block, on no line": LogFilter(area="rest", function="f1"),
        }
        for case, query in cases.items():
            _timed(case, lambda query=query: len(search.search(folder, query, 100).lines))  # type: ignore[misc]  # a default in a lambda has no type
        _timed("histogram by level", lambda: len(search.histogram(folder, LogFilter(), 60).bars))
        _timed(
            "histogram of status 5xx", lambda: len(search.histogram(folder, LogFilter(status="5xx"), 60).bars)
        )


if __name__ == "__main__":
    main()
