"""The restore drill: a platform with continuous backup loses everything at once, and any moment of it comes back elsewhere.

One platform is written to and killed with all its processes. The restores are of other data folders, by the commands that operators type.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from tests.platform import Platform, headwater, platform
from tests.workers.management.operations.conftest import administrator

pytestmark = [pytest.mark.process_group("recovery"), pytest.mark.timeout(300)]

_WAIT_S = 60.0
_KEY = "a2V5IG9mIDMyIGJ5dGVzIGZvciB0aGVzZSB0ZXN0cyE="
_MIGRATION = (
    "create schema if not exists supabase_migrations; create table if not exists supabase_migrations.schema_migrations "
    "(version text primary key, statements text[], name text);"
)


@dataclass(frozen=True)
class Lost:
    """A platform that was killed: its archive, what was written when, and what it had acknowledged."""

    folder: Path
    data: Path
    environment: Mapping[str, str]
    moment: str
    """Between the tenth and the eleventh row, and before the object was deleted."""
    acknowledged: int
    """The last row whose commit was acknowledged."""
    covered: int
    """The last row that was acknowledged before the archive last reported that it has everything."""

    def restore(self, moment: str, *options: str) -> "subprocess.CompletedProcess[str]":
        return headwater(
            "restore", "--to", moment, "--data", str(self.data), "--project", str(self.folder), *options,
            environment=self.environment,
        )  # fmt: skip


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lost]:
    folder = tmp_path_factory.mktemp("recovery")
    for path in (folder, *folder.parents):
        with contextlib.suppress(OSError):
            path.chmod(path.stat().st_mode | 0o011)
    environment = {
        "HEADWATER_BACKUP_CONTINUOUS": "true",
        "HEADWATER_BACKUP_KEY": _KEY,
        "HEADWATER_BACKUP_PATH": str(folder / "archive"),
        "HEADWATER_BACKUP_INTERVAL": "0.5",
    }
    with platform(environment=environment) as one:
        moment = _write_history(one)
        _operators_see_it(one)
        _a_drill_restores_and_asks_everything(one)
        _tenants_cannot_reach_it(one)
        acknowledged, covered = _write_until_all_is_killed(one)
        yield Lost(folder, one.data, environment, moment, acknowledged, covered)


def _write_history(one: Platform) -> str:
    """Write rows, an object, a secret and a migration; return a moment in the middle."""
    _until(lambda: _status(one.data).get("base_at") is not None)
    one.psql("create table public.notes (id int primary key, at timestamptz default clock_timestamp())")
    one.psql("select vault.create_secret('s3cret', 'kept')")
    _call(one, "POST", "/storage/v1/bucket", json.dumps({"name": "files", "public": True}).encode())
    _call(one, "POST", "/storage/v1/object/files/kept", b"bytes of an object" * 1000, "text/plain")
    one.psql("insert into public.notes select generate_series(1, 10)")
    _until(lambda: _has_object(one))
    moment = one.command("psql", "-Atc", "select clock_timestamp()").stdout.strip()
    one.psql("insert into public.notes select generate_series(11, 20)")
    _call(one, "DELETE", "/storage/v1/object/files/kept", b"")
    one.psql(_MIGRATION)
    one.psql("begin; drop table if exists public.gone; alter table public.notes add column more text; "
             "insert into supabase_migrations.schema_migrations values ('20261122101500', '{}', 'more'); commit")  # fmt: skip
    _covers_now(one)
    return moment


def _has_object(one: Platform) -> bool:
    archive = Path(one.environment["HEADWATER_BACKUP_PATH"])
    return any(path.is_file() for path in archive.glob("*/objects/**/*"))


def _covers_now(one: Platform) -> None:
    """Wait until everything of now is stored."""
    now = time.time()
    _until(lambda: (_status(one.data).get("covered_until") or 0.0) > now)


def _operators_see_it(one: Platform) -> None:
    """The age of the last stored moment is in the metrics, in `status` and in `doctor`."""
    metrics = one.metrics()[1].decode()
    assert re.search(r"^headwater_archive_up\{.*\} 1\.0$", metrics, re.MULTILINE), metrics
    assert "headwater_archive_lag_seconds{" in metrics
    assert re.search(
        r"everything until \d+ s ago is stored; last base backup 20", one.command("status").stdout
    )
    doctor = headwater("doctor", "--data", str(one.data), environment=one.environment).stdout
    assert re.search(r"continuous backup: everything until \d+ s ago is stored in headwater_archive_", doctor)
    backup = administrator(one, "reader", "--rights", "reader").run("backups.continuous")
    [base] = backup["bases"]
    assert backup["state"] in ("good", "behind")
    assert backup["oldest"] == base["ended_at"] <= backup["covered_until"]
    assert backup["place"] == one.environment["HEADWATER_BACKUP_PATH"]
    assert backup["command"] == f"headwater restore --data {one.data}"
    assert _KEY not in str(backup)


def _a_drill_restores_and_asks_everything(one: Platform) -> None:
    """The newest state is restored beside the platform, compared with it, started, asked and removed."""
    command = ("--data", str(one.data), "--project", str(one.data.parent))
    done = headwater("backup", "--drill", *command, environment=one.environment)
    assert done.returncode == 0, done.stderr
    found = r"^restored .* tables with \d+ rows, \d+ indexes, answers of rest, auth, storage, graphql$"
    assert re.search(found, done.stdout, re.MULTILINE), done.stdout
    drill = json.loads((one.data / "drill.json").read_text())
    assert (drill["faults"], drill["rows"] >= 20) == ([], True)
    assert not (one.data / "branches" / "restore-drill").exists()
    doctor = headwater("doctor", "--data", str(one.data), environment=one.environment).stdout
    assert "restore drill: " in doctor
    assert re.search(r"^headwater_restore_drill_faults\{.*\} 0\.0$", one.metrics()[1].decode(), re.MULTILINE)


def _tenants_cannot_reach_it(one: Platform) -> None:
    """Role postgres cannot end, move or read the archive, nor copy the cluster; other processes do not have the key."""
    archive = _status(one.data)["archive"]
    for sql, reason in (
        ("alter system set max_wal_senders = 0", "permission denied"),
        ("alter system set archive_command = 'touch /tmp/x'", "permission denied"),
        (f"select pg_drop_replication_slot('{archive}')", "is active"),
        (f"select pg_replication_slot_advance('{archive}', pg_current_wal_lsn())", "is active"),
        ("select pg_terminate_backend(pid) from pg_stat_replication", "permission denied|SUPERUSER"),
        (f"select pg_read_file('{one.data / 'archive.json'}')", "permission denied"),
        (f"copy (select 1) to '{one.environment['HEADWATER_BACKUP_PATH']}/x'", "permission denied"),
        ("copy (select 1) to program 'true'", "permission denied"),
        ("select pg_backup_start('x')", "permission denied"),
        ("select pg_create_restore_point('x')", "permission denied"),
    ):
        done = one.command("psql", "-c", sql)
        assert done.returncode != 0, sql
        assert any(words in done.stderr for words in reason.split("|")), (sql, done.stderr)
    with pytest.raises(psycopg.OperationalError, match=r"no pg_hba\.conf entry for replication"):
        psycopg.connect(one.values["DB_URL"], replication="true")
    for child in json.loads((one.data / "state.json").read_text())["children"]:
        if (
            child["pid"]
            and child["name"] != "archive"
            and os.geteuid() == Path(f"/proc/{child['pid']}").stat().st_uid
        ):
            assert _KEY not in Path(f"/proc/{child['pid']}/environ").read_text(errors="replace"), child[
                "name"
            ]


def _write_until_all_is_killed(one: Platform) -> tuple[int, int]:
    """Commit row after row, kill every process in the middle; return the last acknowledged row, and the last that is surely stored."""
    acknowledged: list[tuple[int, float]] = []
    end = time.monotonic() + 3.0
    with psycopg.connect(one.values["DB_URL"], autocommit=True) as connection:
        number = 1000
        while time.monotonic() < end:
            connection.execute("insert into public.notes (id) values (%s)", (number,))
            acknowledged.append((number, time.time()))
            number += 1
        covered = _status(one.data)["covered_until"]
        assert isinstance(covered, float)
        _kill_everything(one)
    stored = [row for row, at in acknowledged if at < covered - 0.05]
    return acknowledged[-1][0], stored[-1]


def _kill_everything(one: Platform) -> None:
    """Kill the supervisor and all its descendants, and wait until they are gone."""
    processes = _descendants(one.pid)
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    _until(lambda: not any(_runs(pid) for pid in processes))


def _descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            children.setdefault(int(stat.read_text().rpartition(")")[2].split()[1]), []).append(
                int(stat.parent.name)
            )
    listed = [pid]
    for parent in listed:
        listed += children.get(parent, [])
    return listed


def _runs(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@contextlib.contextmanager
def started(data: Path, lost: Lost) -> Iterator[Platform]:
    """Start the database and the archive of a restored data folder for a block."""
    environment = {**lost.environment, "HEADWATER_BACKUP_PATH": str(lost.folder / "archive")}
    begun = headwater(
        "start", "--detach", "--data", str(data), "--project", str(lost.folder), "--port", "0", "--edge", "none",
        "--pool", "none", environment=environment,
    )  # fmt: skip
    assert begun.returncode == 0, begun.stderr
    state = json.loads((data / "state.json").read_text())
    try:
        yield Platform(data, 0, state["pid"], state["values"], environment)
    finally:
        headwater("stop", "--data", str(data))


def test_a_moment_comes_back_with_rows_objects_and_secrets_and_begins_an_archive_of_its_own(
    lost: Lost,
) -> None:
    target = lost.folder / "moment"

    shown = lost.restore(lost.moment, "--dry-run")
    key = (lost.data / "sealing.key").read_bytes()
    (lost.data / "sealing.key").unlink()  # the archive alone has it now
    done = lost.restore(lost.moment, "--into", str(target))
    (lost.data / "sealing.key").write_bytes(key)

    assert shown.returncode == 0, shown.stderr
    assert "base backup of" in shown.stdout
    assert not any(path.name.startswith("data-restored") for path in lost.data.parent.iterdir())
    assert done.returncode == 0, done.stderr
    assert "1 objects (1 from the archive)" in done.stdout
    assert (target / "sealing.key").read_bytes() == key
    with started(target, lost) as one:
        assert _query(one, "select count(*), max(id) from public.notes") == "10|10"
        assert (
            _query(one, "select decrypted_secret from vault.decrypted_secrets where name = 'kept'")
            == "s3cret"
        )
        blobs = [path.read_bytes() for path in (target / "storage" / "objects").rglob("*") if path.is_file()]
        assert blobs == [b"bytes of an object" * 1000]
        _until(lambda: _status(one.data).get("base_at") is not None)
        one.psql("insert into public.notes (id) values (500)")
        _covers_now(one)
        second = str(_status(one.data)["archive"])
    again = lost.restore("latest", "--into", str(lost.folder / "again"), "--archive", second)

    assert again.returncode == 0, again.stderr  # the log of the second timeline
    with started(lost.folder / "again", lost) as one:
        assert _query(one, "select max(id) from public.notes") == "500"
        assert _query(one, "select timeline_id from pg_control_checkpoint()") in ("2", "3")


def test_a_branch_has_the_database_and_objects_of_a_past_moment_and_keys_of_its_own(lost: Lost) -> None:
    def branch(*words: str) -> "subprocess.CompletedProcess[str]":
        return headwater(
            "branch", *words, "--data", str(lost.data), "--project", str(lost.folder), environment=lost.environment
        )  # fmt: skip

    early = branch("create", "early", "--at", "2020-01-01 10:00")
    done = branch("create", "past", "--at", lost.moment, "--archive", _first_archive(lost))
    data = lost.data / "branches" / "past"

    assert early.returncode == 2, early.stdout
    assert "is not in the archive, which has:" in early.stderr
    assert done.returncode == 0, done.stderr
    assert [path.name for path in data.parent.iterdir() if path.name != ".turn"] == ["past"]
    with started(data, lost) as one:
        assert _query(one, "select count(*), max(id) from public.notes") == "10|10"
        assert _query(one, "select count(*) from vault.secrets") == "0"
        assert (
            one.values["JWT_SECRET"]
            != json.loads((lost.data / "state.json").read_text())["values"]["JWT_SECRET"]
        )
    blobs = [path.read_bytes() for path in (data / "storage" / "objects").rglob("*") if path.is_file()]
    assert blobs == [b"bytes of an object" * 1000]
    assert branch("delete", "past", "--yes").returncode == 0


def test_what_was_acknowledged_before_the_last_report_is_there_after_everything_was_killed(
    lost: Lost,
) -> None:
    target = lost.folder / "latest"
    done = lost.restore("latest", "--into", str(target), "--archive", _first_archive(lost))

    assert done.returncode == 0, done.stderr
    with started(target, lost) as one:
        last = int(_query(one, "select max(id) from public.notes"))
        count = int(_query(one, "select count(*) from public.notes where id >= 1000"))
    assert lost.covered <= last <= lost.acknowledged + 1
    assert count == last - 1000 + 1
    shutil.rmtree(target)


def _first_archive(lost: Lost) -> str:
    listed = sorted((lost.folder / "archive" / "archives").iterdir(), key=lambda path: path.stat().st_mtime)
    return listed[0].name


def test_before_a_migration_its_column_is_not_there(lost: Lost) -> None:
    target = lost.folder / "before"
    done = lost.restore("before migration 20261122101500", "--into", str(target))

    assert done.returncode == 0, done.stderr
    assert "20261122101500" in done.stdout
    with started(target, lost) as one:
        columns = _query(one, "select count(*) from information_schema.columns where table_name = 'notes'")
        assert (columns, _query(one, "select max(id) from public.notes")) == ("2", "20")


def test_the_files_for_an_outside_server_say_where_it_stops(lost: Lost) -> None:
    target = lost.folder / "files"
    done = lost.restore(lost.moment, "--into", str(target), "--files-only", "--archive", _first_archive(lost))

    assert done.returncode == 0, done.stderr
    settings = (target / "postgresql.auto.conf").read_text()
    assert "recovery_target_time = '" in settings
    assert "restore_command = 'false'" in settings
    assert (target / "recovery.signal").exists()
    assert (target / "backup_label").exists()
    assert len([path for path in (target / "pg_wal").iterdir() if path.is_file()]) > 0


def test_moments_and_keys_that_are_none_are_refused_and_nothing_is_made(lost: Lost) -> None:
    target = lost.folder / "none"
    for moment, environment, reason in (
        ("2020-01-01 10:00", lost.environment, "is not in the archive, which has:"),
        ("yesterday", lost.environment, "is no moment: write"),
        ("before migration 7", lost.environment, "No archive has seen the migration 7"),
        (lost.moment, {**lost.environment, "HEADWATER_BACKUP_KEY": _other_key()}, "not among backup.key"),
        (lost.moment, {**lost.environment, "HEADWATER_BACKUP_KEY": ""}, "set backup.key"),
    ):
        done = headwater(
            "restore", "--to", moment, "--data", str(lost.data), "--project", str(lost.folder), "--into", str(target),
            environment=environment,
        )  # fmt: skip
        assert done.returncode == 2, done.stdout
        assert reason in done.stderr, done.stderr
    assert not target.exists()


def _other_key() -> str:
    done = headwater("keys", "--backup", "-o", "json")
    return str(json.loads(done.stdout)["HEADWATER_BACKUP_KEY"])


def test_a_damaged_piece_and_a_gap_are_detected_and_refused_with_the_reason(lost: Lost) -> None:
    archive = _first_archive(lost)
    pieces = sorted((lost.folder / "archive" / archive / "wal").iterdir())
    middle = pieces[len(pieces) // 2]
    content = middle.read_bytes()
    options = ("--archive", archive, "--into", str(lost.folder / "damaged"))

    middle.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    damaged = lost.restore("latest", *options)
    verified = headwater(
        "backup",
        "--verify",
        "--data",
        str(lost.data),
        "--project",
        str(lost.folder),
        environment=lost.environment,
    )
    middle.unlink()
    gap = lost.restore("latest", *options)
    middle.write_bytes(content)

    assert (damaged.returncode, verified.returncode, gap.returncode) == (2, 2, 2)
    assert "is damaged: its content was changed" in damaged.stderr
    assert middle.name in verified.stdout
    assert "is missing in the archive" in gap.stderr
    assert not (lost.folder / "damaged" / "postgres" / "data").exists()


def _query(one: Platform, sql: str) -> str:
    done = one.command("psql", "-Atc", sql)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def _status(data: Path) -> dict[str, object]:
    try:
        return dict(json.loads((data / "archive.json").read_text()))
    except OSError:
        return {}


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _WAIT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _call(one: Platform, method: str, path: str, data: bytes, kind: str = "application/json") -> None:
    key = one.values["SERVICE_ROLE_KEY"]
    headers = {"apikey": key, "Authorization": f"Bearer {key}", "Content-Type": kind}
    request = urllib.request.Request(one.url + path, data or None, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as response:
        response.read()
