"""The restore drill: the newest state of continuous backup is restored, started, asked and removed, and the result is written down.

    count rows here -> wait until the archive has them -> branch of that position -> amcheck, rows there -> start, one request an area -> delete

The restored platform is a branch (`branches/create.py`), so it has keys of its own, sends nothing and runs no schedules. It needs room for
the database, and for the objects that the platform has no more; without it the drill fails before anything is written. A drill that was
killed leaves a branch, which the next one deletes.
"""

import contextlib
import http.client
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from broker.processes.archive_status import read_archive_status
from broker.processes.drill_status import MOST_FAULTS, DrillStatus, write_drill_status
from schemas.branches import CheckedDatabase, CheckTask, CountedRows, CountTask
from services.supervisor import addresses
from services.supervisor.branches import overrides
from services.supervisor.branches.create import create_branch
from services.supervisor.branches.names import DRILL, branch_folder
from services.supervisor.branches.record import read_record
from services.supervisor.branches.worker_step import run_step
from services.supervisor.data_folder.folder import DataFolder, ensure_passwords
from services.supervisor.data_folder.state import PlatformState, running_state
from services.supervisor.drill_webhook import send_result
from services.supervisor.errors import StartFailed, StartRefused, SupervisorError
from services.supervisor.postgres import server
from services.supervisor.postgres.cluster import SUPERUSER
from services.supervisor.postgres.running_server import running_server
from services.supervisor.project.settings import Project
from services.supervisor.report import Reporter, SilentReporter

_DATABASE = "database"
_STORED_S, _FIRST_S, _PAUSE_S = 300.0, 10.0, 0.5
_STEP_S, _ASK_S, _STOP_S = 600.0, 30.0, 120.0
_AREAS: Mapping[str, tuple[str, bytes | None]] = {
    "rest": ("/rest/v1/", None),
    "auth": ("/auth/v1/health", None),
    "storage": ("/storage/v1/bucket", None),
    "graphql": ("/graphql/v1", b'{"query":"{__typename}"}'),
}
"""One request to each area that answers from the database."""


@dataclass(slots=True)
class _Found:
    """What a drill has found so far."""

    moment: str = ""
    faults: list[str] = field(default_factory=list)
    tables: int = 0
    rows: int = 0
    indexes: int = 0
    areas: list[str] = field(default_factory=list)


def run_drill(parent: DataFolder, project: Project, report: Reporter) -> DrillStatus:
    """Run a drill of a platform that runs or is stopped; write down and return its result. Raises: OSError."""
    began_at, began, found = time.time(), time.monotonic(), _Found()
    try:
        _delete(parent, project)
        _drill(parent, project, found, report)
    except SupervisorError as error:
        found.faults.append(str(error))
    except (OSError, subprocess.SubprocessError) as error:
        found.faults.append(f"The drill could not go on: {error}")
    finally:
        try:
            _delete(parent, project)
        except (SupervisorError, OSError, subprocess.SubprocessError) as error:
            found.faults.append(f"The restored copy could not be removed: {error}")
    status = DrillStatus(
        began_at, round(time.monotonic() - began, 1), found.moment, found.faults[:MOST_FAULTS], found.tables,
        found.rows, found.indexes, found.areas,
    )  # fmt: skip
    write_drill_status(parent.path, status)  # first: a receiver that hangs must not hide the result
    if unsent := send_result(project.settings.backup, status):
        report.warn(f"The receiver of backup.drill_webhook did not take the result: {unsent}")
        status = msgspec.structs.replace(status, unsent=unsent)
        write_drill_status(parent.path, status)
    return status


def _drill(parent: DataFolder, project: Project, found: _Found, report: Reporter) -> None:
    state = running_state(parent)
    before = after = None
    if state is not None and state.ports.get("db"):
        before, after = _count(parent, project, state), _count(parent, project, state)
        report.info(f"Waiting until {before.lsn} is stored")
        _wait_until_stored(parent, time.time())
    archive = read_archive_status(parent.path)
    created = create_branch(
        parent,
        DRILL,
        project,
        report,
        moment=f"lsn {before.lsn}" if before else "latest",
        archive=archive.archive if archive else "",
        is_drill=True,
    )
    found.moment = created.record.at
    report.info("Checking indexes, heaps and rows")
    checked = _check(created.folder, project)
    found.indexes, found.faults = checked.indexes, [*found.faults, *checked.faults]
    rows = checked.counted.rows
    found.tables, found.rows = len(rows), sum(rows.values())
    if before is not None and after is not None:
        found.faults += differences(before.rows, after.rows, rows)
    report.info("Starting it, and sending a request to each area")
    _headwater(parent, project, "start", "--detach", "--branch", DRILL, "--port", "0")
    for name in _enabled(project):
        if (fault := _ask(created.folder, name)) is None:
            found.areas.append(name)
        else:
            found.faults.append(fault)


def differences(
    before: Mapping[str, int], after: Mapping[str, int], restored: Mapping[str, int]
) -> Iterator[str]:
    """Yield what a restored database lacks (pure). A table that was written between two counts may have any number from one to the other."""
    for table, count in sorted(before.items()):
        if table not in after:
            continue
        least, most = sorted((count, after[table]))
        if table not in restored:
            yield f"table {table} is missing"
        elif not least <= restored[table] <= most:
            yield f"table {table} has {restored[table]} rows, not {count}"


def _count(parent: DataFolder, project: Project, state: PlatformState) -> CountedRows:
    return run_step(project, CountTask(_superuser_url(parent, state.ports["db"])), CountedRows)


def _check(branch: DataFolder, project: Project) -> CheckedDatabase:
    cluster = server.open_cluster(branch, SilentReporter())
    settings = overrides.safe_server_settings(project.settings.db.settings)
    server.prepare_cluster(cluster, None, _password(branch), settings, SilentReporter())
    with running_server(cluster, "The restored database", timeout_s=_STEP_S, stop_s=_STOP_S) as port:
        return run_step(project, CheckTask(_superuser_url(branch, port)), CheckedDatabase)


def _wait_until_stored(parent: DataFolder, moment: float) -> None:
    """Wait until the archive has everything before a moment. Raises: StartFailed."""
    began = time.monotonic()
    deadline = began + _STORED_S
    while True:
        status = read_archive_status(parent.path)
        if status is None and time.monotonic() > began + _FIRST_S:
            raise StartFailed("This platform stores nothing by itself: set backup.continuous.")
        if status is not None and status.base_at is not None and (status.covered_until or 0.0) > moment:
            return
        if time.monotonic() > deadline:
            reason = f": {status.fault}" if status and status.fault else ""
            raise StartFailed(f"The archive does not have the last {_STORED_S:.0f} s{reason}")
        time.sleep(_PAUSE_S)  # between two looks at the file of the process `archive`


def _enabled(project: Project) -> list[str]:
    settings = project.settings
    is_enabled = {
        "rest": settings.api.enabled,
        "auth": settings.auth.enabled,
        "storage": settings.storage.enabled,
        "graphql": settings.api.enabled and settings.graphql.enabled,
    }
    return [name for name in _AREAS if is_enabled[name]]


def _ask(branch: DataFolder, area: str) -> str | None:
    """Send the request of an area; return why its answer is not right, else None."""
    state = running_state(branch)
    if state is None:
        return f"{area}: the restored platform does not run"
    path, body = _AREAS[area]
    key = state.values["SECRET_KEY"]
    headers = {"apikey": key, "authorization": f"Bearer {key}", "content-type": "application/json"}
    request = urllib.request.Request(state.values["API_URL"] + path, body, headers)  # noqa: S310 - our own address
    try:
        with urllib.request.urlopen(request, timeout=_ASK_S) as response:  # noqa: S310 - our own address
            json.load(response)
    except (http.client.HTTPException, OSError, ValueError) as error:  # URLError is an OSError
        return f"{area}: {error}"
    return None


def _delete(parent: DataFolder, project: Project) -> None:
    """Stop and delete the branch of a drill, if there is one. Raises: StartFailed; StartRefused for a branch that is no drill's."""
    folder = branch_folder(parent, DRILL).path
    if not folder.exists():
        return
    record = read_record(folder)
    if record is None or not record.is_drill:
        raise StartRefused(
            f"{folder} is not of a drill, so it is not deleted, and no drill can run. Merge it or delete it."
        )
    _headwater(parent, project, "branch", "delete", DRILL, "--yes")


def _headwater(parent: DataFolder, project: Project, *words: str) -> None:
    """Run a command for this platform. Raises: StartFailed with what it printed."""
    config = {"HEADWATER_CONFIG": str(project.config)} if project.config else {}
    command = [sys.executable, "-P", "-m", "services.cli.main", *words, "--data", str(parent.path), "--project", str(project.root)]  # fmt: skip
    done = subprocess.run(  # noqa: S603 - ourselves
        command,
        env={**dict(_inherited()), **project.environment, **config},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_STEP_S,
        check=False,
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
        raise StartFailed(f"`headwater {' '.join(words[:2])}` of the restored platform: {lines[-1]}")


def _inherited() -> Iterator[tuple[str, str]]:
    for name in ("PATH", "PYTHONPATH", "HOME", "TMPDIR", "LANG"):
        with contextlib.suppress(KeyError):
            yield name, os.environ[name]


def _password(folder: DataFolder) -> str:
    return ensure_passwords(folder, [_DATABASE])[0][_DATABASE]


def _superuser_url(folder: DataFolder, port: int) -> str:
    return addresses.database_url(SUPERUSER, _password(folder), port)
