"""The live queries of an edge process: made from its settings, kept up to date with the schema, counted."""

from collections.abc import Awaitable, Callable

from broker.events import subscribe_events
from broker.nats.connection import NatsConnection
from broker.observability.observe import gauge
from broker.subjects import CATALOG_CHANGED
from schemas.events import CatalogChanged
from schemas.settings.graphql import Subscriptions
from services.realtime.changes.interface import Feed
from services.subscriptions.live_queries import LiveQueries
from services.subscriptions.table_watches import TableWatches

_LEAST_S = 0.01
"""Least seconds from a change to the run of a query: a commit is in the log a moment before other transactions see it."""


async def open_live_queries(
    settings: Subscriptions, feed: Feed, connection: NatsConnection
) -> tuple[LiveQueries, Callable[[], Awaitable[None]]]:
    """Return the live queries and what closes them. A change of the schema makes them look again for their tables."""
    watches = TableWatches(feed)
    live = LiveQueries(
        watches, max(float(settings.debounce), _LEAST_S), settings.max_runs, float(settings.repeat)
    )

    async def renew(_: CatalogChanged) -> None:
        live.renew()

    following = await subscribe_events(connection, CATALOG_CHANGED, CatalogChanged, renew)
    gauges = [
        gauge("headwater_graphql_live_queries", "Different live queries, of REST too.", lambda: live.size),
        gauge("headwater_graphql_live_runs", "Runs of live queries so far, of REST too.", lambda: live.runs),
        gauge(
            "headwater_graphql_watched_tables", "Tables that live queries depend on.", lambda: watches.tables
        ),
    ]

    async def close() -> None:
        await following.close()
        await live.close()
        for remove in gauges:
            remove()

    return live, close
