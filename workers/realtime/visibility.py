"""VISIBLE: which rows each of several groups of callers may see now, by SQL under their role and claims.

A policy can only be asked about the row as it is now, but what is delivered is a version from the log. The answer must not
hand out a version that the group may never have been allowed to see: a draft whose row was published later, a text that was
removed before access was granted, whether the version comes from a replay or from a change a moment ago. So a row counts as
visible only while it still has the values of that version (in the columns that the role may select; no others are delivered);
otherwise it is SUPERSEDED, and the caller may learn its key alone.

Values are compared as `to_jsonb` writes them. Those of the log are read into the types of the table first, so that neither
time zone nor spelling matters. A type that cannot be read from its own JSON (hstore, for example) fails; then values that are
JSON objects are compared as they are, and if that fails as well every version counts as superseded.

Groups share transactions, a savepoint each: rolled back to, it undoes what the group's settings, and what functions of its
policies have set, so that no group ever runs under what another has left. If a statement of such a transaction fails, each
of its groups is asked alone, and the one whose policy raises sees nothing.
Source: reference page "realtime", section 9 (who sees a change); architecture, decision 9.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import msgspec

from schemas.realtime import SUPERSEDED, Flags, VisibleAsked
from workers.database.errors import DatabaseError
from workers.database.pool import Pool
from workers.database.session import End, Rows, Statement, Work
from workers.realtime.callers import Caller
from workers.realtime.errors import is_passing
from workers.realtime.numbers import Numbers
from workers.realtime.observations import tell_of_policy
from workers.sql.compose import Sql, concat, ident, join, literal, param, qualified, quoted, raw, render

GROUPS_AT_ONCE = 32
"""Groups that share a transaction."""
_BYTES_AT_ONCE = 4 * 1024 * 1024
"""Bytes of rows in the statements of a transaction, where it serves several groups: each has the rows in its statement."""
TRANSACTIONS_AT_ONCE = 4
"""Connections that one question takes at most."""

_SETTINGS = (("statement_timeout", "5s"), ("lock_timeout", "2s"))
_BEGIN, _UNDO = Statement("savepoint headwater_group"), Statement("rollback to savepoint headwater_group")
_BECOME = (
    "select pg_catalog.set_config('role', $1, true), pg_catalog.set_config('request.jwt.claims', $2, true)"
)
_STEPS = 4
"""Statements of a group."""


class Comparison(StrEnum):
    """How a row is compared with its version in the log, the best way first."""

    ALL = "all"
    NO_OBJECTS = "no objects"
    """Values that are JSON objects are compared as they are."""
    NONE = "none"


_WORSE = {Comparison.ALL: Comparison.NO_OBJECTS, Comparison.NO_OBJECTS: Comparison.NONE}

Group = tuple[str, bytes]


async def find_visible(database: Pool, asked: VisibleAsked, numbers: Numbers) -> Flags:
    """Answer VISIBLE. Raises: DatabaseError and its siblings, where the server cannot answer now."""
    # Groups of one role stand side by side: Postgres plans a statement anew for each other role.
    order = sorted(range(len(asked.groups)), key=lambda number: asked.groups[number])
    answers = [b""] * len(order)
    places = asyncio.Semaphore(TRANSACTIONS_AT_ONCE)

    async def ask(share: Sequence[int]) -> None:
        async with places:
            groups = [asked.groups[number] for number in share]
            found = await _Asking(database, asked, numbers).together(groups)
        for number, flags in zip(share, found, strict=True):
            answers[number] = flags

    size = sum(len(value) for row in asked.rows for value in row if value is not None)
    step = max(1, min(GROUPS_AT_ONCE, _BYTES_AT_ONCE // max(1, size)))
    shares = [order[at : at + step] for at in range(0, len(order), step)]
    try:
        async with asyncio.TaskGroup() as tasks:
            for share in shares:
                tasks.create_task(ask(share))
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return Flags(answers)


@dataclass(frozen=True, slots=True)
class _Asking:
    """One question, about any of its groups."""

    database: Pool
    asked: VisibleAsked
    numbers: Numbers
    comparison: Comparison = Comparison.ALL

    async def together(self, groups: list[Group]) -> list[bytes]:
        """Ask for some groups in one transaction; if that fails, for each in one of its own."""
        asked, count = self.asked, len(self.asked.rows)
        try:
            work = _work(asked.schema, _look(asked, self.comparison), groups)
            results = await self.database.run(work)
            return [_flags(results[place + 2], count) for place in range(0, len(results), _STEPS)]
        except DatabaseError as error:
            if is_passing(error):
                raise
            if len(groups) == 1:
                return [await self._again(groups[0], error)]
        return [(await self.together([group]))[0] for group in groups]

    async def _again(self, group: Group, error: DatabaseError) -> bytes:
        """Ask for a group whose question failed, with a comparison that more types support; else it sees nothing."""
        if self.asked.columns and self.comparison in _WORSE:
            return (await replace(self, comparison=_WORSE[self.comparison]).together([group]))[0]
        tell_of_policy(self.numbers, error, f"{self.asked.schema}.{self.asked.table}", group[0])
        return bytes(len(self.asked.rows))


def _work(schema: str, look: Statement, groups: Sequence[Group]) -> Work:
    statements: list[Statement] = []
    for role, claims in groups:
        caller = Caller(role, claims)
        become_it = Statement(_BECOME, [role.encode(), caller.told.encode()])
        statements += (_BEGIN, become_it, look, _UNDO)
    settings = [("search_path", f"{quoted(schema)}, public, extensions"), *_SETTINGS]
    return Work(settings, statements, read_only=True, isolation="read committed", end=End.ROLLBACK)


def _look(asked: VisibleAsked, comparison: Comparison) -> Statement:
    """Return the statement that says of each row whether it is there for the caller, and still the same.

    Values are read through the table's own row type, so that no type has to be named.
    """
    table = qualified(asked.schema, asked.table)
    equal = [concat(raw("seen."), ident(name), raw(" = key."), ident(name)) for name in asked.key]
    rows = b"[" + b",".join(_pair(asked, values, comparison) for values in asked.rows) + b"]"
    sql: Sql = concat(
        raw("select pg_catalog.string_agg(coalesce((select "), _same(asked, comparison), raw(" from "), table,
        raw(" as seen where "), join(" and ", equal), raw(" limit 1), '0'), '' order by given.number)"
        " from pg_catalog.jsonb_array_elements("), param(rows), raw(") with ordinality as given(pair, number)"
        " cross join lateral pg_catalog.jsonb_populate_record(null::"), table,
        raw(", given.pair operator(pg_catalog.->) 0) as key"),
    )  # fmt: skip
    text, params = render(sql)
    return Statement(text, params)  # type: ignore[arg-type]  # there are no slots


def _same(asked: VisibleAsked, comparison: Comparison) -> Sql:
    """Return '1' if a row still has the values of the log, else '2': what is compared is only read of rows that are seen."""
    if not asked.columns:
        return raw("'1'")
    if comparison is Comparison.NONE:
        return raw("'2'")
    return concat(
        raw("(select case when "), join(" and ", [_equal(name) for name in asked.columns]),
        raw(" then '1' else '2' end from pg_catalog.jsonb_populate_record(null::"), qualified(asked.schema, asked.table),
        raw(", "), _read_again(comparison), raw(") as logged)"),
    )  # fmt: skip


def _equal(name: str) -> Sql:
    """Return whether a column has the value of the log; a value that the log does not have is not delivered either.

    The log has bytea without the `\\x` in front, also inside of domains and arrays.
    """
    own = concat(raw("nullif(pg_catalog.to_jsonb(seen."), ident(name), raw("), 'null')"))
    read = concat(raw("nullif(pg_catalog.to_jsonb(logged."), ident(name), raw("), 'null')"))
    written = concat(_LOGGED, raw(" operator(pg_catalog.->) "), literal(name))
    return concat(
        raw("(not pg_catalog.jsonb_exists("), _LOGGED, raw(", "), literal(name), raw(") or "),
        own, raw(" is not distinct from "), read, raw(" or pg_catalog.replace("), own,
        raw("::pg_catalog.text, E'\"\\\\\\\\x', '\"') is not distinct from nullif("), written,
        raw(", 'null')::pg_catalog.text)"),
    )  # fmt: skip


def _read_again(comparison: Comparison) -> Sql:
    """Return the values of the log that are read into the table's row type."""
    if comparison is not Comparison.NO_OBJECTS:
        return _LOGGED
    return concat(
        raw("(select pg_catalog.jsonb_object_agg(hw_each.name, hw_each.value) from pg_catalog.jsonb_each("),
        _LOGGED,
        raw(
            ") as hw_each(name, value) where pg_catalog.jsonb_typeof(hw_each.value) operator(pg_catalog.<>) 'object')"
        ),
    )


_LOGGED = raw("(given.pair operator(pg_catalog.->) 1)")


def _pair(asked: VisibleAsked, values: Sequence[bytes | None], comparison: Comparison) -> bytes:
    """Return a row as a JSON array of two objects: its key, and the values that are compared."""
    count = len(asked.key)
    others = b"{}" if comparison is Comparison.NONE else _object(asked.columns, values[count:])
    return b"[" + _object(asked.key, values[:count]) + b"," + others + b"]"


def _object(names: Sequence[str], values: Sequence[bytes | None]) -> bytes:
    members = [
        msgspec.json.encode(name) + b":" + value
        for name, value in zip(names, values, strict=True)
        if value is not None
    ]
    return b"{" + b",".join(members) + b"}"


def _flags(rows: Rows, count: int) -> bytes:
    found = rows[0][0] or b""
    if len(found) != count:
        raise ValueError("not one answer for each row")
    return found.translate(_AS_FLAGS)


_AS_FLAGS = bytes.maketrans(b"012", bytes((0, 1, SUPERSEDED)))
