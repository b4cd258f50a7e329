"""The statements of one queue: take under a lease, extend, settle, measure. They run as the queue's owner.

A lease is the message's `vt`: while it lies ahead, no other consumer takes it. What is written about a message names its number, when it
was enqueued and how often it was taken, so a consumer whose lease has ended writes nothing over the one that took the message after
it. A success alone is written whoever has the lease.

The tables belong to the project, which may have changed them: a statement then fails as DatabaseError, in a session that has the owner's
rights and no others.
"""

from collections.abc import Sequence
from typing import NamedTuple

from workers.database.sessions.role_session import RoleSession
from workers.scheduler.queues.outcomes import MESSAGE_LIMIT, MessageVerdict, TakenMessage
from workers.sql import compose

_MOST_BYTES = 16 * 1024 * 1024
"""Bytes of the messages that are taken by one statement, unless the first alone is longer."""
_MOST_COUNTED = 100_001
_LONGEST_ERROR = 500


class QueueFigures(NamedTuple):
    """Messages of a queue, those that can be taken, the age of the oldest, and in how many seconds the next can be taken."""

    messages: int
    visible: int
    oldest_s: float | None
    next_s: float | None


class QueueTable:
    """A queue through a session of its owner. All methods raise: DatabaseError, Disconnected."""

    def __init__(self, session: RoleSession, queue: str, dead_letter: str, *, archives: bool) -> None:
        self._session, self.queue, self._dead_letter = session, queue, dead_letter
        table, archive = _table("q", queue), _table("a", queue)
        self._take = _text(compose.raw(_TAKE[0]), table, compose.raw(_TAKE[1]), table, compose.raw(_TAKE[2]))
        self._extend = _text(compose.raw("update "), table, compose.raw(_EXTEND))
        self._retry = _text(compose.raw("update "), table, compose.raw(_RETRY))
        done = (compose.raw("delete from "), table, compose.raw(_DONE))
        self._done = (
            _text(
                compose.raw("with gone as ("), *done, compose.raw(_GONE), archive, compose.raw(_ARCHIVE)
            )
            if archives
            else _text(*done)
        )  # fmt: skip
        aside = (compose.raw("with gone as (delete from "), table, compose.raw(_DEAD))
        self._dead = (
            _text(*aside, compose.raw("insert into "), _table("q", dead_letter), compose.raw(_DEAD_LETTER))
            if dead_letter
            else _text(*aside, compose.raw("insert into "), archive, compose.raw(_ARCHIVE))
        )
        self._measure = _text(
            compose.raw(_MEASURE[0]), table, compose.raw(_MEASURE[1]), table, compose.raw(_MEASURE[2]), table,
            compose.raw(_MEASURE[3]), table, compose.raw(_MEASURE[4]),
        )  # fmt: skip

    async def check(self) -> str:
        """Return why messages could not be set aside, empty if they can."""
        name = f"q_{self._dead_letter}" if self._dead_letter else f"a_{self.queue}"
        [row] = await self._session.ask(_MAY_INSERT, name.lower())
        what = (
            f"the queue {self._dead_letter} (dead_letter)"
            if self._dead_letter
            else f"the archive of {self.queue}"
        )
        if row[0] is None:
            return f"there is no such table: {what}"
        return "" if row[0] else f"the owner of {self.queue} may not write to {what}"

    async def take(self, most: int, visibility_s: float) -> list[TakenMessage]:
        """Take messages that are visible, the oldest first, and hide them for some seconds."""
        rows = await self._session.ask(self._take, most, visibility_s, _MOST_BYTES, MESSAGE_LIMIT)
        return sorted(TakenMessage(*row) for row in rows)

    async def extend(self, messages: Sequence[TakenMessage], visibility_s: float) -> None:
        """Hide messages for some seconds from now on."""
        await self._session.ask(self._extend, *_keys(messages), visibility_s)

    async def settle(self, verdicts: Sequence[MessageVerdict]) -> None:
        """Store what becomes of messages, in at most three statements."""
        done = [verdict.message for verdict in verdicts if verdict.kind == "done"]
        if done:
            await self._session.ask(
                self._done, [each.id for each in done], [each.enqueued_at for each in done]
            )
        again = [verdict for verdict in verdicts if verdict.kind in ("retry", "returned")]
        if again:
            await self._session.ask(
                self._retry,
                *_keys([verdict.message for verdict in again]),
                [verdict.wait_s for verdict in again],
                [1 if verdict.kind == "returned" else 0 for verdict in again],
            )
        dead = [verdict for verdict in verdicts if verdict.kind == "dead"]
        if dead:
            errors = [verdict.error[:_LONGEST_ERROR].replace("\0", "") for verdict in dead]
            await self._session.ask(
                self._dead, *_keys([verdict.message for verdict in dead]), errors, self.queue
            )

    async def figures(self) -> QueueFigures:
        """Count the messages, 100,001 for more."""
        [row] = await self._session.ask(self._measure, _MOST_COUNTED)
        return QueueFigures(*row)

    async def close(self) -> None:
        """Close the session."""
        await self._session.close()


def _table(prefix: str, queue: str) -> compose.Sql:
    return compose.qualified("pgmq", f"{prefix}_{queue}".lower())


def _text(*parts: compose.Sql) -> str:
    text, params = compose.render(compose.concat(*parts))
    assert not params  # values are given apart
    return text


def _keys(messages: Sequence[TakenMessage]) -> tuple[list[int], list[object], list[int]]:
    return (
        [message.id for message in messages],
        [message.enqueued_at for message in messages],
        [message.attempt for message in messages],
    )


_MAY_INSERT = """
select pg_catalog.has_table_privilege(pg_catalog.to_regclass('pgmq.' || pg_catalog.quote_ident($1::text)), 'insert')
"""
_TAKE = (
    "with locked as (select msg_id, message from ",
    """ where vt <= pg_catalog.clock_timestamp() order by msg_id limit $1::int8 for update skip locked),
sized as (
  select msg_id, length, pg_catalog.sum(length) over (order by msg_id) as total, pg_catalog.row_number() over (order by msg_id) as place
  from (select msg_id, pg_catalog.octet_length(message::text) as length from locked) as measured
)
update """,
    """ as queue
set vt = pg_catalog.clock_timestamp() + $2::float8 * interval '1 second', read_ct = read_ct + 1
from sized
where queue.msg_id = sized.msg_id and (sized.total <= $3::int8 or sized.place = 1)
returning
  queue.msg_id::int8, queue.read_ct::int4, queue.enqueued_at::timestamptz,
  case when coalesce(sized.length, 0) <= $4::int8 then pg_catalog.json_build_object(
    'msg_id', queue.msg_id, 'read_ct', queue.read_ct, 'enqueued_at', queue.enqueued_at, 'vt', queue.vt,
    'message', queue.message, 'headers', queue.headers
  )::text end""",
)
_EXTEND = """ as queue
set vt = pg_catalog.clock_timestamp() + $4::float8 * interval '1 second'
from unnest($1::int8[], $2::timestamptz[], $3::int4[]) as lease (id, enqueued_at, attempt)
where queue.msg_id = lease.id and queue.enqueued_at = lease.enqueued_at and queue.read_ct = lease.attempt"""
_RETRY = """ as queue
set vt = pg_catalog.clock_timestamp() + lease.wait_s * interval '1 second', read_ct = queue.read_ct - lease.uncounted
from unnest($1::int8[], $2::timestamptz[], $3::int4[], $4::float8[], $5::int4[])
  as lease (id, enqueued_at, attempt, wait_s, uncounted)
where queue.msg_id = lease.id and queue.enqueued_at = lease.enqueued_at and queue.read_ct = lease.attempt"""
_DONE = """ as queue
using unnest($1::int8[], $2::timestamptz[]) as lease (id, enqueued_at)
where queue.msg_id = lease.id and queue.enqueued_at = lease.enqueued_at"""
_GONE = " returning queue.msg_id, queue.vt, queue.read_ct, queue.enqueued_at, queue.message, queue.headers) insert into "
_ARCHIVE = """ (msg_id, vt, read_ct, enqueued_at, message, headers)
select msg_id, vt, read_ct, enqueued_at, message, headers from gone"""
_DEAD = """ as queue
using unnest($1::int8[], $2::timestamptz[], $3::int4[], $4::text[]) as lease (id, enqueued_at, attempt, error)
where queue.msg_id = lease.id and queue.enqueued_at = lease.enqueued_at and queue.read_ct = lease.attempt
returning queue.msg_id, queue.vt, queue.read_ct, queue.enqueued_at, queue.message,
  case when pg_catalog.jsonb_typeof(queue.headers) = 'object' then queue.headers else '{}'::jsonb end
  || pg_catalog.jsonb_build_object('dead_letter', pg_catalog.jsonb_build_object(
    'queue', $5::text, 'msg_id', queue.msg_id, 'read_ct', queue.read_ct, 'enqueued_at', queue.enqueued_at, 'error', lease.error
  )) as headers
) """
_DEAD_LETTER = """ (vt, message, headers)
select pg_catalog.clock_timestamp(), message, headers from gone order by msg_id"""
_MEASURE = (
    "select (select pg_catalog.count(*) from (select from ",
    " limit $1::int8) as counted)::int8, (select pg_catalog.count(*) from (select from ",
    " where vt <= pg_catalog.clock_timestamp() limit $1::int8) as counted)::int8, "
    "(select extract(epoch from pg_catalog.clock_timestamp() - enqueued_at)::float8 from ",
    " order by msg_id limit 1), (select extract(epoch from pg_catalog.min(vt) - pg_catalog.clock_timestamp())::float8 from ",
    ")",
)
