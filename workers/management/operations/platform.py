"""Operations on the platform as a whole: the health of its parts, and what clients need to connect."""

import asyncio
import shutil
import time
from importlib import metadata
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from broker.jetstream.api import JetStreamFault, jetstream_request
from broker.jetstream.errors import JetStreamError
from broker.processes.backup_requests import backup_folder
from broker.processes.data_folder import data_folder
from broker.subjects import EMAILS_STREAM, FUNCTION_LOGS, FUNCTIONS, STORAGE_EVENTS_STREAM
from workers.management.areas.snippets import ClientSnippet, client_snippets
from workers.management.interface import argument_limits as limits
from workers.management.interface.backends.metrics_text import MetricSamples, read_metrics
from workers.management.interface.backends.platform_pools import pools_off
from workers.management.interface.backends.request_history import DURATIONS, LEAST_S, REQUESTS, sample_of
from workers.management.interface.backends.typed_rows import read_rows
from workers.management.interface.errors import ManagementError, invalid_arguments
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import NoArguments
from workers.management.operations.backups import BackupSummary, newest_backup
from workers.management.operations.realtime import SQL as REALTIME_SQL
from workers.management.operations.realtime_state import RealtimeSlot
from workers.sql.files import read_statements

SQL = read_statements("workers.management.operations", "platform.sql")
_STREAMS = (EMAILS_STREAM, STORAGE_EVENTS_STREAM, FUNCTION_LOGS)
_UP, _WORKING, _WAITING = "headwater_up", "headwater_pool_working", "headwater_pool_waiting"
_STORES = "headwater_stream_stores"
_MEMORY, _CPU, _STARTED = (
    "process_resident_memory_bytes",
    "process_cpu_seconds_total",
    "process_start_time_seconds",
)
_NAMES = (_UP, _WORKING, _WAITING, _STORES, _MEMORY, _CPU, _STARTED, REQUESTS, DURATIONS)
_LEAST_SERIES_S, _LONGEST_S = 60.0, 3600.0
_LONGEST_POOL = 100


class HealthQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Over how many seconds requests are counted, an hour at most."""

    span_s: Annotated[float, limits.number(1, _LONGEST_S)] = 300.0


class FiguresQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The last seconds, an hour at most, and the pool; empty: all of them together."""

    span_s: Annotated[float, limits.number(_LEAST_SERIES_S, _LONGEST_S)] = _LONGEST_S
    pool: Annotated[str, limits.text(_LONGEST_POOL, least=0)] = ""


class MinuteFigures(Struct, frozen=True):
    """What was answered in about a minute, which ended at `ended_at` (seconds since 1970). Percentiles are null without an answer."""

    ended_at: float
    seconds: float
    answered: int
    errors: int
    p50_ms: float | None
    p99_ms: float | None


class RequestSeries(Struct, frozen=True):
    """Answers, errors (500 and more) and percentiles over time, the oldest first. `pools` that have answered something.

    The last entry is shorter: it ends now. The process that answers has samples since it started.
    """

    points: list[MinuteFigures]
    pools: list[str]


class ProcessHealth(Struct, frozen=True):
    """A process that answers: memory in bytes, processor time in seconds, its start in seconds since 1970."""

    name: str
    member: str
    memory_bytes: int
    cpu_s: float
    started_at: float
    pools: list[str]


class PoolHealth(Struct, frozen=True):
    """A pool: processes that serve it, requests that run and wait now; answers and errors (500 and more) in the time span.

    `state`: up, down, off (switched off), or waiting (functions, while the project has none: their worker starts with the first).
    """

    name: str
    state: Literal["up", "down", "off", "waiting"]
    processes: int
    working: int
    waiting: int
    answered: int
    errors: int
    p50_ms: float | None
    p99_ms: float | None


class StreamHealth(Struct, frozen=True):
    """A stream of JetStream. `stores`: it stores what is published, null while no process watches it."""

    name: str
    messages: int
    bytes: int
    stores: bool | None


class BrokerHealth(Struct, frozen=True):
    """NATS, as this process sees it."""

    is_up: bool
    streams: list[StreamHealth]


class DatabaseHealth(Struct, frozen=True):
    """The database: its size in bytes, sessions of clients, its start."""

    version: str
    bytes: int
    connections: int
    max_connections: int
    started_at: str
    is_standby: bool


class DiskHealth(Struct, frozen=True):
    """Bytes of the disk that holds the data folder, on the machine of this process."""

    total_bytes: int
    free_bytes: int


class PlatformHealth(Struct, frozen=True):
    """The platform now. `counted_s`: the time span of answers and errors, null: since the processes started.

    `processes` are those that answered within a second; a pool without one is not up.
    """

    version: str
    counted_s: float | None
    processes: list[ProcessHealth]
    pools: list[PoolHealth]
    broker: BrokerHealth
    database: DatabaseHealth
    disk: DiskHealth | None
    slot: RealtimeSlot | None
    last_backup: BackupSummary | None


class ClientAddresses(Struct, frozen=True):
    """What a client needs: addresses, the publishable key, and code in each language. No secret is among it."""

    url: str
    rest_url: str
    graphql_url: str
    auth_url: str
    storage_url: str
    functions_url: str
    realtime_url: str
    publishable_key: str
    snippets: list[ClientSnippet]


class _StreamCounts(Struct, frozen=True):
    messages: int = 0
    bytes: int = 0


class _StreamInfo(Struct, frozen=True):
    state: _StreamCounts = _StreamCounts()
    error: JetStreamFault | None = None


_stream_info = msgspec.json.Decoder(_StreamInfo)


async def read_health(context: OperationContext, arguments: HealthQuery) -> PlatformHealth:
    """Return the state of every process and pool, of the broker, the database and the disk."""
    if not 1 <= arguments.span_s <= _LONGEST_S:
        raise invalid_arguments(f"`span_s` must be 1 to {_LONGEST_S:g} seconds")
    [database] = await read_rows(context, DatabaseHealth, SQL["database"])
    slots = await read_rows(
        context, RealtimeSlot, REALTIME_SQL["slot"], context.configuration.realtime.slot_name
    )
    metrics = read_metrics(await context.pools.metrics(), _NAMES)
    pools, counted_s = await _pools(context, metrics, arguments.span_s)
    return PlatformHealth(
        _version(),
        counted_s,
        _processes(metrics),
        pools,
        await _broker(context, metrics),
        database,
        await asyncio.to_thread(_disk),
        slots[0] if slots else None,
        await asyncio.to_thread(newest_backup, backup_folder(context.configuration.management)),
    )


async def read_series(context: OperationContext, arguments: FiguresQuery) -> RequestSeries:
    """Return answers, errors and percentiles by minute."""
    if not _LEAST_SERIES_S <= arguments.span_s <= _LONGEST_S:
        raise invalid_arguments(f"`span_s` must be {_LEAST_SERIES_S:g} to {_LONGEST_S:g} seconds")
    if len(arguments.pool) > _LONGEST_POOL:
        raise invalid_arguments(f"`pool` has {_LONGEST_POOL} characters at most")
    sample = sample_of(read_metrics(await context.pools.metrics(), (REQUESTS, DURATIONS)))
    now, present = time.monotonic(), time.time()
    history = context.pools.history
    points = [
        MinuteFigures(
            round(present - (now - interval.ended), 1), round(interval.seconds, 1), *interval.figures
        )
        for interval in history.series(now, sample, arguments.span_s, arguments.pool)
    ]
    history.add(now, sample, least_s=LEAST_S)
    return RequestSeries(points, sorted({pool for _, pool in sample}))


async def read_snippets(context: OperationContext, arguments: NoArguments) -> ClientAddresses:
    """Return addresses, the publishable key and code for each client."""
    del arguments
    url = context.public_url
    if not url:
        raise ManagementError(
            409, "no_address", "The address of the platform is not known here", hint="Set api.external_url."
        )
    key = context.configuration.auth.publishable_key.reveal()
    parts = urlsplit(url)
    socket = parts._replace(scheme="wss" if parts.scheme == "https" else "ws").geturl()
    return ClientAddresses(
        url,
        f"{url}/rest/v1",
        f"{url}/graphql/v1",
        f"{url}/auth/v1",
        f"{url}/storage/v1",
        f"{url}/functions/v1",
        f"{socket}/realtime/v1",
        key,
        client_snippets(url, key),
    )


def _processes(metrics: MetricSamples) -> list[ProcessHealth]:
    pools: dict[str, list[str]] = {}
    for labels, _ in metrics.of(_WORKING):
        pools.setdefault(labels.get("member", ""), []).append(labels.get("pool", ""))
    return [
        ProcessHealth(
            labels.get("process", ""),
            member := labels.get("member", ""),
            round(memory),
            round(metrics.total(_CPU, member=member), 2),
            metrics.total(_STARTED, member=member),
            sorted(name for name in pools.get(member, []) if not name.startswith("health.")),
        )
        for labels, memory in metrics.of(_MEMORY)
    ]


async def _state(
    context: OperationContext, pool: str, *, is_up: bool
) -> Literal["up", "down", "off", "waiting"]:
    if is_up:
        return "up"
    if pool in pools_off(context.configuration):
        return "off"
    if pool == FUNCTIONS.pool and await context.pools.waits_for_functions():
        return "waiting"
    return "down"


async def _pools(
    context: OperationContext, metrics: MetricSamples, span_s: float
) -> tuple[list[PoolHealth], float | None]:
    now, sample = time.monotonic(), sample_of(metrics)
    figures, counted_s = context.pools.history.since(now, sample, span_s)
    context.pools.history.add(now, sample, least_s=LEAST_S)
    listed = []
    for labels, is_up in metrics.of(_UP):
        name = labels.get("part", "")
        if name == "broker":
            continue
        done = figures.get(name)
        listed.append(
            PoolHealth(
                name,
                await _state(context, name, is_up=is_up > 0),
                len(metrics.of(_WORKING, pool=name)),
                round(metrics.total(_WORKING, pool=name)),
                round(metrics.total(_WAITING, pool=name)),
                done.answered if done else 0,
                done.errors if done else 0,
                done.p50_ms if done else None,
                done.p99_ms if done else None,
            )
        )
    return listed, None if counted_s is None else round(counted_s, 1)


async def _broker(context: OperationContext, metrics: MetricSamples) -> BrokerHealth:
    streams = []
    for name in _STREAMS:
        stores = [value > 0 for _, value in metrics.of(_STORES, stream=name)]
        try:
            info = await jetstream_request(context.pools.connection, f"STREAM.INFO.{name}", {}, _stream_info)
        except JetStreamError:
            continue  # it is made when something is published first
        streams.append(
            StreamHealth(name, info.state.messages, info.state.bytes, all(stores) if stores else None)
        )
    return BrokerHealth(metrics.total(_UP, part="broker") > 0, streams)


def _disk() -> DiskHealth | None:
    try:
        usage = shutil.disk_usage(data_folder())
    except OSError:
        return None
    return DiskHealth(usage.total, usage.free)


def _version() -> str:
    try:
        return metadata.version("headwater")
    except metadata.PackageNotFoundError:
        return ""


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader = Right.READER
    return [
        Operation("platform.health", "The health of every part", HealthQuery, PlatformHealth, reader, read_health),
        Operation("platform.figures", "Answers, errors and times by minute", FiguresQuery, RequestSeries, reader, read_series),
        Operation("platform.snippets", "Addresses, public key and code for clients", NoArguments, ClientAddresses, reader, read_snippets),
    ]  # fmt: skip
