"""The table of processes, and that what is made of it is up to date."""

import subprocess
import sys
import tomllib
from pathlib import Path

from services.__main__ import EDGES
from services.supervisor.processes.plan import LOGINS, POOLS

ROOT = Path(__file__).parents[2]
TABLE = tomllib.loads((ROOT / "deploy" / "processes.toml").read_text())
PROCESSES = {row["name"]: row for row in TABLE["process"]}


def test_files_are_those_of_the_table() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "deployment"), "--check"],
        cwd=ROOT, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_pool_runs_once_and_the_gateway() -> None:
    words = [word for row in PROCESSES.values() for word in row["command"][1:]]

    assert sorted(words) == sorted([*POOLS, "archive", "migrate", "gateway"])
    assert "gateway" in EDGES


def test_a_process_has_the_password_of_its_own_login_and_of_no_other() -> None:
    for row in PROCESSES.values():
        own = {LOGINS[word] for word in row["command"] if word in LOGINS}
        if not row.get("is_job"):
            assert {
                name for name in row.get("files", {}) if name.startswith(("HEADWATER_DB", "HEADWATER_REAL"))
            } == own


def test_time_to_drain_ends_before_the_kill_and_the_edge_leaves_before() -> None:
    assert TABLE["leave_s"] < TABLE["drain_s"] < TABLE["stop_s"]


def test_pools_that_scale_are_those_of_the_metric() -> None:
    for row in PROCESSES.values():
        if "scales_by" in row:
            assert row["scales_by"] in (*row["command"], "cpu")
            assert row["most"] > row["replicas"] >= 2
