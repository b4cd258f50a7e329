"""What a load needs, from measured costs (pure): requests, sockets, row changes and projects -> cores, memory, processes, connections.

Every cost is CPU of one group of processes for one unit of work. A group needs the sum over its work; processes that use one
core at most (edges, workers) are as many as keep each below the wanted utilisation. An edge reads every change of a table to
which one of its sockets listens, so that further edges read the same changes again; a delivery is paid once.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

POOL_SIZE = 10
"""Connections of a worker process (`pools.pool_size`)."""
OTHER_CONNECTIONS = 30
"""Connections of the platform beside those: auth, storage, replication, scheduler, management."""
SOCKETS_OF_AN_EDGE = 20_000
"""Connections of an edge process (`gateway.max_connections`)."""


class UnitCost(msgspec.Struct, frozen=True, omit_defaults=True):
    """CPU milliseconds of each group of processes for one request; `other` are functions and decoders of images."""

    edge: float = 0.0
    worker: float = 0.0
    nats: float = 0.0
    postgres: float = 0.0
    other: float = 0.0

    @property
    def total(self) -> float:
        return self.edge + self.worker + self.nats + self.postgres + self.other


class ProjectCosts(msgspec.Struct, frozen=True):
    """What several projects on one server cost (`headwater projects`)."""

    server_mb: float
    """The front gateway, and the loaded code from which projects are started."""
    asleep_mb: float
    awake_mb: float
    awake_ms: float
    """CPU of an awake project without requests, in a second."""
    wake_s: float
    wake_cpu_s: float
    front_ms: float
    """CPU of the front gateway for a request."""


class CapacityFigures(msgspec.Struct, frozen=True):
    """Measured costs, and where they come from (`capacity_figures.json`, written from recorded runs of the benchmarks)."""

    sources: dict[str, str]
    """Benchmark -> date, commit and machine of its run."""
    busy: list[str]
    """Benchmarks whose machine had other work."""
    requests: dict[str, UnitCost]
    change: UnitCost
    """A row change with one subscriber: the cost of the log, its stream and the reading by one edge, in milliseconds."""
    delivery_ms: float
    """CPU of an edge for a further delivery of a change."""
    broadcast_ms: float
    """CPU of an edge for the delivery of a broadcast."""
    socket_kib: float
    socket_open_ms: float
    socket_rest_ms: float
    """CPU of an edge in a second for a socket at rest."""
    idle_mb: float
    edge_mb: float
    worker_mb: float
    table_mb: float
    """Memory that a further table adds."""
    decoder_mb: float
    """Memory of a decoder of images, of which each renders one image at a time."""
    projects: ProjectCosts


@dataclass(frozen=True, slots=True)
class ExpectedLoad:
    """What a platform is to carry. Rates are a second; `receivers` are the sockets that get a change."""

    rates: Mapping[str, float] = field(default_factory=dict)
    sockets: int = 0
    changes: float = 0.0
    receivers: float = 1.0
    broadcasts: float = 0.0
    """Deliveries of broadcasts a second."""
    tables: int = 0
    share: float = 1.0
    """Share of all changes that an edge reads: those of tables to which its sockets listen."""
    projects: int = 0
    """Projects on one server, behind its front gateway; 0 is a platform without one. One of them has the load, the others rest."""
    awake: int = 1
    """Those of them that do not sleep."""
    wakes: float = 0.0
    """Wakes of projects in an hour."""


@dataclass(frozen=True, slots=True)
class PartNeed:
    """What a part of the platform needs; `limit` says why it cannot carry the load, or is empty."""

    part: str
    cores: float
    processes: int
    memory_mb: float
    limit: str = ""


def needs(load: ExpectedLoad, figures: CapacityFigures, target: float = 0.6) -> list[PartNeed]:
    """Return what each part needs so that no process uses more than `target` of a core."""
    edges, edge_cores, slow_edge = _edges(load, figures, target)
    workers = max(1, math.ceil(_sum(load, figures, "worker") / target))
    leader = load.changes * figures.change.worker / 1000
    slow_leader = leader > target
    nats = _sum(load, figures, "nats") + load.changes * figures.change.nats / 1000 * max(
        1, edges * load.share
    )
    postgres = _sum(load, figures, "postgres") + load.changes * figures.change.postgres / 1000
    rendering = load.rates.get("image", 0.0) * figures.requests["image"].other / 1000
    decoders = math.ceil(rendering / target)
    sockets_mb = load.sockets * figures.socket_kib / 1024
    rest = max(0.0, figures.idle_mb - figures.edge_mb - figures.worker_mb) + load.tables * figures.table_mb
    return [
        PartNeed(
            "edges",
            edge_cores,
            edges,
            edges * figures.edge_mb + sockets_mb,
            _EDGE_LIMIT.format(changes_of_edge(figures, target)) if slow_edge else "",
        ),
        PartNeed("workers", _sum(load, figures, "worker"), workers, workers * figures.worker_mb),
        PartNeed(
            "change leader",
            leader,
            1,
            0.0,
            _LEADER_LIMIT.format(changes_of_leader(figures, target)) if slow_leader else "",
        ),
        PartNeed("NATS", nats, 1, 0.0),
        PartNeed("functions, images", _sum(load, figures, "other"), decoders, decoders * figures.decoder_mb),
        PartNeed("Postgres and the rest", postgres, 0, rest),
        *(_of_projects(load, figures.projects, target) if load.projects else ()),
    ]


def _of_projects(load: ExpectedLoad, costs: ProjectCosts, target: float) -> list[PartNeed]:
    """Return what the server of projects needs, and what the awake ones need beside the one that has the load."""
    front = sum(load.rates.values()) * costs.front_ms / 1000
    further = max(0, load.awake - 1)
    asleep_mb = max(0, load.projects - load.awake) * costs.asleep_mb
    most = target / max(costs.front_ms / 1000, 1e-9)
    return [
        PartNeed(
            "front gateway",
            front,
            1,
            costs.server_mb + asleep_mb,
            _FRONT_LIMIT.format(most) if front > target else "",
        ),
        PartNeed(
            "further awake projects", further * costs.awake_ms / 1000, further, further * costs.awake_mb
        ),
        PartNeed("wakes of projects", load.wakes / 3600 * costs.wake_cpu_s, 0, 0.0),
    ]


_EDGE_LIMIT = "an edge reads {:,.0f} changes a second: let sockets of the same tables share edges (--share)"
_FRONT_LIMIT = (
    "one front gateway takes {:,.0f} requests a second: run busy projects as platforms of their own"
)
_LEADER_LIMIT = "one leader a database reads {:,.0f} changes a second: divide the tables among databases"


def changes_of_leader(figures: CapacityFigures, target: float) -> float:
    """Return the changes a second that the leader of one database can publish."""
    return target / max(figures.change.worker / 1000, 1e-9)


def changes_of_edge(figures: CapacityFigures, target: float) -> float:
    """Return the changes a second that one edge can read while it delivers none of them."""
    return target / max((figures.change.edge - figures.delivery_ms) / 1000, 1e-9)


def connections(parts: Sequence[PartNeed]) -> int:
    """Return the connections to Postgres that these parts open at most."""
    workers = next(part.processes for part in parts if part.part == "workers")
    return workers * POOL_SIZE + OTHER_CONNECTIONS


def _sum(load: ExpectedLoad, figures: CapacityFigures, group: str) -> float:
    """Return the cores that requests use in a group of processes."""
    cost: float = sum(rate * getattr(figures.requests[kind], group) for kind, rate in load.rates.items())
    return cost / 1000


def _edges(load: ExpectedLoad, figures: CapacityFigures, target: float) -> tuple[int, float, bool]:
    """Return the number of edges, the cores of all of them, and whether one cannot even read the changes.

    Then no number of edges is enough; the number is that which the sockets need.
    """
    shared = (
        _sum(load, figures, "edge")
        + load.sockets * figures.socket_rest_ms / 1000
        + load.changes * load.receivers * figures.delivery_ms / 1000
        + load.broadcasts * figures.broadcast_ms / 1000
    )
    reading = load.changes * load.share * max(0.0, figures.change.edge - figures.delivery_ms) / 1000
    least = max(1, math.ceil(load.sockets / SOCKETS_OF_AN_EDGE))
    if reading >= target:
        return least, shared + reading * least, True
    edges = max(least, math.ceil(shared / (target - reading)))
    return edges, shared + reading * edges, False
