"""Run a platform: lock its data folder, prepare it, run its children until a signal stops them, and write the state file."""

import asyncio
import os
import socket
import time
from collections.abc import Callable, Coroutine
from dataclasses import asdict
from functools import partial
from typing import Any

from broker.processes.backup_requests import backup_folder
from broker.processes.mapped_files import release_file_pages
from schemas.settings.unsupported import in_one_line
from services.supervisor import addresses, binaries, nats
from services.supervisor.backups import BackupRunner
from services.supervisor.branches.idleness import BranchIdleness
from services.supervisor.branches.record import read_record
from services.supervisor.branches.removal import BranchExpiry
from services.supervisor.branches.requested_work import RequestedBranchWork
from services.supervisor.dashboard_build import DashboardBuild
from services.supervisor.data_folder.data_version import end_upgrade
from services.supervisor.data_folder.folder import create_data_folder, lock_folder
from services.supervisor.data_folder.state import (
    ChildState,
    PlatformState,
    read_state,
    remove_state,
    write_state,
)
from services.supervisor.drill_schedule import DrillSchedule
from services.supervisor.errors import StartRefused, SupervisorError
from services.supervisor.exposure import check_exposure, exposure_warnings
from services.supervisor.first_link import add_first_owner, sign_in_address
from services.supervisor.nats_restart import NatsRestartPolicy, free_bytes_at
from services.supervisor.outside_services import outside_services
from services.supervisor.postgres import pooler, server
from services.supervisor.prepare import PreparedPlatform, end_first_start, prepare
from services.supervisor.processes.child import Probe
from services.supervisor.processes.forks import ForkServer, become_subreaper
from services.supervisor.processes.listening import (
    ActivatedSockets,
    activated_sockets,
    open_gateway,
    passed_to_edges,
)
from services.supervisor.processes.log_files import LogFile
from services.supervisor.processes.plan import PartSelection, ReadySignal
from services.supervisor.processes.prepared_programs import PreparedPrograms
from services.supervisor.processes.supervise import Supervisor
from services.supervisor.project.bucket_process import load_buckets_in_process
from services.supervisor.project.settings import Project, public_options
from services.supervisor.project.work import backup_environment, work_environment
from services.supervisor.report import RecordingReporter, Reporter


def launch(
    project: Project,
    choice: PartSelection,
    report: Reporter,
    programs: PreparedPrograms | None = None,
    *,
    accepts_downgrade: bool = False,
    is_verbose: bool = False,
) -> None:
    """Run a platform until a signal asks it to stop. Raises: StartRefused, StartFailed.

    `programs` are forks of this process that become its first programs (`processes/prepared_programs.py`). `accepts_downgrade`: data of
    a newer release is used all the same. `is_verbose`: each section of config.toml that is not honoured is reported with the reason.
    """
    began = time.monotonic()
    activated = activated_sockets()
    check_exposure(project.settings)
    folder = create_data_folder(project.data)
    lock = lock_folder(folder)
    report = RecordingReporter(report, LogFile(folder.logs / "supervisor.log"))
    try:
        warnings = project.warnings if is_verbose else in_one_line(project.warnings)
        for warning in (*warnings, *exposure_warnings(project.settings)):
            report.warn(warning)
        for name in project.remotes:
            report.info(f"[remotes.{name}] of {project.config} applies")
        for line in outside_services(project):
            report.info(line)
        prepared = prepare(
            project, choice, folder, report, activated.ports, accepts_downgrade=accepts_downgrade
        )
        asyncio.run(_run(prepared, report, began, activated, programs))
        report.info("Stopped")
    except SupervisorError as error:
        report.record(str(error))
        raise
    finally:
        remove_state(folder)
        os.close(lock)


async def _run(
    prepared: PreparedPlatform,
    report: Reporter,
    began: float,
    activated: ActivatedSockets,
    programs: PreparedPrograms | None,
) -> None:
    """Start the children, report when all are ready, and return when they have stopped."""
    values = addresses.status_values(prepared.project.settings, prepared.ports, prepared.keys)
    fork_server = ForkServer() if any(process.is_forked for process in prepared.plan) else None
    if fork_server is not None:
        become_subreaper()
    listening = [] if activated.sockets else _bound(prepared)
    supervisor = Supervisor(
        prepared.plan,
        prepared.folder.logs,
        _probes(prepared),
        report,
        _state_writer(prepared, values),
        nats_restart=NatsRestartPolicy(partial(free_bytes_at, prepared.folder.nats)),
        forks=fork_server,
        programs=programs,
        inherited={"edges": passed_to_edges(listening, activated)},
        is_upgrade=bool(prepared.upgraded_from),
        before={"postgres": prepared.create_database} if prepared.create_database else {},
    )
    storage = prepared.project.settings.storage
    # With what is not written down: the link of a first start, and the key pair of S3, which has a file of its own.
    shown = values | (addresses.s3_values(storage.s3_protocol, values) if storage.enabled else {})
    background = {asyncio.create_task(_backup_runner(prepared, report).run())}
    if prepared.project.settings.backup.continuous and prepared.project.settings.backup.drill:
        background.add(asyncio.create_task(DrillSchedule(prepared.folder, prepared.project, report).run()))
    if prepared.certificate_copy is not None:
        reload = partial(supervisor.reload, ("postgres", "pooler"))
        background.add(asyncio.create_task(prepared.certificate_copy.follow(reload, report.warn)))

    background |= _branch_tasks(prepared, report)

    def on_ready() -> None:
        report.ready(shown, time.monotonic() - began)
        end_first_start(prepared.folder)
        end_upgrade(prepared.folder)
        release_file_pages()
        build = DashboardBuild()
        if prepared.ports.api and prepared.project.settings.dashboard.enabled and build.is_due():
            background.add(asyncio.create_task(build.run(report, prepared.folder.logs / "dashboard.log")))

    try:
        await supervisor.run(on_ready, _settler(prepared, report, shown, fork_server))
    finally:
        for task in background:
            task.cancel()
        await asyncio.wait(background)
        for opened in listening:
            opened.close()


def _branch_tasks(prepared: PreparedPlatform, report: Reporter) -> set[asyncio.Task[None]]:
    """Start what notes the use of this branch and stops it, or what makes and removes the branches of this platform."""
    record = read_record(prepared.folder.path)
    if record is None:
        requested = RequestedBranchWork(prepared.folder, prepared.project, report)
        expiry = BranchExpiry(prepared.folder, report)
        return {asyncio.create_task(expiry.run()), asyncio.create_task(requested.run())}
    idleness = BranchIdleness(prepared.folder, prepared.project, record.stop_after_s, report)
    return {asyncio.create_task(idleness.run())}


def _bound(prepared: PreparedPlatform) -> list[socket.socket]:
    """Return the sockets of the gateway: of its port, and of the one that redirects to it."""
    settings, api = prepared.project.settings, prepared.ports.api
    plain_port = settings.api.tls.http_port or 0 if api and settings.api.tls.enabled else 0
    return [*open_gateway(settings, api), *open_gateway(settings, plain_port)]


def _state_writer(
    prepared: PreparedPlatform, values: dict[str, str]
) -> Callable[[str, list[ChildState]], None]:
    """Return what writes the state file whenever the state of the platform or of a child changes."""
    started, project = time.time(), prepared.project

    def write(status: str, children: list[ChildState]) -> None:
        write_state(
            prepared.folder,
            PlatformState(
                version=binaries.headwater_version(),
                pid=os.getpid(),
                status=status,
                started=started,
                data=str(prepared.folder.path),
                project=str(project.root),
                config=str(project.config) if project.config else None,
                ports=asdict(prepared.ports),
                values=values,
                children=children,
                options=public_options(project),
            ),
        )

    return write


def _backup_runner(prepared: PreparedPlatform, report: Reporter) -> BackupRunner:
    """Return what makes the backups that administrators request, and those of the schedule."""
    management = prepared.project.settings.management

    def environment() -> dict[str, str]:
        state = read_state(prepared.folder)
        if state is None:
            raise StartRefused("The platform is stopping.")
        return backup_environment(prepared.project, prepared.folder, state)

    return BackupRunner(
        backup_folder(management, prepared.folder.path),
        environment,
        report,
        management.backup_schedule,
        management.backups_kept,
        follows_changes=management.enabled,
    )


def _settler(
    prepared: PreparedPlatform, report: Reporter, shown: dict[str, str], forks: ForkServer | None
) -> Callable[[], Coroutine[Any, Any, None]]:
    """Return what is done with all children running: buckets are loaded, and `shown` gets the link of a first start."""
    load_buckets = _bucket_loader(prepared, report)

    async def settle() -> None:
        if load_buckets is not None:
            await load_buckets()
        state = read_state(prepared.folder)
        if prepared.is_new and state is not None and (studio := shown.get("STUDIO_URL")):
            environment = work_environment(prepared.project, prepared.folder, state)
            secret = await add_first_owner(environment, forks, prepared.folder.path)
            if secret is not None:
                shown["STUDIO_URL"] = sign_in_address(studio, secret)

    return settle


def _bucket_loader(
    prepared: PreparedPlatform, report: Reporter
) -> Callable[[], Coroutine[Any, Any, None]] | None:
    """Return what creates and fills the project's buckets, or None without buckets or without a gateway."""
    project, api = prepared.project, prepared.ports.api
    buckets = project.settings.storage.buckets
    if not (buckets and api and project.settings.storage.enabled):
        return None
    url = addresses.gateway_url(project.settings, prepared.ports)
    folder = project.config.parent if project.config else project.root
    return partial(load_buckets_in_process, buckets, url, prepared.keys.service_role_key, folder, report)


def _probes(prepared: PreparedPlatform) -> dict[ReadySignal, Probe]:
    """Return the checks of whether the embedded servers are ready."""

    async def postgres_is_ready(pid: int) -> bool:
        return prepared.cluster is not None and server.is_ready(prepared.cluster, pid)

    async def nats_is_ready(_pid: int) -> bool:
        return await nats.is_answering(prepared.ports.nats)

    async def stream_server_is_ready(_pid: int) -> bool:
        return await nats.is_answering(
            prepared.ports.stream_nats, prepared.project.settings.broker.streams_host
        )

    async def pooler_is_ready(_pid: int) -> bool:
        return await pooler.is_listening(prepared.ports.pooler)

    return {
        ReadySignal.POSTGRES: postgres_is_ready,
        ReadySignal.NATS: nats_is_ready,
        ReadySignal.STREAM_SERVER: stream_server_is_ready,
        ReadySignal.POOLER: pooler_is_ready,
    }
