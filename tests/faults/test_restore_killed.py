"""A restore, a reset and a backup that are killed: the platform is the old one or the new one, whole, and needs no advice that
is not true.

The processes kill themselves (SIGKILL) at a line that they have just told, so each step is met exactly. Kills at every single
statement to the server: tests/workers/project/test_replace_database.py. `FAULTS_LONG=1` tries every line.
"""

import json
import os
import shutil
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.blobs.store import BlobStore
from broker.processes.data_folder import data_folder
from broker.processes.lifecycle import process_settings
from schemas.settings.tree import Settings
from services.cli.backup import platform_environment
from tests.faults.killed_platform import KilledPlatform, killed_platform
from tests.platform import Platform
from tests.workers.project.killing import kill_at_line, run_until_killed
from workers.backup.restore import restore
from workers.backup.save import save
from workers.project.project_connection import read_project_urls
from workers.project.push import read_project_files
from workers.project.reset import reset

pytestmark = [pytest.mark.process_group("restore killed"), pytest.mark.timeout(300)]

_BEFORE_EXCHANGE = [
    "Looking through",
    "Writing",
    "Filling",
    "Restoring the platform's schemas",
    "Restoring definitions",
    "Restoring rows",
    "Restoring indexes",
    "Exchanging",
]
_AFTER_EXCHANGE = ["The new database is in its place"]
_IS_LONG = bool(os.environ.get("FAULTS_LONG"))
_SHORT = ["Restoring rows", "Exchanging", *_AFTER_EXCHANGE]
_RESET = ["Filling", "The platform's schemas", "The new database is whole"]
_LEFT = "select coalesce(string_agg(datname, ','), 'nothing') || ' left' from pg_database where datname like 'headwater%'"
_LOGINS = "select count(*) || ' logins' from pg_roles where rolname like 'headwater_login_%'"


@pytest.fixture(scope="module")
def killed() -> Iterator[tuple[KilledPlatform, list[Platform], Path]]:
    """A platform with the state `new` saved in a backup, and the state `old` in use."""
    with killed_platform() as killed:
        platform = killed.start()
        platform.psql("create table public.state (text text); insert into public.state values ('new')")
        platform.psql("alter table public.state enable row level security")
        platform.psql("create policy all_see on public.state for select using (true)")
        _send(platform, "POST", "/storage/v1/bucket", b'{"name": "open", "public": true}', "application/json")
        for number in range(12):
            _send(platform, "POST", f"/storage/v1/object/open/new-{number}", b"new" * 1000, "text/plain")
        folder = killed.folder / "backup"
        done = platform.command("backup", str(folder))
        assert done.returncode == 0, done.stderr
        platform.psql("update public.state set text = 'old'")
        _send(platform, "DELETE", "/storage/v1/object/open/new-0", b"", "text/plain")
        _send(platform, "POST", "/storage/v1/object/open/old", b"old", "text/plain")
        platform.wait_for_catalog("state")
        yield killed, [platform], folder


@pytest.mark.parametrize("line", _BEFORE_EXCHANGE + _AFTER_EXCHANGE if _IS_LONG else _SHORT)
def test_a_platform_whose_restore_is_killed_goes_on_whole(
    killed: tuple[KilledPlatform, list[Platform], Path], line: str
) -> None:
    place, running, folder = killed
    platform = running[-1]

    assert _restore_until(platform, folder, line)

    _is_whole(platform, "new" if line in _AFTER_EXCHANGE else "old")
    if line == "Restoring rows":
        advice = platform.command("doctor", "--json").stdout
        told = [each for each in json.loads(advice) if each["title"] == "restore"]
        assert told
        assert "Repeat the restore" in told[0]["cure"]
    if line in ("Restoring rows", *_AFTER_EXCHANGE):
        place.kill_all(platform)
        running.append(place.start())
        platform = running[-1]
    else:
        done = platform.command("restore", str(folder), "--force")
        assert done.returncode == 0, done.stderr
        _is_whole(platform, "new")
        _make_old(platform)
    _nothing_is_left(platform)
    assert "0 logins" in platform.psql(_LOGINS)
    _is_whole(platform, "new" if line in _AFTER_EXCHANGE else "old")
    if line in _AFTER_EXCHANGE:
        _make_old(platform)


def _nothing_is_left(platform: Platform) -> None:
    """Wait until no database of a replacement is there: a slow server goes on dropping when the command has ended."""
    deadline = time.monotonic() + 60
    while "nothing left" not in (left := platform.psql(_LEFT)):
        assert time.monotonic() < deadline, left


@pytest.mark.parametrize("line", _RESET if _IS_LONG else _RESET[1:2])
def test_a_reset_that_is_killed_is_taken_back_or_finished(
    killed: tuple[KilledPlatform, list[Platform], Path], line: str
) -> None:
    place, running, _ = killed
    platform = running[-1]

    assert run_until_killed(lambda: _reset(line), _as_worker(platform))

    advice = json.loads(platform.command("doctor", "--json").stdout)
    told = [each for each in advice if each["title"] == "restore"]
    assert told
    if line != "The new database is whole":
        assert "headwater stop" in told[0]["cure"]
    if line == "Filling":
        assert platform.command("stop").returncode == 0
        running.append(place.start())
        platform = running[-1]
        _is_whole(platform, "old")
    else:
        done = platform.command("db", "reset")
        assert done.returncode == 0, done.stderr
        assert "ERROR" in platform.command("psql", "-c", "select text from public.state").stderr
        restored = platform.command("restore", str(place.folder / "backup"), "--force")
        assert restored.returncode == 0, restored.stderr
        _is_whole(platform, "new")
        _make_old(platform)
    _nothing_is_left(platform)


def test_a_backup_that_is_killed_is_none_and_is_made_by_the_same_command(
    killed: tuple[KilledPlatform, list[Platform], Path], tmp_path: Path
) -> None:
    platform, half = killed[1][-1], tmp_path / "half"
    half.mkdir()
    for line in ("Dumping", "Copying") if _IS_LONG else ("Copying",):
        assert run_until_killed(lambda line=line: _save(half, line), _as_worker(platform))  # type: ignore[misc]
        refused = platform.command("restore", str(half), "--force")
        assert refused.returncode == 2
        assert "interrupted" in refused.stderr
        assert "interrupted" in (half / "UNFINISHED.txt").read_text()

        done = platform.command("backup", str(half))

        assert done.returncode == 0, done.stderr
        assert not (half / "UNFINISHED.txt").exists()
        assert platform.command("backup", str(half)).returncode == 2
        for name in ("manifest.json", "blobs.jsonl", "roles.sql", "database.dump"):
            (half / name).unlink()
        shutil.rmtree(half / "blobs")


def _as_worker(platform: Platform):  # type: ignore[no-untyped-def]  # what `run_until_killed` takes
    """Return what gives a forked process the environment that the command gives its worker."""
    environment = platform_environment(platform.data, None)
    return lambda: os.environ.update(environment)


def _restore_until(platform: Platform, folder: Path, line: str) -> bool:
    async def work() -> None:
        settings = process_settings()
        store = BlobStore.open(settings.storage, data_folder())
        url = os.environ["HEADWATER_MIGRATE_URL"]
        await restore(url, store, folder, settings, force=True, report=kill_at_line(line))

    return run_until_killed(work, _as_worker(platform))


async def _reset(line: str) -> None:
    settings: Settings = process_settings()
    local = read_project_files(Path(os.environ["HEADWATER_PROJECT_FOLDER"]), settings)
    await reset(read_project_urls(os.environ), settings, local, kill_at_line(line))


async def _save(folder: Path, line: str) -> None:
    settings = process_settings()
    store = BlobStore.open(settings.storage, data_folder())
    await save(os.environ["HEADWATER_MIGRATE_URL"], store, folder, "test", kill_at_line(line))


def _is_whole(platform: Platform, state: str) -> None:
    """Assert that the platform answers everything from one of the two states."""
    platform.wait_for_catalog("state")
    assert platform.get("/rest/v1/state") == (
        200,
        json.dumps([{"text": state}], separators=(",", ":")).encode(),
    )
    statuses = {
        name: platform.get(f"/storage/v1/object/public/open/{name}")[0] for name in ("new-0", "old", "new-5")
    }
    gone = (400, 404)
    assert statuses["new-5"] == 200
    assert (statuses["new-0"] == 200) is (state == "new"), statuses
    assert (statuses["old"] in gone) is (state == "new"), statuses


def _make_old(platform: Platform) -> None:
    """Bring the platform from the restored state to the other one again."""
    platform.psql("update public.state set text = 'old'")
    _send(platform, "DELETE", "/storage/v1/object/open/new-0", b"", "text/plain")
    _send(platform, "POST", "/storage/v1/object/open/old", b"old", "text/plain")


def _send(platform: Platform, method: str, path: str, data: bytes, kind: str) -> None:
    key = platform.values["SERVICE_ROLE_KEY"]
    headers = {"apikey": key, "Authorization": f"Bearer {key}", "Content-Type": kind}
    request = urllib.request.Request(platform.url + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=30):
        pass
