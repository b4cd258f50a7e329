"""What `headwater projects doctor` looks at: the folder of the server, its secrets, and each project."""

import os
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path

from services.doctor.finding import DoctorFinding, FindingLevel
from services.projects.control import ask_server
from services.projects.keys import read_project
from services.projects.model import ControlRequest, ProjectRecord, ProjectsServerState, ProjectStatus
from services.projects.names import base_host, checked_hosts, project_url, server_url
from services.projects.platform_process import PlatformProcess
from services.projects.registry import (
    ServerFolder,
    data_folder_of,
    read_front,
    read_projects,
    running_server_state,
)
from services.supervisor.data_folder.folder import is_locked
from services.supervisor.errors import SupervisorError
from services.supervisor.exposure import development_secrets


def look_at_server(folder: ServerFolder) -> Iterator[DoctorFinding]:
    """Yield what is found. Nothing is changed. Raises: StartRefused if a record cannot be read."""
    records, url = read_projects(folder), server_url(read_front(folder))
    state = running_server_state(folder)
    statuses: dict[str, ProjectStatus] = {}
    if state is None:
        yield DoctorFinding(
            "server",
            FindingLevel.WARNING,
            f"it does not run in {folder.path}",
            "Start it with `headwater projects start`.",
        )
    else:
        yield _answering(state, statuses)
    for path in (folder.state, *(folder.project(record.name) / "project.json" for record in records)):
        if finding := _private(path):
            yield finding
    for record in records:
        yield from _of_project(folder, record, records, url, statuses.get(record.name))


def _answering(state: ProjectsServerState, statuses: dict[str, ProjectStatus]) -> DoctorFinding:
    try:
        reply = ask_server(state, ControlRequest("list"))
    except SupervisorError as error:
        return DoctorFinding(
            "server", FindingLevel.ERROR, str(error), "Stop it with `headwater projects stop`, and start it."
        )
    statuses.update({status.name: status for status in reply.projects})
    return DoctorFinding("server", FindingLevel.OK, f"it runs at {state.url}, process {state.pid}")


def _of_project(
    folder: ServerFolder,
    record: ProjectRecord,
    records: list[ProjectRecord],
    url: str,
    status: ProjectStatus | None,
) -> Iterator[DoctorFinding]:
    title = f"project {record.name}"
    path = Path(record.folder)
    try:
        published = development_secrets(read_project(path).settings)
        checked_hosts(record.name, record.hosts, base_host(url), records)
    except SupervisorError as error:
        yield DoctorFinding(title, FindingLevel.ERROR, str(error))
        return
    if published:
        yield DoctorFinding(
            title,
            FindingLevel.ERROR,
            f"these keys are the published ones of development: {', '.join(published)}",
            f"Remove them from the files of {path}, and run `headwater projects set {record.name}`.",
        )
    if finding := _private(path / ".env"):
        yield finding
    platform = PlatformProcess(record, project_url(record, url))
    if is_locked(data_folder_of(record).lock) and platform.state() is not None and platform.port() is None:
        yield DoctorFinding(
            title,
            FindingLevel.ERROR,
            "its platform was started apart from this server",
            f"Stop it with `headwater stop --data {shlex.quote(str(platform.data.path))}`.",
        )
    if status is not None and status.state == "failed":
        yield DoctorFinding(
            title,
            FindingLevel.ERROR,
            f"it could not be started: {status.reason}",
            f"Logs: {platform.data.logs}",
        )
    elif not published:
        text = status.state if status is not None else "its files can be used"
        yield DoctorFinding(title, FindingLevel.OK, text)


def _private(path: Path) -> DoctorFinding | None:
    """Return a finding if others can read a file with secrets."""
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return None
    if not mode & 0o077:
        return None
    return DoctorFinding(
        str(path), FindingLevel.ERROR, f"others can read it (mode {mode:o})", f"`chmod 600 {path}`"
    )
