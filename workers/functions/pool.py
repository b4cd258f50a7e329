"""The functions pool: one process with a NATS connection, the catalog of functions and their Deno processes; no database.

Started as `python -P -m workers functions`, alone in its process.
"""

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from broker import subjects
from broker.blobs.store import BlobStore
from broker.jetstream import streams
from broker.jetstream.errors import JetStreamError
from broker.jetstream.stream_watch import StreamWatch
from broker.jetstream.streams import StreamLimits
from broker.nats.connection import NatsConnection
from broker.observability.observations import Observation
from broker.observability.observe import gauge, observe
from broker.processes.confinement import NO_CONFINEMENT, NO_CONFINEMENT_ADVICE
from broker.processes.connect import connect_broker, report_faults
from broker.processes.data_folder import data_folder
from broker.processes.key_file import read_key_file
from broker.processes.lifecycle import ManagedProcess
from broker.processes.setting_files import find_file, setting_folders
from schemas.errors import Unavailable
from schemas.keys.signing import public_keys
from schemas.settings.auth_keys import named_keys
from schemas.settings.tree import Settings, SettingsError
from workers.functions.catalog.catalog import FunctionCatalog
from workers.functions.deployments.endpoints import AdminEndpoints
from workers.functions.deployments.setup import deployments_of
from workers.functions.host.denied_hosts import find_denied_hosts
from workers.functions.host.host import close_host, open_host
from workers.functions.host.loopback import own_ports
from workers.functions.logs.journal import Journal
from workers.functions.logs.reading import LogReader
from workers.functions.processes.environment import database_url, keys_of, platform_variables
from workers.functions.processes.process_sandbox import ProcessContext
from workers.functions.worker import FunctionsWorker
from workers.served_pool import serve_subject

_CHECK_STREAM_S, _RETRY_STREAM_S = 5.0, 1.0
_LOG_WINDOW_S = 120.0


class LogsNotKept(Observation, frozen=True):
    """Log lines of functions are not stored; only clients that follow the log now receive them."""

    level: ClassVar[str] = "warning"
    reason: str


class FunctionsNotHeld(Observation, frozen=True):
    """No kernel sandbox protects the platform's runtime files from functions."""

    level: ClassVar[str] = "error"
    reason: str
    cure: str
    are_run: bool


class FunctionLimits(Observation, frozen=True):
    """The kernel limits of functions' processes: memory, threads and processor time."""

    level: ClassVar[str] = "info"
    control_groups: str
    """The control group below which each process has its runtime group; empty if there is none."""
    controllers: str
    reason: str
    """Why control groups are not used. Then only rlimits and the samples taken ten times a second apply."""
    loopback: str = ""
    """Why the kernel does not close loopback to them. Then only the runtime's own permissions do."""


async def run_pool(process: ManagedProcess, settings: Settings) -> None:
    """Serve the functions of the project until the process drains. Raises: SettingsError, Unavailable."""
    connection = await connect_broker(process, settings, "functions")
    report_faults(process, connection)
    watch = StreamWatch(connection, subjects.FUNCTION_LOGS)
    process.on_drain(watch.close)
    stream_task = asyncio.get_running_loop().create_task(_maintain_stream(connection, settings, watch))
    process.on_drain(lambda: _cancel(stream_task))
    context = await _open_context(process, settings, connection)
    catalog = FunctionCatalog(functions_folder(settings), settings.functions, settings.edge_runtime)
    worker = FunctionsWorker(catalog, keys_of(settings), settings.edge_runtime, context)
    await catalog.start()
    process.on_drain(catalog.stop)
    blobs = BlobStore.open(settings.storage, data_folder())
    process.on_drain(blobs.close)
    deployments = deployments_of(settings, blobs, context.host, catalog, connection)
    process.on_drain(deployments.stop)
    await deployments.start()
    worker.admin = AdminEndpoints(deployments, LogReader(connection))
    worker.start()
    process.on_drain(worker.close)
    _register_gauges(worker)
    await _serve(process, settings, connection, worker)
    deployments.announce()
    process.ready()
    await process.stopped()


async def _open_context(
    process: ManagedProcess, settings: Settings, connection: NatsConnection
) -> ProcessContext:
    """Prepare the machine for functions, and log how they are confined. Raises: SettingsError."""
    runtime = settings.edge_runtime
    host = open_host(data_folder())
    process.on_drain(lambda: asyncio.to_thread(close_host, host))
    if not host.features.is_enough:
        observe(FunctionsNotHeld(NO_CONFINEMENT, NO_CONFINEMENT_ADVICE, runtime.unsafe_without_sandbox))
    groups = host.groups
    observe(
        FunctionLimits(
            str(groups.parent) if groups and groups.controllers else "",
            " ".join(sorted(groups.controllers)) if groups else "",
            host.groupless,
            host.wallless,
        )
    )
    address = database_url(settings)
    denied = await asyncio.to_thread(find_denied_hosts, settings, address)
    loopback = await asyncio.to_thread(own_ports, settings, address, os.environ)
    host = replace(host, closed=(*denied.always, *denied.database), loopback=loopback)
    variables = platform_variables(settings, _public_keys(settings), os.environ)
    return ProcessContext(host, variables, Journal(connection, runtime.log_lines), denied, runtime.offline)


async def _serve(
    process: ManagedProcess, settings: Settings, connection: NatsConnection, worker: FunctionsWorker
) -> None:
    """Answer requests and health checks until the process drains; requests get half of the drain time to finish."""
    await serve_subject(
        process,
        connection,
        settings.pools,
        subjects.FUNCTIONS,
        worker.answer,
        concurrency=settings.edge_runtime.max_requests,
        drain_s=lambda: settings.pools.drain_timeout / 2,
    )


def functions_folder(settings: Settings) -> Path:
    """Return the folder of the functions: from the settings, else `functions` beside `config.toml`."""
    folders = setting_folders()
    if settings.edge_runtime.path:
        return find_file(settings.edge_runtime.path, folders)
    if os.environ.get("HEADWATER_CONFIG"):
        return folders[0] / "functions"
    return folders[0] / "supabase" / "functions"


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _maintain_stream(connection: NatsConnection, settings: Settings, watch: StreamWatch) -> None:
    """Create the stream that stores log lines, or update its limits, and check for ever that it exists.

    Lines are published without an acknowledgement, so nothing else would notice that the stream is missing.
    """
    limits = StreamLimits(
        subjects.FUNCTION_LOGS,
        [subjects.FUNCTION_LOGS_SUBJECTS, subjects.canary(subjects.FUNCTION_LOGS).name],
        max_age_s=float(settings.edge_runtime.logs_max_age),
        max_bytes=int(settings.edge_runtime.logs_max_size),
        duplicate_window_s=_LOG_WINDOW_S,
    )
    has_limits, last_error = False, ""
    while True:
        try:
            if await streams.stream_state(connection, limits.name) is None:
                await streams.create_stream(connection, limits, {})
            elif not has_limits:
                await streams.update_stream(connection, limits, {})
            has_limits, last_error = True, ""
            await watch.check()
        except (Unavailable, JetStreamError) as error:
            if str(error) != last_error:
                last_error = str(error)
                observe(LogsNotKept(last_error))
        await asyncio.sleep(_RETRY_STREAM_S if watch.reason else _CHECK_STREAM_S)


def _public_keys(settings: Settings) -> list[dict[str, object]]:
    """Return the public keys with which tokens are verified. Raises: SettingsError."""
    auth = settings.auth
    try:
        if auth.signing_keys_path:
            return public_keys(read_key_file(find_file(auth.signing_keys_path, setting_folders())))
        listed = named_keys(auth)
        return public_keys(listed.reveal()) if listed else []
    except ValueError as error:
        raise SettingsError(f"the JWT keys cannot be used: {error}") from None


def _register_gauges(worker: FunctionsWorker) -> None:
    gauge("headwater_function_processes", "Processes of functions.", lambda: len(worker.instances))
    gauge(
        "headwater_function_memory_bytes",
        "Memory of the processes of functions at the last sample.",
        lambda: sum(instance.meter.memory_bytes for instance in worker.instances),
    )
