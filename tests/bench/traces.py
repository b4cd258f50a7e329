"""What traces cost: REST by primary key with traces off, on for 1 of 100 requests, and on for all.

    python -m tests.bench.traces [--connections 32] [--seconds 3] [--repeat 3]

A platform for each is measured in turn; a collector in this process takes what they send.
"""

import argparse
import asyncio
import statistics

import jwt

from tests.bench.load import drive
from tests.bench.rest import prepare, workloads
from tests.bench.table import run
from tests.collector import collecting
from tests.platform import Platform, platform

_GROUPS = ("edge", "nats", "worker", "postgres")
_CASES = {"off": None, "0.01": "0.01", "1.0": "1.0"}


def _requests(one: Platform) -> list[bytes]:
    token = jwt.encode(
        {"role": "authenticated", "sub": "user-7"}, one.values["JWT_SECRET"], algorithm="HS256"
    )
    headers = {"apikey": one.values["ANON_KEY"], "Authorization": f"Bearer {token}"}
    return workloads(f"127.0.0.1:{one.port}", headers)["by_pk"]()


def measure(sampling: str | None, collector: str, options: argparse.Namespace) -> tuple[float, float]:
    """Start a platform and give CPU per request in milliseconds and requests a second, medians of the runs."""
    environment = (
        {}
        if sampling is None
        else {"OTEL_EXPORTER_OTLP_ENDPOINT": collector, "HEADWATER_OBSERVABILITY_SAMPLING": sampling}
    )
    with platform(environment=environment) as one:
        asyncio.run(prepare(one.values["DB_URL"]))
        one.wait_for_catalog("items")
        requests, address = _requests(one), ("127.0.0.1", one.port)
        drive(address, requests, options.connections, 1.0)
        runs = [
            run(one, address, requests, options.connections, options.seconds) for _ in range(options.repeat)
        ]
    spent = [sum(used.get(group, 0.0) for group in _GROUPS) for _, used in runs]
    rates = [outcome.per_second for outcome, _ in runs]
    return statistics.median(spent), statistics.median(rates)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one run")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each case; the median is printed")
    options = parser.parse_args()
    with collecting() as collector:
        for name, sampling in _CASES.items():
            spent, rate = measure(sampling, collector.url, options)
            print(f"traces {name:5} {spent:.3f} ms CPU a request, {rate:,.0f} requests/s", flush=True)


if __name__ == "__main__":
    main()
