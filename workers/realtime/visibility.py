"""VISIBLE: which rows each of several groups of callers sees now, by SQL under their role and claims.

Theory. A policy can only be evaluated on the current row, but a version from the log is delivered. The answer must not reveal a
version that the group may never have been allowed to see: a draft whose row was published later, a text that was removed before
access was granted, whether the version comes from a replay or from a recent change. So a row counts as visible only while it
still has the values of that version (in the columns that the role may select; no others are delivered). Otherwise it is
SUPERSEDED, and the caller may receive its key alone.

Values are compared as `to_jsonb` writes them. Those of the log are read into the types of the table first, so that neither
time zone nor spelling matters. A type that cannot be read from its own JSON (hstore, for example) raises an error; then values
that are JSON objects are compared unread, and if that fails as well every version counts as superseded.

Groups share transactions, each with a savepoint. Rolling back to it undoes the group's settings and those that functions of its
policies made, so that no group runs with the settings of another. If a statement of such a transaction fails, each of its
groups is queried alone, and the group whose policy raises sees no row.
Source: docs/reference/realtime.md, section 9 (who sees a change).
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import msgspec

from schemas.realtime import SUPERSEDED, RowFlags, VisibilityQuery
from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError
from workers.database.protocol.rows import Rows
from workers.database.transactions.model import Statement, TransactionEnd, TransactionSpec
from workers.realtime.callers import DatabaseCaller
from workers.realtime.errors import is_passing
from workers.realtime.metrics import RealtimeMetrics
from workers.realtime.observations import report_policy_error
from workers.sql.compose import Sql, concat, ident, join, literal, param, qualified, quoted, raw, render

GROUPS_AT_ONCE = 32
"""Groups that share a transaction."""
_BYTES_AT_ONCE = 4 * 1024 * 1024
"""Bytes of rows in the statements of a transaction with several groups: the statement of each group contains all rows."""
TRANSACTIONS_AT_ONCE = 4
"""Connections that one query uses at most."""

_SETTINGS = (("statement_timeout", "5s"), ("lock_timeout", "2s"))
_BEGIN, _UNDO = Statement("savepoint headwater_group"), Statement("rollback to savepoint headwater_group")
_BECOME = (
    "select pg_catalog.set_config('role', $1, true), pg_catalog.set_config('request.jwt.claims', $2, true)"
)
_STEPS = 4
"""Statements for each group."""


class RowComparison(StrEnum):
    """How a row is compared with its version in the log, the most exact way first."""

    ALL = "all"
    NO_OBJECTS = "no objects"
    """Values that are JSON objects are compared unread."""
    NONE = "none"


_WORSE = {RowComparison.ALL: RowComparison.NO_OBJECTS, RowComparison.NO_OBJECTS: RowComparison.NONE}

Group = tuple[str, bytes]


async def find_visible(
    database: ConnectionPool, query: VisibilityQuery, metrics: RealtimeMetrics
) -> RowFlags:
    """Answer VISIBLE. Raises: DatabaseError, Disconnected, PoolTimeout if the server cannot answer now."""
    # Groups of one role are adjacent: Postgres plans a statement again when the role changes.
    order = sorted(range(len(query.groups)), key=lambda number: query.groups[number])
    answers = [b""] * len(order)
    connections = asyncio.Semaphore(TRANSACTIONS_AT_ONCE)

    async def check(share: Sequence[int]) -> None:
        async with connections:
            groups = [query.groups[number] for number in share]
            flags_of_groups = await _VisibilityCheck(database, query, metrics).together(groups)
        for number, flags in zip(share, flags_of_groups, strict=True):
            answers[number] = flags

    size = sum(len(value) for row in query.rows for value in row if value is not None)
    step = max(1, min(GROUPS_AT_ONCE, _BYTES_AT_ONCE // max(1, size)))
    shares = [order[at : at + step] for at in range(0, len(order), step)]
    try:
        async with asyncio.TaskGroup() as tasks:
            for share in shares:
                tasks.create_task(check(share))
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return RowFlags(answers)


@dataclass(frozen=True, slots=True)
class _VisibilityCheck:
    """The check of one query for some of its groups."""

    database: ConnectionPool
    query: VisibilityQuery
    metrics: RealtimeMetrics
    comparison: RowComparison = RowComparison.ALL

    async def together(self, groups: list[Group]) -> list[bytes]:
        """Check groups in one transaction; if that fails, each in a transaction of its own."""
        query, count = self.query, len(self.query.rows)
        try:
            work = _work(query.schema, _select(query, self.comparison), groups)
            results = await self.database.run(work)
            return [_flags(results[start + 2], count) for start in range(0, len(results), _STEPS)]
        except DatabaseError as error:
            if is_passing(error):
                raise
            if len(groups) == 1:
                return [await self._again(groups[0], error)]
        return [(await self.together([group]))[0] for group in groups]

    async def _again(self, group: Group, error: DatabaseError) -> bytes:
        """Check a group whose transaction failed with a comparison that more types support; else it sees no row."""
        if self.query.columns and self.comparison in _WORSE:
            return (await replace(self, comparison=_WORSE[self.comparison]).together([group]))[0]
        report_policy_error(self.metrics, error, f"{self.query.schema}.{self.query.table}", group[0])
        return bytes(len(self.query.rows))


def _work(schema: str, select: Statement, groups: Sequence[Group]) -> TransactionSpec:
    statements: list[Statement] = []
    for role, claims in groups:
        caller = DatabaseCaller(role, claims)
        become_it = Statement(_BECOME, [role.encode(), caller.jwt_claims.encode()])
        statements += (_BEGIN, become_it, select, _UNDO)
    settings = [("search_path", f"{quoted(schema)}, public, extensions"), *_SETTINGS]
    return TransactionSpec(
        settings, statements, read_only=True, isolation="read committed", end=TransactionEnd.ROLLBACK
    )


def _select(query: VisibilityQuery, comparison: RowComparison) -> Statement:
    """Return the statement that tells for each row whether the caller sees it, and whether it is unchanged.

    Values are read through the table's own row type, so that no type has to be named.
    """
    table = qualified(query.schema, query.table)
    equal = [concat(raw("seen."), ident(name), raw(" = key."), ident(name)) for name in query.key]
    rows = b"[" + b",".join(_pair(query, values, comparison) for values in query.rows) + b"]"
    sql: Sql = concat(
        raw("select pg_catalog.string_agg(coalesce((select "), _same(query, comparison), raw(" from "), table,
        raw(" as seen where "), join(" and ", equal), raw(" limit 1), '0'), '' order by given.number)"
        " from pg_catalog.jsonb_array_elements("), param(rows), raw(") with ordinality as given(pair, number)"
        " cross join lateral pg_catalog.jsonb_populate_record(null::"), table,
        raw(", given.pair operator(pg_catalog.->) 0) as key"),
    )  # fmt: skip
    text, params = render(sql)
    return Statement(text, params)  # type: ignore[arg-type]  # there are no slots


def _same(query: VisibilityQuery, comparison: RowComparison) -> Sql:
    """Return SQL for '1' if a row still has the values of the log, else '2'. It reads only rows that the caller sees."""
    if not query.columns:
        return raw("'1'")
    if comparison is RowComparison.NONE:
        return raw("'2'")
    return concat(
        raw("(select case when "), join(" and ", [_equal(name) for name in query.columns]),
        raw(" then '1' else '2' end from pg_catalog.jsonb_populate_record(null::"), qualified(query.schema, query.table),
        raw(", "), _read_again(comparison), raw(") as logged)"),
    )  # fmt: skip


def _equal(name: str) -> Sql:
    """Return SQL for whether a column has the value of the log; a value that is not in the log is not delivered either.

    The log has bytea without the `\\x` in front, also inside of domains and arrays.
    """
    current = concat(raw("nullif(pg_catalog.to_jsonb(seen."), ident(name), raw("), 'null')"))
    read = concat(raw("nullif(pg_catalog.to_jsonb(logged."), ident(name), raw("), 'null')"))
    written = concat(_LOGGED, raw(" operator(pg_catalog.->) "), literal(name))
    return concat(
        raw("(not pg_catalog.jsonb_exists("), _LOGGED, raw(", "), literal(name), raw(") or "),
        current, raw(" is not distinct from "), read, raw(" or pg_catalog.replace("), current,
        raw("::pg_catalog.text, E'\"\\\\\\\\x', '\"') is not distinct from nullif("), written,
        raw(", 'null')::pg_catalog.text)"),
    )  # fmt: skip


def _read_again(comparison: RowComparison) -> Sql:
    """Return SQL for the values of the log that are read into the table's row type."""
    if comparison is not RowComparison.NO_OBJECTS:
        return _LOGGED
    return concat(
        raw("(select pg_catalog.jsonb_object_agg(hw_each.name, hw_each.value) from pg_catalog.jsonb_each("),
        _LOGGED,
        raw(
            ") as hw_each(name, value) where pg_catalog.jsonb_typeof(hw_each.value) operator(pg_catalog.<>) 'object')"
        ),
    )


_LOGGED = raw("(given.pair operator(pg_catalog.->) 1)")


def _pair(query: VisibilityQuery, values: Sequence[bytes | None], comparison: RowComparison) -> bytes:
    """Return a row as a JSON array of two objects: its key, and the values that are compared."""
    count = len(query.key)
    others = b"{}" if comparison is RowComparison.NONE else _object(query.columns, values[count:])
    return b"[" + _object(query.key, values[:count]) + b"," + others + b"]"


def _object(names: Sequence[str], values: Sequence[bytes | None]) -> bytes:
    members = [
        msgspec.json.encode(name) + b":" + value
        for name, value in zip(names, values, strict=True)
        if value is not None
    ]
    return b"{" + b",".join(members) + b"}"


def _flags(rows: Rows, count: int) -> bytes:
    flags = rows[0][0] or b""
    if len(flags) != count:
        raise ValueError("not one answer for each row")
    return flags.translate(_AS_FLAGS)


_AS_FLAGS = bytes.maketrans(b"012", bytes((0, 1, SUPERSEDED)))
