"""The functions pool of a process: a broker connection, the folder of the functions, their processes; no database.

It stands in a process of its own, `python -P -m workers functions`.
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
from broker.observability.fault_reports import FaultReporter
from broker.observability.metrics import answer_collect
from broker.observability.observations import Observation
from broker.observability.observe import gauge, observe
from broker.processes.confinement import NO_CONFINEMENT, NO_CONFINEMENT_ADVICE
from broker.processes.key_file import read_key_file
from broker.processes.lifecycle import ManagedProcess, data_folder
from broker.processes.setting_files import find_file, setting_folders
from broker.requests.handler import RequestBody
from broker.requests.serve import serve
from schemas.errors import Unavailable
from schemas.http import Request, Response
from schemas.keys.signing import public_keys
from schemas.settings.auth_keys import named_keys
from schemas.settings.tree import Settings, SettingsError
from workers.functions.admin import Admin
from workers.functions.assembling import deployments_of
from workers.functions.environment import database_url, keys_of, platform_of
from workers.functions.inner import inner_places
from workers.functions.log_reading import LogReading
from workers.functions.logs import Journal
from workers.functions.places import leave, settle
from workers.functions.process import Surroundings
from workers.functions.shelf import Shelf
from workers.functions.worker import FunctionsWorker

_HEALTH_CONCURRENCY, _HEALTH_QUEUE = 8, 64
_LOOK_FOR_LOGS_S, _LOOK_AGAIN_S = 5.0, 1.0
_LOG_WINDOW_S = 120.0


class LogsNotKept(Observation, frozen=True):
    """The lines of functions are not kept: they are seen only by who follows them now."""

    level: ClassVar[str] = "warning"
    reason: str


class FunctionsNotHeld(Observation, frozen=True):
    """There is no wall between functions and the platform's own files."""

    level: ClassVar[str] = "error"
    reason: str
    cure: str
    are_run: bool


class FunctionLimits(Observation, frozen=True):
    """What bounds the memory, threads and processor time of functions' processes."""

    level: ClassVar[str] = "info"
    control_groups: str
    """The group below which each process has its own; empty: none."""
    controllers: str
    reason: str
    """Why there are no groups: limits of the process and a look at it ten times a second hold alone."""


async def run_pool(process: ManagedProcess, settings: Settings) -> None:
    """Answer for the functions of the project until the process drains. Raises: SettingsError, Unavailable."""
    connection = await _connect(process, settings)
    answer_collect(connection)
    reporter = FaultReporter(connection)
    process.on_drain(reporter.close)
    reporter.start()
    watch = StreamWatch(connection, subjects.FUNCTION_LOGS)
    process.on_drain(watch.close)
    keeping = asyncio.get_running_loop().create_task(_keep_logs(connection, settings, watch))
    process.on_drain(lambda: _cancel(keeping))
    runtime = settings.edge_runtime
    places = settle(data_folder())
    process.on_drain(lambda: asyncio.to_thread(leave, places))
    if not places.walls.is_enough:
        observe(FunctionsNotHeld(NO_CONFINEMENT, NO_CONFINEMENT_ADVICE, runtime.unsafe_without_sandbox))
    groups = places.groups
    observe(
        FunctionLimits(
            str(groups.parent) if groups else "",
            " ".join(sorted(groups.controllers)) if groups else "",
            places.groupless,
        )
    )
    inner = await asyncio.to_thread(inner_places, settings, database_url(settings))
    places = replace(places, closed=(*inner.always, *inner.database))
    around = Surroundings(
        places,
        platform_of(settings, _public_keys(settings), os.environ),
        Journal(connection, runtime.log_lines),
        inner,
        runtime.offline,
    )
    shelf = Shelf(functions_folder(settings), settings.functions, runtime)
    worker = FunctionsWorker(shelf, keys_of(settings), runtime, around)
    await shelf.start()
    process.on_drain(shelf.stop)
    blobs = BlobStore.open(settings.storage, data_folder())
    process.on_drain(blobs.close)
    deployments = deployments_of(settings, blobs, places, shelf, connection)
    process.on_drain(deployments.stop)
    await deployments.start()
    worker.admin = Admin(deployments, LogReading(connection))
    worker.start()
    process.on_drain(worker.close)
    _show_numbers(worker)
    health = await serve(
        connection,
        subjects.health(subjects.FUNCTIONS.pool),
        _health,
        concurrency=_HEALTH_CONCURRENCY,
        queue=_HEALTH_QUEUE,
    )
    serving = await serve(
        connection,
        subjects.FUNCTIONS,
        worker.answer,
        concurrency=runtime.max_requests,
        queue=settings.pools.queue,
        longest_wait=settings.pools.longest_wait,
    )

    async def drain() -> None:
        await serving.drain(settings.pools.drain_timeout / 2)
        await health.stop()

    process.on_drain(drain)
    deployments.announce()
    process.ready()
    await process.stopped()


def functions_folder(settings: Settings) -> Path:
    """Give the folder of the functions: that of the settings, else `functions` beside `config.toml`."""
    folders = setting_folders()
    if settings.edge_runtime.path:
        return find_file(settings.edge_runtime.path, folders)
    if os.environ.get("HEADWATER_CONFIG"):
        return folders[0] / "functions"
    return folders[0] / "supabase" / "functions"


async def _connect(process: ManagedProcess, settings: Settings) -> NatsConnection:
    if settings.broker.url is None:
        raise SettingsError("the functions worker needs broker.url (NATS_URL)")
    try:
        connection = await NatsConnection.open(
            settings.broker.url.reveal(),
            name="functions",
            max_reconnect_wait=settings.broker.max_reconnect_wait,
            replicas=settings.broker.replicas,
        )
    except ValueError:  # its words may hold a part of the password
        raise SettingsError("broker.url must be nats://[user:password@]host[:port], or tls://...") from None
    process.on_drain(connection.drain)
    return connection


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _keep_logs(connection: NatsConnection, settings: Settings, watch: StreamWatch) -> None:
    """Make the stream that keeps the lines, or give it the limits of the settings; and again whenever it is gone.

    Lines are published without an answer, so nothing else would notice that no stream keeps them.
    """
    own = settings.edge_runtime
    limits = StreamLimits(
        subjects.FUNCTION_LOGS,
        [subjects.FUNCTION_LOGS_SUBJECTS, subjects.canary(subjects.FUNCTION_LOGS).name],
        max_age_s=float(own.logs_max_age),
        max_bytes=int(own.logs_max_size),
        duplicate_window_s=_LOG_WINDOW_S,
    )
    has_limits, complaint = False, ""
    while True:
        try:
            if await streams.stream_state(connection, limits.name) is None:
                await streams.create_stream(connection, limits, {})
            elif not has_limits:
                await streams.update_stream(connection, limits, {})
            has_limits, complaint = True, ""
            await watch.check()
        except (Unavailable, JetStreamError) as error:
            if str(error) != complaint:
                complaint = str(error)
                observe(LogsNotKept(complaint))
        await asyncio.sleep(_LOOK_AGAIN_S if watch.reason else _LOOK_FOR_LOGS_S)


def _public_keys(settings: Settings) -> list[dict[str, object]]:
    """Give the public keys by which tokens are verified. Raises: SettingsError."""
    auth = settings.auth
    try:
        if auth.signing_keys_path:
            return public_keys(read_key_file(find_file(auth.signing_keys_path, setting_folders())))
        listed = named_keys(auth)
        return public_keys(listed.reveal()) if listed else []
    except ValueError as error:
        raise SettingsError(f"the JWT keys cannot be used: {error}") from None


def _show_numbers(worker: FunctionsWorker) -> None:
    gauge("headwater_function_processes", "Processes of functions.", lambda: len(worker.instances))
    gauge(
        "headwater_function_memory_bytes",
        "Memory of the processes of functions, as of the last look.",
        lambda: sum(each.meter.memory_bytes for each in worker.instances),
    )


async def _health(request: Request, body: RequestBody) -> Response:
    """Say that this process answers: functions are started when there is work for them."""
    del request, body
    return Response(200, body=b'{"message":"ok"}')
