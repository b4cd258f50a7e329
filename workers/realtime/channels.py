"""CHANNEL and WRITE: what policies on realtime.messages allow a caller of a private channel.

    read     as service_role: insert a probe row for each extension -> as the caller: select the visible probes -> roll back
    write    as the caller: insert a probe row -> roll back; rejected by a policy means no

Every transaction is rolled back, so no probe is ever sent or stored. A policy that raises an error denies. `service_role` may
insert whatever the policies say; it also reads stored messages, once the channel may be read. The default of `inserted_at` is
the server's `now()` in the session's time zone, so the session uses UTC.
Source: docs/reference/realtime.md, sections 7 and 10.
"""

import uuid
from collections.abc import Sequence

import msgspec

from schemas.realtime import ChannelQuery, ChannelRights, ReplayedMessage, WriteAnswer, WriteQuery
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError
from workers.database.protocol.rows import Row
from workers.database.transactions.model import Statement, TransactionEnd, TransactionSpec
from workers.realtime.callers import DatabaseCaller, Settings, caller_settings
from workers.realtime.errors import is_passing
from workers.realtime.metrics import RealtimeMetrics
from workers.realtime.observations import report_policy_error
from workers.sql.files import read_statements

MOST_REPLAYED = 25
"""Most stored messages that are sent again."""

_SQL = read_statements("workers.realtime", "channels.sql")
_SERVICE = "service_role"
_SETTINGS = (
    ("search_path", "public, extensions"),
    ("timezone", "UTC"),
    ("statement_timeout", "5s"),
    ("lock_timeout", "2s"),
)
_DENIED = "42501"
_MOST_MS = 2**53


async def read_channel(
    database: ConnectionPool, query: ChannelQuery, metrics: RealtimeMetrics
) -> ChannelRights:
    """Answer CHANNEL. Raises: DatabaseError, Disconnected, PoolTimeout, unless a policy caused the error."""
    caller = DatabaseCaller(query.role, query.claims)
    probes = [str(uuid.uuid4()) for _ in range(1 + query.with_presence)]
    insert = _insert_probes(probes, query.topic)
    settings = [*_SETTINGS, ("role", _SERVICE), ("realtime.topic", query.topic)]
    become_caller = _set(caller_settings(caller, query.topic, query.headers))
    select = Statement(_SQL["seen"], [msgspec.json.encode(probes)])
    statements = [insert, become_caller, select, *_replay(query)]
    try:
        results = await database.run(TransactionSpec(settings, statements, end=TransactionEnd.ROLLBACK))
    except DatabaseError as error:
        if is_passing(error) or error.statement_index not in (1, 2):
            raise
        report_policy_error(metrics, error, "realtime.messages", query.role)
        return ChannelRights(False, False)
    seen = {row[0] for row in results[2]}
    may_replay = query.replay is not None and b"broadcast" in seen
    replayed = [_replayed(row) for row in results[4]] if may_replay else []
    return ChannelRights(b"broadcast" in seen, b"presence" in seen, replayed)


async def may_write(database: ConnectionPool, query: WriteQuery, metrics: RealtimeMetrics) -> WriteAnswer:
    """Answer WRITE. Raises: as `read_channel`."""
    caller = DatabaseCaller(query.role, query.claims)
    become_caller = _set(caller_settings(caller, query.topic, query.headers))
    insert = Statement(_SQL["probe_write"], [query.topic.encode(), query.extension.encode()])
    try:
        await database.run(TransactionSpec(_SETTINGS, [become_caller, insert], end=TransactionEnd.ROLLBACK))
    except DatabaseError as error:
        if is_passing(error):
            raise
        if error.code != _DENIED:
            report_policy_error(metrics, error, "realtime.messages", query.role)
        return WriteAnswer(False)
    return WriteAnswer(True)


def _insert_probes(probes: Sequence[str], topic: str) -> Statement:
    name = "probe_read_both" if len(probes) > 1 else "probe_read"
    broadcast, *presence = (probe.encode() for probe in probes)
    return Statement(_SQL[name], [broadcast, topic.encode(), *presence])


def _replay(query: ChannelQuery) -> list[Statement]:
    """Return the statements that read stored messages; none if the query does not request a replay."""
    if query.replay is None:
        return []
    since = min(max(query.replay.since, 0), _MOST_MS)
    limit = min(max(query.replay.limit, 1), MOST_REPLAYED)
    values = [query.topic.encode(), b"%d" % since, b"%d" % limit]
    return [_set([("role", _SERVICE)]), Statement(_SQL["replay"], values)]


def _set(settings: Settings) -> Statement:
    """Return the statement that applies settings to the rest of the transaction."""
    calls = (f"pg_catalog.set_config(${2 * at + 1}, ${2 * at + 2}, true)" for at in range(len(settings)))
    return Statement(f"select {', '.join(calls)}", [part.encode() for pair in settings for part in pair])


def _replayed(row: Row) -> ReplayedMessage:
    id, event, payload, is_binary = (value or b"" for value in row)
    if is_binary == b"t":
        return ReplayedMessage(id.decode(), event.decode(), bytes.fromhex(payload.decode()), True)
    return ReplayedMessage(id.decode(), event.decode(), payload)
