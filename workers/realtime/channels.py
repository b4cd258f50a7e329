"""CHANNEL and WRITE: what policies on realtime.messages let a caller do with a private channel.

    read     as service_role: put a probe for each extension -> as the caller: which of them are seen -> roll back
    write    as the caller: insert a probe -> roll back; refused by a policy means no

Nothing of this is ever committed, so no probe is sent to anybody or kept. A policy that raises an error denies.
`service_role` may insert whatever the policies say; stored messages are read as it too, once the channel may be read.
The default of `inserted_at` is the server's `now()`, in its session's time zone: the session says UTC.
Source: reference page "realtime", sections 7 and 10.
"""

import uuid
from collections.abc import Sequence

import msgspec

from schemas.realtime import Channel, ChannelAsked, Replayed, WriteAsked, Written
from workers.database.errors import DatabaseError
from workers.database.pool import Pool
from workers.database.session import End, Row, Statement, Work
from workers.realtime.callers import Caller, Settings, become
from workers.realtime.errors import is_passing
from workers.realtime.numbers import Numbers
from workers.realtime.observations import tell_of_policy
from workers.sql.files import read_statements

MOST_REPLAYED = 25
"""Stored messages that are sent again at most."""

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


async def read_channel(database: Pool, asked: ChannelAsked, numbers: Numbers) -> Channel:
    """Answer CHANNEL. Raises: DatabaseError and its siblings, where the fault is not a policy's."""
    caller = Caller(asked.role, asked.claims)
    probes = [str(uuid.uuid4()) for _ in range(1 + asked.with_presence)]
    put = _put(probes, asked.topic)
    settings = [*_SETTINGS, ("role", _SERVICE), ("realtime.topic", asked.topic)]
    become_caller = _set(become(caller, asked.topic, asked.headers))
    look = Statement(_SQL["seen"], [msgspec.json.encode(probes)])
    statements = [put, become_caller, look, *_replay(asked)]
    try:
        results = await database.run(Work(settings, statements, end=End.ROLLBACK))
    except DatabaseError as error:
        if is_passing(error) or error.statement_index not in (1, 2):
            raise
        tell_of_policy(numbers, error, "realtime.messages", asked.role)
        return Channel(False, False)
    seen = {row[0] for row in results[2]}
    may_replay = asked.replay is not None and b"broadcast" in seen
    replayed = [_replayed(row) for row in results[4]] if may_replay else []
    return Channel(b"broadcast" in seen, b"presence" in seen, replayed)


async def may_write(database: Pool, asked: WriteAsked, numbers: Numbers) -> Written:
    """Answer WRITE. Raises: as `read_channel`."""
    caller = Caller(asked.role, asked.claims)
    become_caller = _set(become(caller, asked.topic, asked.headers))
    put = Statement(_SQL["probe_write"], [asked.topic.encode(), asked.extension.encode()])
    try:
        await database.run(Work(_SETTINGS, [become_caller, put], end=End.ROLLBACK))
    except DatabaseError as error:
        if is_passing(error):
            raise
        if error.code != _DENIED:
            tell_of_policy(numbers, error, "realtime.messages", asked.role)
        return Written(False)
    return Written(True)


def _put(probes: Sequence[str], topic: str) -> Statement:
    name = "probe_read_both" if len(probes) > 1 else "probe_read"
    broadcast, *presence = (probe.encode() for probe in probes)
    return Statement(_SQL[name], [broadcast, topic.encode(), *presence])


def _replay(asked: ChannelAsked) -> list[Statement]:
    """Give the statements that read stored messages, where they are wanted."""
    if asked.replay is None:
        return []
    since = min(max(asked.replay.since, 0), _MOST_MS)
    limit = min(max(asked.replay.limit, 1), MOST_REPLAYED)
    values = [asked.topic.encode(), b"%d" % since, b"%d" % limit]
    return [_set([("role", _SERVICE)]), Statement(_SQL["replay"], values)]


def _set(settings: Settings) -> Statement:
    """Give the statement that applies settings to the rest of the transaction."""
    calls = (f"pg_catalog.set_config(${2 * at + 1}, ${2 * at + 2}, true)" for at in range(len(settings)))
    return Statement(f"select {', '.join(calls)}", [part.encode() for pair in settings for part in pair])


def _replayed(row: Row) -> Replayed:
    id, event, payload, is_binary = (value or b"" for value in row)
    if is_binary == b"t":
        return Replayed(id.decode(), event.decode(), bytes.fromhex(payload.decode()), True)
    return Replayed(id.decode(), event.decode(), payload)
