"""What planning costs: from URL to statement, for every read of the conformance cases, uncached and cached.

    python -m tests.bench.planning

Prints the slowest reads with the time of each step, the cost of a read whose plan is known, and the memory of 1,000
shapes of URLs. Needs the cases, which lie beside the repository.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from schemas.settings.tree import Api
from tests.bench.table import Budget, Figures, add_record_option
from tests.workers.database.introspection_fixtures import CONFORMANCE, as_role, catalog_of, fresh_database
from tests.workers.database.own_server import own_server
from workers.database.schema_cache.catalog import Catalog
from workers.rest.errors.base import RestError
from workers.rest.parse.query import shape_of
from workers.rest.parse.request import is_call_path, parse_request, plan_headers
from workers.rest.plan.plan import make_plan
from workers.rest.prepare import parse as parse_cached
from workers.rest.prepare import plan_and_query
from workers.rest.query.query import query_for
from workers.rest.state import RestState

_CASES = Path(__file__).parents[3] / "shared" / "conformance" / "rest" / "cases.json"
BUDGETS = (
    Budget("new shape, mean of all reads: function calls", 272),
    Budget("new shape, median of all reads: plan", 60),
    Budget("new shape, slowest read: plan", 275),
    Budget("known shape, by key", 5),
    Budget("known shape, the slowest", 5),
)


def _reads() -> list[str]:
    """Give the URLs of plain reads, each once."""
    cases = json.loads(_CASES.read_text())
    steps = [step for case in cases if case["profile"] == "default" for step in case["steps"]]
    found = [step["path"] for step in steps if step["method"] == "GET" and not is_call_path(step["path"])]
    return list(dict.fromkeys(found))


def _best(work: Callable[[], object], rounds: int = 7) -> float:
    """Give the best time of some rounds, in microseconds: what the work costs when nobody disturbs it."""
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times) * 1e6


def _measure(state: RestState, url: str) -> tuple[float, float, float] | None:
    """Give the cost of parsing, planning and rendering a read; None if it is refused."""
    path, _, query = url.partition("?")
    wanted = plan_headers([])

    def parse() -> object:
        return parse_request("GET", path, shape_of(query)[0], wanted, state.options)

    try:
        asked = parse_request("GET", path, shape_of(query)[0], wanted, state.options)
        plan = make_plan(asked, None, state.catalog, state.options)
        query_for(plan)
    except RestError:
        return None
    return (
        _best(parse),
        _best(lambda: make_plan(asked, None, state.catalog, state.options)),
        _best(lambda: query_for(plan)),
    )


def _calls(state: RestState, url: str) -> int:
    """Return how many Python functions the first request of a shape calls, from its URL to its statement."""
    path, _, query = url.partition("?")
    wanted, calls = plan_headers([]), 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        asked = parse_request("GET", path, shape_of(query)[0], wanted, state.options)
        query_for(make_plan(asked, None, state.catalog, state.options))
    finally:
        sys.setprofile(None)
    return calls


def _cached(state: RestState, url: str) -> float:
    path, _, query = url.partition("?")
    headers = [("host", "127.0.0.1"), ("accept", "*/*"), ("apikey", "x" * 40), ("user-agent", "bench")]

    def work() -> None:
        for _ in range(1000):
            shape, _values = shape_of(query)
            key, asked = parse_cached(state, "GET", path, shape, headers)
            plan_and_query(state, key, asked, None)

    return _best(work) / 1000


def _memory_of_shapes(catalog: Catalog, count: int = 1000) -> float:
    """Give the memory of kept plans of different shapes, in MB."""
    state = RestState(Api(schemas=["test"]), catalog)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(count):
        shape, _ = shape_of(f"select=id,a{number}:name,clients(id,name),tasks(id,name)&id=eq.1&order=id.desc")
        key, asked = parse_cached(state, "GET", "/projects", shape, [])
        plan_and_query(state, key, asked, None)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (after - before) / 1e6


async def main() -> int:
    """Measure and print; 1 where a budget is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_record_option(parser)
    options, figures = parser.parse_args(), Figures("planning", BUDGETS)
    if not _CASES.exists():
        print("The conformance cases lie beside the repository, and are not there.", file=sys.stderr)
        return 2
    scripts = [file.read_text() for file in sorted(CONFORMANCE.glob("*.sql"))]
    async with own_server() as server, fresh_database(server.url, *scripts) as url:
        catalog = await catalog_of(as_role(url, "postgrest_test_authenticator"), ["test"])
    state = RestState(Api(schemas=["test"], aggregates_enabled=True), catalog)
    measured = [(costs, each) for each in _reads() if (costs := _measure(state, each)) is not None]
    measured.sort(key=lambda entry: -sum(entry[0]))
    totals = [sum(costs) for costs, _ in measured]
    print(f"{len(measured)} reads, uncached: median {statistics.median(totals):.0f} us, slowest:")
    for (parse, plan, render), each in measured[:5]:
        print(
            f"  {parse + plan + render:5.0f} us (parse {parse:.0f}, plan {plan:.0f}, render {render:.0f})  {each[:150]}"
        )
    calls = statistics.mean(_calls(state, url) for _, url in measured)
    figures.add("new shape, mean of all reads: function calls", calls, "")
    figures.add("new shape, median of all reads: plan", statistics.median(totals), "us")
    figures.add("new shape, slowest read: plan", totals[0], "us")
    for name, each in (("by key", "/projects?select=*&id=eq.1"), ("the slowest", measured[0][1])):
        cost = _cached(state, each)
        figures.add(f"known shape, {name}", cost, "us")
    figures.add("1,000 shapes of a read with two embeds", _memory_of_shapes(catalog), "MB")
    print(f"1,000 shapes: {figures.measured['1,000 shapes of a read with two embeds'].value:.1f} MB")
    return 0 if figures.finish(options.record) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
