"""Every command of the platform, and its background work, against a database that its tenant made as hostile as it can.

The commands run once, in an order in which each meets all that was planted; then each outcome is a test: no code of the tenant
ran with rights that the tenant has not, nobody gained rights, and the command did its work or gave its reason.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.attacks.hostile_files import write_files
from tests.attacks.hostile_schema import PlantedObjects, plant
from tests.attacks.probe import Probe, powers, probe, run_sql, superuser_url
from tests.commands.client import run_loaded
from tests.platform import Platform, platform

_LONGEST_S = 240
pytestmark = [pytest.mark.timeout(1200), pytest.mark.process_group("hostile")]


@dataclass(slots=True)
class Outcome:
    """What came of a command."""

    code: int
    output: str
    reports: list[str]
    seconds: float
    gained: str = ""
    """Who has rights that were not there before."""


@dataclass(slots=True)
class Hostile:
    """The platform, what is planted in it, and the outcomes by name."""

    target: Platform
    probe: Probe
    folder: Path
    planted: PlantedObjects | None = None
    before: str = ""
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def take(self, name: str, work: Callable[[], subprocess.CompletedProcess[str]]) -> None:
        """Do some work and note its outcome; nothing that it does keeps the next from being tried."""
        began = time.monotonic()
        try:
            done = work()
            code, output = done.returncode, done.stdout[-4000:] + done.stderr[-4000:]
        except Exception as error:
            code, output = -1, repr(error)
        try:
            now = powers(self.target)
            gained = "" if now == self.before else f"{self.before}\n{now}"
            self.before = now  # each gain is told once
        except AssertionError as error:
            gained = str(error)
        self.outcomes[name] = Outcome(code, output, self.probe.reports(), time.monotonic() - began, gained)

    def command(self, name: str, *words: str) -> None:
        """Run a command of the platform."""
        self.take(name, lambda: _run(*words, "--data", str(self.target.data)))


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the platform; one that takes too long is killed."""
    try:
        return run_loaded(words, os.environ, Path.cwd(), _LONGEST_S)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(list(words), -signal.SIGKILL, "", f"ended after {_LONGEST_S} s")


def _doctor(hostile: Hostile) -> subprocess.CompletedProcess[str]:
    """Ask the doctor until it finds no error, for a minute: pools open their connections anew after a reset."""
    deadline = time.monotonic() + 60
    while (done := _run("doctor", "--data", str(hostile.target.data))).returncode == 1:
        if time.monotonic() > deadline:
            break
    return done


def _pending(target: Platform) -> None:
    """Have all system migrations pending, as if an update brought them: each is safe to run twice."""
    run_sql(
        superuser_url(target), "set event_triggers = off; set role = none; delete from headwater.migrations"
    )


def _restart(hostile: Hostile) -> subprocess.CompletedProcess[str]:
    _run("stop", "--data", str(hostile.target.data))
    return _run(
        "start",
        "--detach",
        "--data",
        str(hostile.target.data),
        "--project",
        str(hostile.folder),
        "--port",
        str(hostile.target.port),
    )


def _requests(hostile: Hostile) -> subprocess.CompletedProcess[str]:
    """Send requests of all kinds as service_role; give the statuses."""
    table = f"exposed_{hostile.probe.schema}"
    graphql = json.dumps({"query": "{ __typename }"}).encode()
    user = json.dumps(
        {"email": "user@example.com", "password": "a long password", "email_confirm": True}
    ).encode()
    statuses = [
        _request(hostile.target, *one)
        for one in (
            ("GET", f"/rest/v1/{table}?select=*"), ("POST", f"/rest/v1/{table}", b'{"id": 9}'), ("DELETE", f"/rest/v1/{table}?id=eq.9"),
            ("GET", "/rest/v1/"), ("POST", "/graphql/v1", graphql), ("POST", "/auth/v1/admin/users", user), ("GET", "/auth/v1/admin/users"),
            ("POST", "/auth/v1/token?grant_type=password", user), ("POST", "/storage/v1/bucket", b'{"id": "one", "name": "one"}'),
            ("POST", "/storage/v1/object/one/a.txt", b'"bytes"'), ("POST", "/storage/v1/object/list/one", b'{"prefix": ""}'),
            ("GET", "/storage/v1/object/one/a.txt"), ("DELETE", "/storage/v1/object/one/a.txt"), ("GET", "/health/ready"),
        )
    ]  # fmt: skip
    return subprocess.CompletedProcess([], 0, json.dumps(statuses), "")


def _request(target: Platform, method: str, path: str, body: bytes | None = None) -> int:
    key = target.values["SERVICE_ROLE_KEY"]
    headers = {"apikey": key, "Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(target.url + path, data=body, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


def _compose_migrate(hostile: Hostile) -> subprocess.CompletedProcess[str]:
    """Run what the compose file's service `migrate` runs."""
    environment = {
        "PATH": os.environ["PATH"],
        "HEADWATER_MIGRATE_URL": superuser_url(hostile.target),
        "HEADWATER_DB_URL": hostile.target.values["DB_URL"],
        "HEADWATER_PROJECT_FOLDER": str(hostile.folder / "supabase"),
        "HEADWATER_AUTH_JWT_SECRET": hostile.target.values["JWT_SECRET"],
    }
    return subprocess.run(
        [sys.executable, "-P", "-m", "workers", "migrate"],
        env=environment, capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip


def _jobs(hostile: Hostile) -> subprocess.CompletedProcess[str]:
    """Wait until the scheduler ran a job: it sweeps then, too."""
    deadline = time.monotonic() + 60
    asked = "select count(*) from cron.job_run_details where status in ('succeeded', 'failed')"
    while (done := run_sql(hostile.target.values["DB_URL"], asked, check=False)).stdout.strip() in ("", "0"):
        if time.monotonic() > deadline:
            return subprocess.CompletedProcess([], 1, "", "no job ran" + done.stderr)
        time.sleep(0.2)
    return done


def _changes(hostile: Hostile) -> subprocess.CompletedProcess[str]:
    """Write a row of a published table, and wait until the reader of the log is past it."""
    url, owner = hostile.target.values["DB_URL"], superuser_url(hostile.target)
    run_sql(
        url, f"insert into public.exposed_{hostile.probe.schema} (id, m) values (77, 'calm')", check=False
    )
    lsn = run_sql(owner, "select pg_catalog.pg_current_wal_lsn()").stdout.strip()
    asked = f"select count(*) from pg_catalog.pg_replication_slots where confirmed_flush_lsn >= '{lsn}'::pg_catalog.pg_lsn"
    deadline = time.monotonic() + 60
    while run_sql(owner, asked).stdout.strip() == "0":
        if time.monotonic() > deadline:
            return subprocess.CompletedProcess([], 1, "", "the log is not read")
        time.sleep(0.1)
    return subprocess.CompletedProcess([], 0, "", "")


def _elsewhere(hostile: Hostile, folder: Path) -> subprocess.CompletedProcess[str]:
    """Restore into a new platform, and look there for what its tenant should not have gained."""
    with platform() as other:
        before = powers(other)
        done = _run("restore", str(folder), "--data", str(other.data))
        hostile.probe.target, kept, read = other, hostile.probe.target, hostile.probe.read
        hostile.probe.read = 0
        try:
            reports = hostile.probe.reports()
        finally:
            hostile.probe.target, hostile.probe.read = kept, read
        gained = powers(other) != before
        text = f"{done.stderr}\nreports: {reports}\ngained: {gained}"
        return subprocess.CompletedProcess(
            [], done.returncode if not (reports or gained) else 99, done.stdout, text
        )


_SETTINGS = (
    "alter database postgres set search_path = {schema}, pg_catalog",
    "alter database postgres set role = 'postgres'",
    "alter database postgres set session_authorization = 'postgres'",
    "alter database postgres set session_replication_role = replica",
    "alter database postgres set standard_conforming_strings = off",
    "alter database postgres set check_function_bodies = off",
    "alter database postgres set transform_null_equals = on",
    "alter database postgres set quote_all_identifiers = on",
    "alter database postgres set default_transaction_isolation = 'serializable'",
    "alter database postgres set app.settings.site_url = E'x\\n\\\\! touch {evidence}\\n'",
    "alter database postgres set DateStyle = 'German'",
    "alter database postgres set bytea_output = 'escape'",
    "alter role postgres set search_path = {schema}, pg_catalog",
)


def _store_settings(hostile: Hostile) -> None:
    url = hostile.target.values["DB_URL"]
    for setting in reversed(_SETTINGS):
        run_sql(
            url, setting.format(schema=hostile.probe.schema, evidence=hostile.probe.evidence), check=False
        )


def _clear_settings(hostile: Hostile) -> None:
    """Take the worst of them back, so that pools come in again."""
    options = "?options=-c%20role%3Dnone%20-c%20search_path%3Dpg_catalog"
    run_sql(
        superuser_url(hostile.target) + options,
        "alter database postgres reset all; alter role postgres reset search_path",
    )


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hostile]:
    """All outcomes."""
    with platform() as target, probe(target) as planted:
        one = Hostile(target, planted, target.data.parent)
        folders = tmp_path_factory.mktemp("backups")
        one.before = powers(target)
        began = time.monotonic()
        one.planted = plant(planted)
        one.outcomes["planting"] = Outcome(0, "", planted.reports(), time.monotonic() - began)
        write_files(planted, one.folder)
        _run_all(one, folders)
        yield one


def _run_all(one: Hostile, folders: Path) -> None:
    one.take("jobs", lambda: _jobs(one))
    one.take("changes", lambda: _changes(one))
    one.take("requests", lambda: _requests(one))
    one.command("status", "status")
    one.command("doctor", "doctor")
    one.command("lint", "db", "lint", "--schema", f"{one.probe.schema},auth,storage")
    one.command("types", "gen", "types")
    one.command("dump", "db", "dump", "-f", str(folders / "schema.sql"))
    one.command("dump of rows", "db", "dump", "--data-only", "-f", str(folders / "rows.sql"))
    one.command("dump of roles", "db", "dump", "--role-only", "-f", str(folders / "roles.sql"))
    one.command("push", "db", "push", "--include-seed", "--include-roles")
    one.command("migration list", "migration", "list")
    one.command("migration repair", "migration", "repair", "--status", "applied", "20260101000001")
    one.command("seed", "seed", "--again")
    one.command("functions deploy", "functions", "deploy", "--project", str(one.folder))
    one.command("functions list", "functions", "list")
    one.command("secrets", "secrets", "set", "A=b")
    one.command("storage keys", "storage", "keys", "list")
    one.command("diff", "db", "diff")
    _pending(one.target)
    one.command("upgrade, dry", "upgrade", "--dry-run")
    one.command("upgrade", "upgrade")
    _pending(one.target)
    one.take("start after an update", lambda: _restart(one))
    one.command("backup", "backup", str(folders / "one"))
    one.take("restore elsewhere", lambda: _elsewhere(one, folders / "one"))
    one.take("migrate of compose", lambda: _compose_migrate(one))
    _store_settings(one)
    one.command("doctor with settings", "doctor")
    one.command("upgrade with settings", "upgrade")
    one.command("backup with settings", "backup", str(folders / "two"))
    one.command("restore with settings", "restore", str(folders / "two"), "--force")
    one.take("migrate of compose with settings", lambda: _compose_migrate(one))
    _clear_settings(one)
    one.command("reset", "db", "reset")
    one.take("doctor after the reset", lambda: _doctor(one))


_NAMES = (
    "planting", "jobs", "changes", "requests", "status", "doctor", "lint", "types", "dump", "dump of rows", "dump of roles", "push",
    "migration list", "migration repair", "seed", "functions deploy", "functions list", "secrets", "storage keys", "diff", "upgrade, dry", "upgrade",
    "start after an update", "backup", "restore elsewhere",  "migrate of compose",
    "doctor with settings", "upgrade with settings", "backup with settings", "restore with settings", "migrate of compose with settings",
    "reset", "doctor after the reset",
)  # fmt: skip


@pytest.mark.parametrize("name", _NAMES)
def test_no_code_of_the_tenant_ran_with_rights_that_it_has_not(hostile: Hostile, name: str) -> None:
    outcome = hostile.outcomes[name]
    assert outcome.reports == [], outcome.output
    assert outcome.gained == ""
    assert outcome.code != 99, outcome.output


@pytest.mark.parametrize("name", _NAMES)
def test_the_command_did_its_work(hostile: Hostile, name: str) -> None:
    outcome = hostile.outcomes[name]
    assert outcome.code in ((0, 2) if name.startswith("doctor") else (0,)), (
        outcome.output
    )  # 2: the doctor warns
    assert "Traceback" not in outcome.output


def test_the_database_was_hostile(hostile: Hostile) -> None:
    assert hostile.planted is not None
    assert set(hostile.outcomes) == set(_NAMES)
    assert hostile.planted.overloads["public"] > 200
    assert hostile.planted.overloads[hostile.probe.schema] > 300
    for kind, least in {
        "table": 1000,
        "body": 30,
        "domain": 50,
        "view": 80,
        "event trigger": 3,
        "extension": 40,
        "name": 60,
        "comment": 10,
    }.items():
        assert hostile.planted.things.get(kind, 0) >= least, (kind, hostile.planted.refused)
