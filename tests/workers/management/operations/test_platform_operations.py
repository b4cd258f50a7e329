"""Health and addresses of a running platform."""

import json
import urllib.request

import pytest

from tests.platform import Platform
from tests.workers.management.operations.conftest import RemoteAdministrator


def test_every_part_is_reported(reader: RemoteAdministrator, managed: Platform) -> None:
    managed.get("/rest/v1/")
    health = reader.run("platform.health")
    pools = {pool["name"]: pool for pool in health["pools"]}

    assert {"rest", "auth", "storage", "management", "realtime"} <= {
        name for name, pool in pools.items() if pool["state"] == "up"
    }
    assert pools["functions"]["state"] in ("waiting", "up")
    assert pools["rest"]["processes"] >= 1
    serving = {name for process in health["processes"] for name in process["pools"]}
    assert {"rest", "management"} <= serving
    assert all(process["memory_bytes"] > 0 for process in health["processes"])
    assert health["broker"]["is_up"] is True
    assert {stream["name"] for stream in health["broker"]["streams"]} >= {"STORAGE_EVENTS"}
    assert health["database"]["bytes"] > 0
    assert health["database"]["connections"] <= health["database"]["max_connections"]
    assert health["slot"]["is_active"] is True
    assert 0 < health["disk"]["free_bytes"] <= health["disk"]["total_bytes"]


def test_requests_are_counted_between_two_looks(reader: RemoteAdministrator, managed: Platform) -> None:
    before = reader.run("platform.health", span_s=3600)
    for _ in range(5):
        assert managed.get("/rest/v1/orders_that_are_not_there")[0] == 404
    after = reader.run("platform.health", span_s=3600)

    def rest(health: dict[str, object]) -> dict[str, object]:
        [pool] = [pool for pool in health["pools"] if pool["name"] == "rest"]
        return pool

    assert after["counted_s"] is not None
    assert rest(after)["answered"] - rest(before)["answered"] == 5
    assert rest(after)["p99_ms"] >= rest(after)["p50_ms"] > 0


def test_figures_are_listed_by_minute(reader: RemoteAdministrator, managed: Platform) -> None:
    def answered(**arguments: object) -> int:
        series = reader.run("platform.figures", **arguments)
        return sum(point["answered"] for point in series["points"])

    reader.run("platform.health")
    before, before_all = answered(pool="rest"), answered()
    for _ in range(4):
        assert managed.get("/rest/v1/orders_that_are_not_there")[0] == 404
    series = reader.run("platform.figures", span_s=3600, pool="rest")

    assert sum(point["answered"] for point in series["points"]) - before == 4
    assert answered() >= before_all + 4
    times = [(point["p50_ms"], point["p99_ms"]) for point in series["points"] if point["answered"]]
    assert times
    assert all(0 < p50 <= p99 for p50, p99 in times)
    assert [point["ended_at"] for point in series["points"]] == sorted(
        point["ended_at"] for point in series["points"]
    )
    assert {"rest", "management"} <= set(series["pools"])
    assert reader.run("platform.figures", pool="no_such_pool")["points"][-1]["answered"] == 0


@pytest.mark.parametrize("span_s", [0, 59, -1, 3601, 1e300])
def test_time_spans_of_figures_have_bounds(reader: RemoteAdministrator, span_s: float) -> None:
    assert reader.refused("platform.figures", span_s=span_s) == (400, "invalid_arguments")


@pytest.mark.parametrize("span_s", [0, -1, 3601, 1e300])
def test_time_spans_have_bounds(reader: RemoteAdministrator, span_s: float) -> None:
    assert reader.refused("platform.health", span_s=span_s) == (400, "invalid_arguments")


def test_the_snippets_hold_the_public_key_and_no_secret(
    reader: RemoteAdministrator, managed: Platform
) -> None:
    snippets = reader.run("platform.snippets")

    assert snippets["url"] == managed.url
    request = urllib.request.Request(
        f"{snippets['rest_url']}/", headers={"apikey": snippets["publishable_key"]}
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 200
    text = json.dumps(snippets)
    assert all(snippets["publishable_key"] in snippet["code"] for snippet in snippets["snippets"])
    for secret in ("SERVICE_ROLE_KEY", "SECRET_KEY", "JWT_SECRET"):
        assert managed.values[secret] not in text
