"""The page docs/realtime.md, as a reader tries it: its tables, its stream, its messages."""

import json
import os
import shlex
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, block, shell
from tests.node_packages import install_packages
from tests.platform import Platform, platform

PAGE = (ROOT / "docs" / "realtime.md").read_text()
CLIENTS = ROOT / "tests" / "conformance"


@pytest.fixture(scope="module")
def running_platform() -> Iterator[Platform]:
    """A platform with the table of the page."""
    with platform() as one:
        one.psql(block(PAGE, "sql", "create table public.harbours"))
        yield one


def test_the_page_holds(running_platform: Platform, tmp_path: Path) -> None:
    running_platform.psql(block(PAGE, "sql", "captains of the harbour"))
    running_platform.wait_for_catalog("harbours")

    lines = _streamed(running_platform)
    status = shell(
        running_platform,
        tmp_path,
        *(f"{k}={shlex.quote(v)}" for k, v in running_platform.values.items()),
        _broadcast(),
    )

    assert json.loads(next(line for line in lines if "Rotterdam" in line)[6:])["record"]["berths"] == 40
    assert not any("Urk" in line for line in lines)
    assert status.strip() == "202"


@pytest.mark.node
@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not on this machine")
def test_the_scripts_of_the_page_hold(running_platform: Platform, tmp_path: Path) -> None:
    install_packages(CLIENTS)
    (tmp_path / "node_modules").symlink_to(CLIENTS / "node_modules")
    (tmp_path / "rows.mjs").write_text(block(PAGE, "js", "channel('harbours')"))
    environment = {
        **os.environ,
        **running_platform.values,
        "NODE_OPTIONS": "--experimental-websocket",
    }  # docs/first-steps.md
    with subprocess.Popen(
        ["node", "rows.mjs"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        watch = threading.Timer(30, process.kill)
        watch.start()
        assert process.stdout is not None
        first = process.stdout.readline()
        running_platform.psql("insert into harbours (name, berths) values ('Urk', 3), ('Rotterdam', 40)")
        second = process.stdout.readline()
        watch.cancel()
        process.kill()

    assert first == "Subscribed to PostgreSQL\n"
    assert second == "new: Rotterdam\n"


def _broadcast() -> str:
    return block(PAGE, "sh", "/api/broadcast/")


def _streamed(running_platform: Platform) -> list[str]:
    """Run the example with server-sent events, write rows once it is live, and give the lines up to the first change."""
    command = block(PAGE, "sh", "/changes?table=harbours")
    lines: list[str] = []
    with subprocess.Popen(
        ["bash", "-c", f"exec {command}"],
        env={**os.environ, **running_platform.values},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        watch = threading.Timer(30, process.kill)
        watch.start()
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if line.startswith("event: subscribed"):
                running_platform.psql(
                    "insert into harbours (name, berths) values ('Urk', 3), ('Rotterdam', 40)"
                )
            if "Rotterdam" in line:
                break
        watch.cancel()
        process.kill()
    return lines
