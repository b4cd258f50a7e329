"""The metrics of a whole platform: every pool and edge shows its own, and all that the dashboard asks for is there."""

import json
import os
import re
from pathlib import Path

import httpx
import psutil
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


_CONFLICTS = {
    f"pg_stat_database_conflicts_confl_{kind}"
    for kind in ("tablespace", "lock", "snapshot", "bufferpin", "deadlock")
}
_HOSTED = {
    "Quick CPU / Mem / Disk": {
        "node_cpu_seconds", "node_load5", "node_load15", "node_memory_MemTotal_bytes", "node_memory_MemAvailable_bytes", "node_memory_SwapTotal_bytes",
        "node_memory_SwapFree_bytes", "node_filesystem_avail_bytes", "node_filesystem_size_bytes", "node_time_seconds", "node_boot_time_seconds",
    },
    "Basic CPU / Mem / Net / Disk": {
        "node_memory_MemFree_bytes", "node_memory_Cached_bytes", "node_memory_Buffers_bytes", "node_network_receive_bytes",
        "node_network_transmit_bytes",
    },
    "Postgres": {
        "pg_database_size_mb", "pg_stat_database_num_backends", "pg_up", "supabase_usage_metrics_user_queries", "pg_stat_statements_total_queries",
        "pg_stat_statements_total_time_seconds", "pg_stat_database_xact_commit", "pg_stat_database_xact_rollback", "pg_stat_database_deadlocks",
        "pg_settings_default_transaction_read_only", "pg_status_in_recovery", *_CONFLICTS,
    },
    "Postgres: realtime": {"replication_realtime_slot_status", "replication_realtime_lag_bytes"},
    "Postgres: bgwriter": {
        *(f"pg_stat_bgwriter_{each}" for each in (
            "checkpoints_timed", "checkpoints_req", "checkpoint_write_time", "checkpoint_sync_time", "buffers_checkpoint", "buffers_clean",
            "buffers_backend", "buffers_alloc", "maxwritten_clean", "buffers_backend_fsync",
        )),
    },
    "CPU / Memory / Net / Disk": {
        "node_memory_Slab_bytes", "node_memory_PageTables_bytes", "node_memory_SwapCached_bytes", "node_network_receive_packets",
        "node_network_transmit_packets", "node_disk_reads_completed", "node_disk_writes_completed", "node_disk_read_bytes",
        "node_disk_written_bytes", "node_disk_io_time_seconds",
    },
    "Memory Vmstat": {f"node_vmstat_{each}" for each in ("pgpgin", "pgpgout", "pswpin", "pswpout", "pgfault", "pgmajfault", "oom_kill")},
}  # fmt: skip
"""Metrics of the published dashboard for hosted projects (repository supabase-grafana), by its rows; the parser leaves out `_total`."""


def test_the_dashboard_of_hosted_projects_finds_its_metrics(running_platform: Platform) -> None:
    address = f"{running_platform.url}/customer/v1/privileged/metrics"
    answer = httpx.get(address, auth=("service_role", running_platform.values["SECRET_KEY"]), timeout=30)
    families = {family.name: family.samples for family in text_string_to_metric_families(answer.text)}
    hosted = {name for name in families if not name.startswith(("headwater_", "process_"))}

    assert {row: names - hosted for row, names in _HOSTED.items() if names - hosted} == {}
    assert len({sample.labels["supabase_project_ref"] for name in hosted for sample in families[name]}) == 1
    [memory] = families["node_memory_MemTotal_bytes"]
    assert memory.value == psutil.virtual_memory().total
    sizes = {sample.labels["mountpoint"]: sample.value for sample in families["node_filesystem_size_bytes"]}
    root = os.statvfs("/")
    assert sizes["/"] == root.f_blocks * root.f_frsize
    assert "/data" in sizes
    modes = {sample.labels["mode"] for sample in families["node_cpu_seconds"]}
    assert {"user", "system", "idle", "iowait"} <= modes
    [up], [slot] = families["pg_up"], families["replication_realtime_slot_status"]
    assert (up.value, slot.value) == (1, 1)
    assert families["pg_stat_statements_total_queries"][0].value > 0
    direct = httpx.get(
        f"{running_platform.url}/pg/metrics",
        headers={"apikey": running_platform.values["ANON_KEY"]},
        timeout=30,
    )
    assert direct.status_code == 403
