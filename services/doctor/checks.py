"""All checks of the doctor, in the order of their output."""

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from schemas.settings.tree import Settings
from services.doctor import database, external, log_store, machine
from services.doctor.archive import look_at_archive
from services.doctor.certificates import look_at_certificate
from services.doctor.finding import DoctorFinding, FindingLevel
from services.doctor.readiness import look_at_readiness
from services.doctor.shapes import look_at_shapes
from services.supervisor import addresses, nats
from services.supervisor.binaries import postgres_version
from services.supervisor.data_folder.folder import DataFolder, database_password
from services.supervisor.data_folder.state import PlatformState, running_state, uptime
from services.supervisor.environment import superuser_url
from services.supervisor.errors import SupervisorError
from services.supervisor.postgres.cluster import SUPERUSER
from services.supervisor.postgres.programs import chosen_programs, version_text
from services.supervisor.project.settings import Project, load_project
from services.supervisor.project.work import project_of_state

_CHILD_S = 30.0
_TCP_S = 3.0


def look_at_platform(folder: DataFolder, root: Path | None) -> list[DoctorFinding]:
    """Check a running platform, or what a start would meet."""
    state = running_state(folder)
    try:
        project = project_of_state(state) if state else load_project(root, None, folder.path, {})
    except SupervisorError as error:
        return [DoctorFinding("settings", FindingLevel.ERROR, str(error))]
    settings = project.settings
    warnings = [DoctorFinding("settings", FindingLevel.WARNING, warning) for warning in project.warnings]
    findings = [*warnings, machine.look_at_disk(folder.path), machine.look_at_keys(settings)]
    findings += machine.look_at_staging(settings, folder.path)
    findings += machine.look_at_short_log(settings, folder.path)
    findings += log_store.look_at_log_store(settings, folder.path, is_running=state is not None)
    findings += look_at_shapes(settings, folder.path, time.time(), is_running=state is not None)
    findings += look_at_archive(settings.backup, folder.path, is_running=state is not None)
    findings += machine.look_at_functions(settings, state.pid if state else None)
    findings += machine.look_at_logins(settings)
    findings += machine.look_at_sealing_key(settings)
    findings.append(machine.look_at_folder(folder, _server_version(folder).partition(".")[0]))
    if state is None:
        findings += machine.look_at_ports(settings)
    else:
        findings += look_at_children(state)
        findings += look_at_readiness(settings, state)
    findings += look_at_broker(settings, state)
    folders = [*([project.config.parent] if project.config else []), project.root]
    findings += look_at_certificate(settings, folders, folder.path)
    findings += external.look_at_store(settings) + external.look_at_collector(settings)
    try:
        url = _database_url(project, folder, state)
    except SupervisorError as error:
        return [*findings, database.unreachable(str(error))]
    return findings + (_look_at_database(project, url) if url else [machine.look_at_clock()])


def look_at_children(state: PlatformState) -> list[DoctorFinding]:
    """Return the parts of a running platform that do not run, hang or report a fault.

    Past restarts are listed with them and are not an error: the exit code is about the present.
    """
    findings = []
    for child in state.children:
        cure = f"Read why: `headwater logs {child.name}`."
        if child.status == "silent":
            text = f"process {child.pid} does not answer since {uptime(child):.0f} s; it is killed and started again after ten"
            findings.append(DoctorFinding(child.name, FindingLevel.ERROR, text, cure))
        elif child.status not in ("running", "done"):
            text = f"{child.status}, started again {child.restarts} times"
            findings.append(DoctorFinding(child.name, FindingLevel.ERROR, text, cure))
        findings += [
            DoctorFinding(child.name, FindingLevel.ERROR, f"{part} {reason}", cure)
            for part, reason in child.faults.items()
        ]
    return findings or [
        DoctorFinding("parts", FindingLevel.OK, f"all {len(state.children)} run{_restarts(state)}")
    ]


def _restarts(state: PlatformState) -> str:
    """Return which parts were restarted since the start, as information."""
    past = [f"{child.name} {child.restarts} times" for child in state.children if child.restarts]
    return f"; started again in the past: {', '.join(past)}" if past else ""


def look_at_broker(settings: Settings, state: PlatformState | None) -> list[DoctorFinding]:
    """Return whether NATS answers."""
    if settings.broker.url is None:
        if state is None:
            return []
        answers = asyncio.run(nats.is_answering(state.ports["nats"]))
        return [
            DoctorFinding("NATS", FindingLevel.OK, "it answers")
            if answers
            else DoctorFinding(
                "NATS", FindingLevel.ERROR, "it does not answer", "Read why: `headwater logs nats`."
            )
        ]
    findings = []
    for text in settings.broker.url.reveal().split(","):
        parts = urlsplit(text.strip())
        address = f"{parts.hostname}:{parts.port or 4222}"
        if asyncio.run(nats.is_answering(parts.port or 4222, parts.hostname or "", _TCP_S)):
            findings.append(DoctorFinding("NATS", FindingLevel.OK, f"{address} answers"))
        else:
            cure = "Start it, or correct broker.url (HEADWATER_BROKER_URL); look at firewalls between the machines."
            findings.append(DoctorFinding("NATS", FindingLevel.ERROR, f"{address} does not answer", cure))
    return findings


def _database_url(project: Project, folder: DataFolder, state: PlatformState | None) -> str:
    """Return the URL of the database's owner; empty if no database runs here."""
    settings = project.settings
    if settings.db.url:
        return superuser_url(project, settings.db.url.reveal())
    if state is None:
        return ""
    if not state.ports.get(
        "db"
    ):  # an outside one that the platform was started with, by a variable that is not set here
        return superuser_url(project, state.values.get("DB_URL", ""))
    password = database_password(folder)
    return addresses.database_url(SUPERUSER, password, state.ports["db"])


def _look_at_database(project: Project, url: str) -> list[DoctorFinding]:
    """Check the database in a worker process, because the layer `services` contains no SQL."""
    environment = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    config = {"HEADWATER_CONFIG": str(project.config)} if project.config else {}
    try:
        result = subprocess.run(
            [sys.executable, "-P", "-m", "workers", "examine"],
            env={**environment, **project.environment, **config, "HEADWATER_MIGRATE_URL": url},
            capture_output=True,
            timeout=_CHILD_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [database.unreachable("it did not answer in time")]
    if result.returncode != 0:
        lines = result.stderr.decode(errors="replace").strip().splitlines()
        return [database.unreachable(lines[-1] if lines else "it gave no reason")]
    facts = msgspec.json.decode(result.stdout, type=database.DatabaseFacts)
    return [
        *database.look_at_facts(facts, realtime=project.settings.realtime.enabled),
        machine.look_at_clock(server=facts.now),
    ]


def _server_version(folder: DataFolder) -> str:
    """Return the version of the server that serves this folder; of the wheel's, if the machine's own does not run."""
    programs = chosen_programs(folder)
    with contextlib.suppress(SupervisorError):
        return version_text(programs) if programs else postgres_version()
    return postgres_version()
