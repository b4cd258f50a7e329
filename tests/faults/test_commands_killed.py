"""Commands that are killed at random moments, with all their processes or alone: the same command finishes or undoes what they left.

The moments come from a seed, spread over the time that the command takes when it is left alone. `FAULTS_LONG=1` kills each 20 times.
"""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.killed_platform import KilledPlatform, kill_tree, killed_platform
from tests.platform import Platform, headwater, state_of

pytestmark = [pytest.mark.process_group("commands killed"), pytest.mark.timeout(900)]

_KILLS = 20 if os.environ.get("FAULTS_LONG") else 2
_SEED = int(os.environ.get("FAULTS_SEED", "1"))
_DATABASE_ALONE = ("--pool", "none", "--edge", "none")
_MOST_S = 300


class CommandKiller:
    """Runs one command again and again, and kills it at a random moment."""

    def __init__(self, name: str) -> None:
        self._random = random.Random(f"{_SEED} {name}")
        self._whole_s = 0.0

    def measure(self, *words: str) -> str:
        """Run the command to its end, and remember how long it took; return what it prints."""
        began = time.monotonic()
        done = subprocess.run(_argv(words), capture_output=True, text=True, timeout=_MOST_S, check=False)
        self._whole_s = time.monotonic() - began
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def kill(self, *words: str) -> int | None:
        """Run the command and kill it at a random moment; return its exit code if it was done before."""
        process = subprocess.Popen(_argv(words), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            return process.wait(self._random.uniform(0.1, 1.0) * self._whole_s)
        except subprocess.TimeoutExpired:
            if self._random.random() < 0.5:
                process.kill()
            else:
                kill_tree(process.pid)
            process.wait()
            return None


def _argv(words: tuple[str, ...]) -> list[str]:
    return [sys.executable, "-m", "services.cli.main", *words]


def _done(*words: str, codes: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; its exit code is one of `codes`."""
    done = headwater(*words)
    assert done.returncode in codes, f"{words}: {done.returncode} {done.stdout} {done.stderr}"
    return done


@pytest.fixture(scope="module")
def parent() -> Iterator[tuple[KilledPlatform, Platform]]:
    """A platform whose database alone runs, with a project and some rows."""
    with killed_platform() as place:
        migrations = place.folder / "supabase" / "migrations"
        migrations.mkdir(parents=True)
        (migrations / "20260101000000_state.sql").write_text(
            "create table public.state (text text); insert into public.state select 'saved' from generate_series(1, 20000);"
        )
        words = ("start", "--detach", *place.words, *_DATABASE_ALONE)
        _done(*words)
        yield place, Platform(place.data, place.port, *state_of(place.data))


def _where(place: KilledPlatform) -> tuple[str, ...]:
    return "--data", str(place.data), "--project", str(place.folder)


def _rows(platform: Platform) -> str:
    return platform.psql("select string_agg(distinct text, ',') || count(*) from public.state")


def test_backups_and_restores(parent: tuple[KilledPlatform, Platform]) -> None:
    place, platform = parent
    saving, restoring = CommandKiller("backup"), CommandKiller("restore")
    folder = place.folder / "backup"
    saving.measure("backup", str(folder), *_where(place))
    restoring.measure("restore", str(folder), "--force", *_where(place))
    for number in range(_KILLS):
        other = place.folder / f"backup-{number}"
        code = saving.kill("backup", str(other), *_where(place))
        if code is None and not (other / "manifest.json").exists():
            # One whose command alone was killed may be finished by its process meanwhile, and is whole then.
            restored = headwater("restore", str(other), "--force", *_where(place))
            assert restored.returncode != 0 or (other / "manifest.json").exists(), "it is none"
        _done("backup", str(other), *_where(place), codes=(0, 2))
        assert not (other / "UNFINISHED.txt").exists()

        platform.psql("update public.state set text = 'changed'")
        code = restoring.kill("restore", str(other), "--force", *_where(place))
        assert _rows(platform).count("20000") == 1, "it is the old one or the new one"
        assert ("saved,changed" in _rows(platform)) is False
        _done("restore", str(other), "--force", *_where(place))
        assert "saved20000" in _rows(platform)
    _nothing_is_left(platform)


def _nothing_is_left(platform: Platform) -> None:
    """Wait until no database of a replacement is there: a server goes on dropping one when the command has ended."""
    deadline = time.monotonic() + 60
    left = "select coalesce(string_agg(datname, ','), 'nothing') || ' left' from pg_database where datname like 'headwater%'"
    while "nothing left" not in platform.psql(left):
        assert time.monotonic() < deadline


def test_branches(parent: tuple[KilledPlatform, Platform]) -> None:
    place, _ = parent
    making = CommandKiller("branch create")
    making.measure("branch", "create", "whole", *_where(place))
    for _ in range(_KILLS):
        making.kill("branch", "create", "killed", *_where(place))
        again = _done("branch", "create", "killed", *_where(place), codes=(0, 2))
        assert again.returncode == 0 or "There is a branch killed already" in again.stderr
        listed = json.loads(_done("branch", "list", "-o", "json", *_where(place)).stdout)
        assert sorted(branch["name"] for branch in listed) == ["killed", "whole"]
        folder = place.data / "branches"
        assert [
            path.name for path in folder.iterdir() if path.name.startswith((".making", ".deleting"))
        ] == []
        _runs_alone(place, "killed", lambda branch: "saved20000" in _rows(branch))
        CommandKiller.kill(making, "branch", "delete", "killed", "--yes", *_where(place))
        _done("branch", "delete", "killed", "--yes", *_where(place), codes=(0, 2))
    _done("branch", "delete", "whole", "--yes", *_where(place))


def _runs_alone(place: KilledPlatform, name: str, check: Callable[[Platform], bool]) -> None:
    _done("start", "--branch", name, "--detach", *_DATABASE_ALONE, *_where(place))
    data = place.data / "branches" / name
    try:
        assert check(Platform(data, 0, *state_of(data)))
    finally:
        _done("stop", "--data", str(data))


def test_merges(parent: tuple[KilledPlatform, Platform]) -> None:
    place, platform = parent
    _done("start", "--branch", "work", "--detach", *_DATABASE_ALONE, *_where(place))
    data = place.data / "branches" / "work"
    branch = Platform(data, 0, *state_of(data))
    try:
        merging = CommandKiller("branch merge")
        branch.psql("create table public.first (id int)")
        merging.measure("branch", "merge", "work", "--yes", *_where(place))
        for number in range(_KILLS):
            branch.psql(f"create table public.added_{number} (id int primary key)")
            merging.kill("branch", "merge", "work", "--yes", *_where(place))
            _done("branch", "merge", "work", "--yes", *_where(place))
            assert "added 1" in platform.psql(
                f"select 'added ' || count(*) from pg_tables where tablename = 'added_{number}'"
            )
            for one in (platform, branch):
                assert "up to date" in one.command("migration", "up").stderr
            written = [path.read_text() for path in (place.folder / "supabase" / "migrations").iterdir()]
            assert sum(f"added_{number}" in text for text in written) == 1
    finally:
        _done("stop", "--data", str(data))


def test_projects(tmp_path: Path) -> None:
    root = ("--root", str(tmp_path / "server"))
    adding, removing = CommandKiller("projects add"), CommandKiller("projects remove")
    adding.measure("projects", *root, "add", "first")
    removing.measure("projects", *root, "remove", "first", "--yes", "--delete-data")
    for number in range(_KILLS):
        name = f"killed{number}"
        adding.kill("projects", *root, "add", name)
        _done("projects", *root, "add", name, codes=(0, 2))
        listed = json.loads(_done("projects", *root, "list", "-o", "json").stdout)
        assert [project["name"] for project in listed] == [name]
        values = json.loads(_done("projects", *root, "status", name, "-o", "json").stdout)
        assert values["SERVICE_ROLE_KEY"]
        removing.kill("projects", *root, "remove", name, "--yes", "--delete-data")
        _done("projects", *root, "remove", name, "--yes", "--delete-data", codes=(0, 2))
        assert json.loads(_done("projects", *root, "list", "-o", "json").stdout) == []
