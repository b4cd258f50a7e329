"""Replication as a part of the platform: its process, its health, its metrics, and being switched off."""

import time
from pathlib import Path

from tests.platform import headwater, platform


def test_a_platform_reads_its_log_until_realtime_is_switched_off():
    with platform() as running:
        _until(
            lambda: "t" in running.psql("select 'is ' || active from pg_replication_slots").split("is ")[-1]
        )
        assert running.get("/health/ready")[0] == 200
        assert b'headwater_replication_leader{process="workers"' in running.get("/metrics")[1]
        assert "1GB" in running.psql("show max_slot_wal_keep_size")
        assert running.command("stop").returncode == 0

        again = headwater(
            "start", "--detach", "--data", str(running.data), "--project", str(Path(running.data).parent),
            "--port", str(running.port), environment={"HEADWATER_REALTIME_ENABLED": "false"},
        )  # fmt: skip
        assert again.returncode == 0, again.stderr
        assert "headwater_changes" not in running.psql("select slot_name from pg_replication_slots")


def _until(holds) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)
