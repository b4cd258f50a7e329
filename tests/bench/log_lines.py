"""What log lines of requests cost: REST by primary key with the store off, with lines of failed and slow requests alone, and of all.

    python -m tests.bench.log_lines [--connections 16] [--seconds 3] [--pairs 5]

The platforms of all cases run side by side and are driven in turn, so that a busy machine disturbs all alike. Printed are the medians
of CPU per request (edge, nats, worker, postgres together), and of the differences to the run without lines of the same round.
"""

import argparse
import asyncio
import contextlib
import statistics

from tests.bench.load import drive
from tests.bench.rest import prepare
from tests.bench.table import run
from tests.bench.traces import _GROUPS, _requests
from tests.platform import Platform, platform

_CASES = {
    "off": {"HEADWATER_LOG_STORE_ENABLED": "false"},
    "failed and slow": {"HEADWATER_LOG_STORE_REQUESTS": "0", "HEADWATER_LOG_STORE_REQUESTS_PER_SECOND": "0"},
    "default": {},
    "all": {"HEADWATER_LOG_STORE_REQUESTS": "1"},
}


def _cpu_ms(one: Platform, requests: list[bytes], options: argparse.Namespace) -> float:
    _, used = run(one, ("127.0.0.1", one.port), requests, options.connections, options.seconds)
    return sum(used.get(group, 0.0) for group in _GROUPS)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one run")
    parser.add_argument("--pairs", type=int, default=5, help="rounds")
    parser.add_argument("--cases", nargs="*", default=list(_CASES), choices=list(_CASES))
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        running = {name: stack.enter_context(platform(environment=_CASES[name])) for name in options.cases}
        requests = {}
        for name, one in running.items():
            asyncio.run(prepare(one.values["DB_URL"]))
            one.wait_for_catalog("items")
            requests[name] = _requests(one)
            drive(("127.0.0.1", one.port), requests[name], options.connections, 1.0)
        rounds: dict[str, list[float]] = {name: [] for name in running}
        for _ in range(options.pairs):
            for name, one in running.items():
                rounds[name].append(_cpu_ms(one, requests[name], options))
    base = rounds[options.cases[0]]
    for name, spent in rounds.items():
        shares = sorted((mine / other - 1) * 100 for mine, other in zip(spent, base, strict=True))
        print(
            f"{name:16} {statistics.median(spent):.3f} ms CPU a request; to `{options.cases[0]}`: median "
            f"{statistics.median(shares):+.1f} %, {shares[0]:+.1f} to {shares[-1]:+.1f} %",
            flush=True,
        )


if __name__ == "__main__":
    main()
