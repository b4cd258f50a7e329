"""Opens the read replicas of a process as the settings name them, with their metrics."""

from collections.abc import Callable
from functools import partial
from urllib.parse import quote, urlsplit

from broker.nats.connection import NatsConnection
from broker.observability.observe import gauge
from schemas.settings.checks import listed_urls
from schemas.settings.tree import Settings, SettingsError
from workers.database.connection_pool.open_connections import PoolTimes
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.protocol.row_body import BodySpace
from workers.database.replicas.primary_log import PrimaryLog
from workers.database.replicas.read_routing import ReplicaReads
from workers.database.replicas.replica import Replica

_ACQUIRE_S = 1.0
"""How long a read waits for a connection to a replica, before it runs on the primary."""
_PRIMARY_CONNECTIONS = 2
_TIMES = PoolTimes(connect=2.0)


async def open_replicas(settings: Settings, connection: NatsConnection, space: BodySpace) -> ReplicaReads:
    """Return the replicas of the settings; `start` connects to them. Raises: SettingsError without `db.url`."""
    if settings.db.url is None:
        raise SettingsError("db.replicas.urls needs db.url, the primary")
    url, prepared = settings.db.url.reveal(), settings.api.prepared_statements

    async def open_pool(url: str, name: str, size: int) -> ConnectionPool:
        return await ConnectionPool.open(
            url, size, prepared=prepared, acquire_timeout=_ACQUIRE_S, times=_TIMES, body_space=space,
            name=name, shows_statements=True,
        )  # fmt: skip

    primary = await open_pool(url, "positions", _PRIMARY_CONNECTIONS)
    log = PrimaryLog()
    replicas = [
        Replica(
            replica_name(replica_url), partial(open_pool, replica_url, replica_name(replica_url)),
            settings.db.replicas.pool_size, log,
        )
        for replica_url in replica_urls(settings, url)
    ]  # fmt: skip
    reads = ReplicaReads(
        replicas,
        primary,
        log,
        connection,
        roles=settings.db.replicas.roles,
        max_lag_s=settings.db.replicas.max_lag,
    )
    reads.on_close = _gauges(reads)
    return reads


def replica_urls(settings: Settings, primary_url: str) -> list[str]:
    """Return the connection strings of the replicas; those without a user have the login of the primary's URL."""
    primary, urls = urlsplit(primary_url), []
    for url in listed_urls(settings.db.replicas):
        parts = urlsplit(url)
        if not parts.username:
            login = primary.netloc.rpartition("@")[0]
            parts = parts._replace(netloc=f"{login}@{parts.netloc}", path=parts.path or primary.path)
        urls.append(parts.geturl())
    return urls


def replica_name(url: str) -> str:
    """Return host and port of a connection string."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return f"[{host}]:{parts.port or 5432}" if ":" in host else f"{quote(host)}:{parts.port or 5432}"


def _gauges(reads: ReplicaReads) -> list[Callable[[], None]]:
    """Register the metrics; return what removes them."""
    removers = [
        gauge(
            "headwater_replica_fallbacks",
            "Reads for a replica that ran on the primary because none was fresh enough.",
            lambda: reads.fallbacks,
        )
    ]
    for replica in reads.replicas:
        label = {"replica": replica.name}
        removers += (
            gauge("headwater_replica_lag_seconds", "How old a replica's data may be.", replica.lag_s, **label),
            gauge("headwater_replica_reads", "Reads that a replica answered.", partial(_served, replica), **label),
            gauge(
                "headwater_replica_retries", "Reads that failed on a replica and ran on the primary.",
                partial(_retried, replica), **label,
            ),
        )  # fmt: skip
    return removers


def _served(replica: Replica) -> float:
    return replica.served


def _retried(replica: Replica) -> float:
    return replica.retried
