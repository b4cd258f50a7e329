"""The operation that reports how realtime does: publication, slot, sockets and channels now, limits."""

from msgspec import Struct

from workers.management.interface.backends.metrics_text import MetricSamples, read_metrics
from workers.management.interface.backends.typed_rows import read_rows
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import NoArguments
from workers.management.operations.realtime import SQL

_LEADER, _UNCONFIRMED = "headwater_replication_leader", "headwater_replication_unconfirmed"

_FIGURES = ("sockets", "channels", "rooms", "deliveries", "received", "dropped", "slow_consumers")
_PREFIX = "headwater_realtime_"


class RealtimePublication(Struct, frozen=True):
    """The publication of row changes."""

    name: str
    all_tables: bool
    insert: bool
    update: bool
    delete: bool
    tables: int


class RealtimeSlot(Struct, frozen=True):
    """The replication slot. `lag_bytes`: of the log that is not published yet; `held_bytes`: retained on disk for the slot."""

    name: str
    is_active: bool
    lag_bytes: int
    held_bytes: int
    current_lsn: str
    confirmed_lsn: str | None = None
    wal_status: str | None = None
    limit_bytes: int | None = None


class RealtimeFigures(Struct, frozen=True):
    """Figures of all edges: open sockets, their channels, topics; frames since the edges started; sockets closed for reading slowly."""

    edges: int
    sockets: int
    channels: int
    topics: int
    deliveries: int
    received: int
    dropped: int
    slow_consumers: int


class RealtimeLimits(Struct, frozen=True):
    """The settings of realtime that clients notice; 0: unlimited."""

    private_only: bool
    presence_enabled: bool
    max_concurrent_users: int
    max_channels_per_client: int
    max_events_per_second: float
    retention_s: float


class RealtimeState(Struct, frozen=True):
    """How realtime does now. Without publication or slot it is switched off, or has not started yet."""

    is_enabled: bool
    has_leader: bool
    unconfirmed: int
    figures: RealtimeFigures
    limits: RealtimeLimits
    publication: RealtimePublication | None = None
    slot: RealtimeSlot | None = None


async def read_state(context: OperationContext, arguments: NoArguments) -> RealtimeState:
    """Return the state of the publication, the slot and the edges."""
    del arguments
    settings = context.configuration.realtime
    publications = await read_rows(context, RealtimePublication, SQL["publication"])
    slots = await read_rows(context, RealtimeSlot, SQL["slot"], settings.slot_name)
    names = (*(_PREFIX + figure for figure in _FIGURES), _LEADER, _UNCONFIRMED)
    metrics = read_metrics(await context.pools.metrics(), names)
    return RealtimeState(
        settings.enabled,
        metrics.total(_LEADER) > 0,
        round(metrics.total(_UNCONFIRMED)),
        _figures(metrics),
        RealtimeLimits(
            settings.private_only,
            settings.presence_enabled,
            settings.max_concurrent_users,
            settings.max_channels_per_client,
            settings.max_events_per_second,
            float(settings.retention),
        ),
        publications[0] if publications else None,
        slots[0] if slots else None,
    )


def _figures(metrics: MetricSamples) -> RealtimeFigures:
    totals = [round(metrics.total(_PREFIX + figure)) for figure in _FIGURES]
    return RealtimeFigures(len(metrics.of(f"{_PREFIX}sockets")), *totals)


def operations() -> list[Operation]:
    """Return the operation of this module."""
    return [
        Operation(
            "realtime.state",
            "Publication, slot, sockets and limits",
            NoArguments,
            RealtimeState,
            Right.READER,
            read_state,
        )
    ]
