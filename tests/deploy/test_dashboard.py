"""Every metric that the dashboard shows exists in the code."""

import json
import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
_METRIC = re.compile(r"\bheadwater_[a-z_]+")
_SUFFIXES = re.compile(r"_(total|bucket|sum|count)$")
_PREFIX = re.compile(r'prefix.*"(headwater_[a-z]+_)"')
_PREFIXED = re.compile(r'gauge\(\s*prefix \+ "([a-z_]+)"')


def _metrics_of_the_code() -> set[str]:
    found: set[str] = set()
    for package in ("broker", "services", "workers"):
        for path in (ROOT / package).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            found |= set(re.findall(r'"(headwater_[a-z_]+)"', text))
            for prefix in _PREFIX.findall(text):
                found |= {prefix + name for name in _PREFIXED.findall(text)}
    return found


def test_metrics_of_the_dashboard_exist() -> None:
    dashboard = json.loads((ROOT / "deploy" / "grafana.json").read_text())
    asked = {
        _SUFFIXES.sub("", name)
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in _METRIC.findall(target["expr"])
    }

    assert asked
    assert asked <= _metrics_of_the_code()


def test_kinds_of_the_dashboard_are_observations() -> None:
    text = (ROOT / "deploy" / "grafana.json").read_text()
    asked = {kind for group in re.findall(r'kind=~\\"([A-Za-z|]+)\\"', text) for kind in group.split("|")}
    source = "".join(
        path.read_text(encoding="utf-8")
        for package in ("broker", "services", "workers")
        for path in (ROOT / package).rglob("*.py")
    )

    assert len(asked) > 30
    assert {kind for kind in asked if f"class {kind}(" not in source} == set()


def test_every_pool_and_the_edges_have_panels_of_their_own() -> None:
    text = (ROOT / "deploy" / "grafana.json").read_text()

    for name in (
        "headwater_pool_working", "headwater_replication_", "headwater_realtime_", "headwater_scheduler_leader", "JobRan",
        "headwater_function_processes", "ImageRendered", "headwater_storage_events_waiting", "headwater_graphql_",
        "HookFailed", "headwater_calls_in_flight", "headwater_calls_failed_total", "process_resident_memory_bytes",
    ):  # fmt: skip
        assert name in text


def test_panels_have_names_and_places_of_their_own() -> None:
    panels = json.loads((ROOT / "deploy" / "grafana.json").read_text())["panels"]

    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}) == len(panels)


def test_scrape_example_asks_for_the_metrics_with_the_token() -> None:
    (job,) = yaml.safe_load((ROOT / "deploy" / "prometheus.yml").read_text())["scrape_configs"]

    assert job["metrics_path"] == "/metrics"
    assert job["authorization"]["credentials_file"] == "/run/secrets/metrics_token"
