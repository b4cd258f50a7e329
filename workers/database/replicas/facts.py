"""Facts about the read replicas, for `headwater doctor`: whether each follows the primary, and how far behind it is."""

import asyncpg

from schemas.positions import ReplicaFacts, parse_lsn
from workers.database.replicas.replica import STATEMENTS
from workers.database.replicas.start import replica_name
from workers.database.sessions.superuser import connect_with_fixed_settings

_CONNECT_S = 5.0


async def replica_facts(urls: list[str], primary: asyncpg.Connection) -> list[ReplicaFacts]:
    """Return the facts about each replica. `primary` is a session on the database that they should follow."""
    if not urls:
        return []
    row = await primary.fetchrow(STATEMENTS["primary"])
    if row is None or row[0]:
        return [ReplicaFacts(replica_name(url), "db.url is not a primary itself") for url in urls]
    position, system = row[1], row[2]
    return [await _facts(url, parse_lsn(position), system) for url in urls]


async def _facts(url: str, position: int, system: str) -> ReplicaFacts:
    name = replica_name(url)
    try:
        connection = await connect_with_fixed_settings(url, timeout_s=_CONNECT_S)
        try:
            row = await connection.fetchrow(STATEMENTS["replica"])
        finally:
            await connection.close()
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        return ReplicaFacts(name, str(error) or "no answer in time")
    assert row is not None  # a query without FROM has one row
    in_recovery, replayed, own_system = row[:3]
    if own_system != system:
        return ReplicaFacts(name, "it belongs to another cluster than the primary")
    if not in_recovery:
        return ReplicaFacts(name, "it is no replica: it was promoted, or it is the primary itself")
    if replayed is None:
        return ReplicaFacts(name, "it has replayed nothing of the log yet")
    return ReplicaFacts(name, "", max(0, position - parse_lsn(replayed)))
