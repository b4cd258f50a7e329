"""A platform whose project and data folder have the strangest path of all: start, a row by REST, backup, stop."""

import json
import shutil
import tempfile
import urllib.request
from pathlib import Path

import pytest

from tests.fast import skip_in_fast_run
from tests.platform import Platform, headwater, prepare_data, state_of
from tests.ports import free_port
from tests.services.supervisor.test_strange_paths import STRANGE

_LONG = "und so weiter " * 8


@pytest.fixture
def folder():
    skip_in_fast_run("platform")
    top = Path(tempfile.mkdtemp(prefix="headwater-test-"))
    top.chmod(0o711)
    real = top / STRANGE / _LONG.strip()
    real.mkdir(parents=True)
    (top / "link").symlink_to(real)
    try:
        yield top / "link" / "Überordner"
    finally:
        shutil.rmtree(top, ignore_errors=True)


def test_a_platform_at_the_strangest_path_starts_answers_and_is_backed_up(folder):
    folder.mkdir()
    data = folder / "data"
    prepare_data(data)
    started = headwater(
        "start", "--detach", "--data", str(data), "--project", str(folder), "--port", str(free_port()),
        "--pool", "rest", "--edge", "gateway",
    )  # fmt: skip
    try:
        assert started.returncode == 0, started.stdout + started.stderr
        one = Platform(data, 0, *state_of(data))
        one.psql("create table public.marks (id int primary key); grant all on public.marks to service_role")
        one.wait_for_catalog("marks")
        key = one.values["SERVICE_ROLE_KEY"]
        request = urllib.request.Request(
            f"{one.url}/rest/v1/marks",
            json.dumps({"id": 7}).encode(),
            {"apikey": key, "Authorization": f"Bearer {key}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert answer.status == 201

        saved = headwater("backup", str(folder / "saved"), "--data", str(data))

        assert saved.returncode == 0, saved.stdout + saved.stderr
    finally:
        stopped = headwater("stop", "--data", str(data))
    assert stopped.returncode == 0, stopped.stdout + stopped.stderr
