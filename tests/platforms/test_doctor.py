"""The doctor at a running platform, and where nothing answers."""

import json
from pathlib import Path

from tests.platform import Platform, free_port, headwater


def test_sound_platform_has_nothing_wrong(running_platform: Platform) -> None:
    done = running_platform.command("doctor", "--json")
    found = {each["title"]: each["level"] for each in json.loads(done.stdout)}

    assert done.returncode in (0, 2), done.stdout
    assert "error" not in found.values()
    assert {"database", "migrations", "realtime", "NATS", "disk", "clock"} <= found.keys()


def test_servers_that_do_not_answer_are_told_with_a_cure(tmp_path: Path) -> None:
    port = free_port()
    servers = {
        "HEADWATER_DB_URL": f"postgresql://a:xyzzy-of-the-url@127.0.0.1:{port}/x",
        "HEADWATER_BROKER_URL": f"nats://127.0.0.1:{port}",
    }

    done = headwater("doctor", "--project", str(tmp_path), environment=servers)

    assert done.returncode == 1
    assert "does not answer" in done.stdout
    assert "HEADWATER_DB_URL" in done.stdout
    assert "xyzzy" not in done.stdout + done.stderr
