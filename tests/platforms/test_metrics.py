"""The metrics of a whole platform: every pool and edge shows its own, and all that the dashboard asks for is there."""

import json
import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from services.supervisor.processes.plan import POOLS
from tests.platform import Platform

ROOT = Path(__file__).parents[2]
_NAME = re.compile(r"\b((?:headwater|process)_[a-z_]+)\b(?=[\[{)]|$)")
_ASKED = {
    "functions": "/functions/v1/nothing",
    "rest": "/rest/v1/",
    "auth": "/auth/v1/settings",
    "storage": "/storage/v1/bucket",
}
_IDLE = {"replication", "scheduler", "webhooks", "history", "streams"}
"""Pools that take no requests: they work by themselves, where there is something to do, and have gauges of their own."""


def _samples(running_platform: Platform) -> dict[str, list[dict[str, str]]]:
    """Give the labels of all samples by the name of their metric."""
    status, text = running_platform.metrics()
    assert status == 200
    found: dict[str, list[dict[str, str]]] = {}
    for family in text_string_to_metric_families(text.decode()):
        found.setdefault(family.name, [])
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample.labels)
    return found


def test_every_metric_of_the_dashboard_is_shown_by_the_house(running_platform: Platform) -> None:
    for path in _ASKED.values():
        running_platform.get(path)
    panels = json.loads((ROOT / "deploy" / "grafana.json").read_text())["panels"]
    asked = {name for panel in panels for each in panel["targets"] for name in _NAME.findall(each["expr"])}
    shown = _samples(running_platform)
    shown_names = shown.keys() | {f"{name}_total" for name in shown} | {f"{name}_bucket" for name in shown}

    assert len(asked) > 20
    # Processes of functions start with the first function: their numbers are looked at where there are some.
    assert {name for name in asked - shown_names if not name.startswith("headwater_function_")} == set()


def test_every_pool_tells_of_its_work(running_platform: Platform) -> None:
    shown = _samples(running_platform)
    working = {labels["pool"].removeprefix("health.") for labels in shown["headwater_pool_working"]}

    assert set(POOLS) - _IDLE - {"functions"} <= working
    assert shown["headwater_replication_leader"]
    assert shown["headwater_scheduler_leader"]
    assert {"edges", "workers"} <= {labels["process"] for labels in shown["process_resident_memory_bytes"]}
