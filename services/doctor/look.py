"""Everything that the doctor looks at, in the order in which it is told."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from schemas.settings.tree import Settings
from services.doctor import database, machine, outside
from services.doctor.finding import Finding, Level
from services.doctor.readiness import look_at_readiness
from services.supervisor import addresses, nats
from services.supervisor.binaries import postgres_version
from services.supervisor.data_folder.folder import DataFolder, keep_passwords
from services.supervisor.data_folder.state import State, running_state, uptime
from services.supervisor.errors import SupervisorError
from services.supervisor.postgres.cluster import SUPERUSER
from services.supervisor.project.settings import Project, load_project
from services.supervisor.project.work import project_of

_CHILD_S = 30.0
_TCP_S = 3.0


def look_at_platform(folder: DataFolder, root: Path | None) -> list[Finding]:
    """Look at a platform that runs, or at what a start would meet."""
    state = running_state(folder)
    try:
        project = project_of(state) if state else load_project(root, None, folder.path, {})
    except SupervisorError as error:
        return [Finding("settings", Level.ERROR, str(error))]
    settings = project.settings
    told = [Finding("settings", Level.WARNING, each) for each in project.warnings]
    found = [*told, machine.look_at_disk(folder.path), machine.look_at_keys(settings)]
    found += machine.look_at_staging(settings, folder.path)
    found += machine.look_at_functions(settings, state.pid if state else None)
    found += machine.look_at_logins(settings)
    found.append(machine.look_at_folder(folder, postgres_version().partition(".")[0]))
    if state is None:
        found += machine.look_at_ports(settings)
    else:
        found += look_at_children(state)
        found += look_at_readiness(settings, state)
    found += look_at_broker(settings, state)
    folders = [*([project.config.parent] if project.config else []), project.root]
    found += outside.look_at_certificate(settings, folders)
    found += outside.look_at_store(settings) + outside.look_at_collector(settings)
    url = _database_url(settings, folder, state)
    return found + (_look_at_database(project, url) if url else [machine.look_at_clock()])


def look_at_children(state: State) -> list[Finding]:
    """Return the parts of a running platform that do not run, hang or report a fault.

    That one was started again in the past is told with it and is no fault: the exit code is about the present.
    """
    found = []
    for child in state.children:
        cure = f"Read why: `headwater logs {child.name}`."
        if child.status == "silent":
            told = f"process {child.pid} does not answer since {uptime(child):.0f} s; it is killed and started again after ten"
            found.append(Finding(child.name, Level.ERROR, told, cure))
        elif child.status not in ("running", "done"):
            told = f"{child.status}, started again {child.restarts} times"
            found.append(Finding(child.name, Level.ERROR, told, cure))
        found += [
            Finding(child.name, Level.ERROR, f"{part} {reason}", cure)
            for part, reason in child.faults.items()
        ]
    return found or [Finding("parts", Level.OK, f"all {len(state.children)} run{_restarts(state)}")]


def _restarts(state: State) -> str:
    """Return which parts were started again since the start, as information."""
    past = [f"{child.name} {child.restarts} times" for child in state.children if child.restarts]
    return f"; started again in the past: {', '.join(past)}" if past else ""


def look_at_broker(settings: Settings, state: State | None) -> list[Finding]:
    """Tell whether NATS answers."""
    if settings.broker.url is None:
        if state is None:
            return []
        answers = asyncio.run(nats.answers(state.ports["nats"]))
        return [
            Finding("NATS", Level.OK, "it answers")
            if answers
            else Finding("NATS", Level.ERROR, "it does not answer", "Read why: `headwater logs nats`.")
        ]
    found = []
    for text in settings.broker.url.reveal().split(","):
        parts = urlsplit(text.strip())
        place = f"{parts.hostname}:{parts.port or 4222}"
        if asyncio.run(_listens(parts.hostname or "", parts.port or 4222)):
            found.append(Finding("NATS", Level.OK, f"{place} answers"))
        else:
            cure = "Start it, or correct broker.url (NATS_URL); look at firewalls between the machines."
            found.append(Finding("NATS", Level.ERROR, f"{place} does not answer", cure))
    return found


async def _listens(host: str, port: int) -> bool:
    try:
        async with asyncio.timeout(_TCP_S):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                return (await reader.read(5)).startswith(b"INFO")
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False


def _database_url(settings: Settings, folder: DataFolder, state: State | None) -> str:
    """Give the URL of the database's owner; nothing where there is none to ask."""
    if settings.db.url:
        return settings.db.url.reveal()
    if state is None:
        return ""
    if not state.ports.get(
        "db"
    ):  # an outside one that the platform was started with, by a variable that is not set here
        return state.values.get("DB_URL", "")
    password = keep_passwords(folder, ["database"])[0]["database"]
    return addresses.database_url(SUPERUSER, password, state.ports["db"])


def _look_at_database(project: Project, url: str) -> list[Finding]:
    """Have the workers ask the database: this wing holds no SQL."""
    environment = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    config = {"HEADWATER_CONFIG": str(project.config)} if project.config else {}
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "workers", "examine"],
            env={**environment, **project.environment, **config, "HEADWATER_MIGRATE_URL": url},
            capture_output=True,
            timeout=_CHILD_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [database.silent("it did not answer in time")]
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        return [database.silent(lines[-1] if lines else "it gave no reason")]
    facts = msgspec.json.decode(done.stdout, type=database.Facts)
    return [
        *database.look_at_facts(facts, realtime=project.settings.realtime.enabled),
        machine.look_at_clock(server=facts.now),
    ]
