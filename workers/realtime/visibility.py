"""VISIBLE: which rows each of several groups of callers may see now, by SQL under their role and claims.

Groups share transactions, a savepoint each: rolled back to, it undoes what the group's settings, and what functions of its
policies have set, so that no group ever runs under what another has left. If a statement of such a transaction fails, each
of its groups is asked alone, and the one whose policy raises sees nothing.
Source: reference page "realtime", section 9 (who sees a change); architecture, decision 9.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from schemas.realtime import Flags, VisibleAsked
from workers.database.errors import DatabaseError
from workers.database.pool import Pool
from workers.database.session import End, Rows, Statement, Work
from workers.realtime.callers import Caller
from workers.realtime.errors import is_passing
from workers.realtime.numbers import Numbers
from workers.realtime.observations import tell_of_policy
from workers.sql.compose import Sql, concat, ident, join, param, qualified, quoted, raw, render

GROUPS_AT_ONCE = 32
"""Groups that share a transaction."""
TRANSACTIONS_AT_ONCE = 4
"""Connections that one question takes at most."""

_SETTINGS = (("statement_timeout", "5s"), ("lock_timeout", "2s"))
_BEGIN, _UNDO = Statement("savepoint headwater_group"), Statement("rollback to savepoint headwater_group")
_BECOME = (
    "select pg_catalog.set_config('role', $1, true), pg_catalog.set_config('request.jwt.claims', $2, true)"
)
_STEPS = 4
"""Statements of a group."""

Group = tuple[str, bytes]


async def find_visible(database: Pool, asked: VisibleAsked, numbers: Numbers) -> Flags:
    """Answer VISIBLE. Raises: DatabaseError and its siblings, where the server cannot answer now."""
    look = _look(asked)
    # Groups of one role stand side by side: Postgres plans a statement anew for each other role.
    order = sorted(range(len(asked.groups)), key=lambda number: asked.groups[number])
    answers = [b""] * len(order)
    places = asyncio.Semaphore(TRANSACTIONS_AT_ONCE)

    async def ask(share: Sequence[int]) -> None:
        async with places:
            groups = [asked.groups[number] for number in share]
            found = await _Asking(database, asked, look, numbers).together(groups)
        for number, flags in zip(share, found, strict=True):
            answers[number] = flags

    shares = [order[at : at + GROUPS_AT_ONCE] for at in range(0, len(order), GROUPS_AT_ONCE)]
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
    look: Statement
    numbers: Numbers

    async def together(self, groups: list[Group]) -> list[bytes]:
        """Ask for some groups in one transaction; if that fails, for each in one of its own."""
        asked, count = self.asked, len(self.asked.rows)
        try:
            results = await self.database.run(_work(asked.schema, self.look, groups))
            return [_flags(results[place + 2], count) for place in range(0, len(results), _STEPS)]
        except DatabaseError as error:
            if is_passing(error):
                raise
            if len(groups) == 1:
                tell_of_policy(self.numbers, error, f"{asked.schema}.{asked.table}", groups[0][0])
                return [bytes(count)]
        return [(await self.together([group]))[0] for group in groups]


def _work(schema: str, look: Statement, groups: Sequence[Group]) -> Work:
    statements: list[Statement] = []
    for role, claims in groups:
        caller = Caller(role, claims)
        become_it = Statement(_BECOME, [role.encode(), caller.told.encode()])
        statements += (_BEGIN, become_it, look, _UNDO)
    settings = [("search_path", f"{quoted(schema)}, public, extensions"), *_SETTINGS]
    return Work(settings, statements, read_only=True, isolation="read committed", end=End.ROLLBACK)


def _look(asked: VisibleAsked) -> Statement:
    """Give the statement that tells of each row whether it is there for whoever asks.

    Keys are read through the table's own row type, so that no type has to be named.
    """
    table = qualified(asked.schema, asked.table)
    equal = [concat(raw("seen."), ident(name), raw(" = key."), ident(name)) for name in asked.key]
    rows = b"[" + b",".join(_object(asked.key, values) for values in asked.rows) + b"]"
    sql: Sql = concat(
        raw("select pg_catalog.string_agg(case when exists (select from "), table, raw(" as seen where "),
        join(" and ", equal), raw(") then '1' else '0' end, '') from pg_catalog.jsonb_populate_recordset(null::"),
        table, raw(", "), param(rows), raw(") as key"),
    )  # fmt: skip
    text, params = render(sql)
    return Statement(text, params)  # type: ignore[arg-type]  # there are no slots


def _object(names: Sequence[str], values: Sequence[bytes]) -> bytes:
    members = (msgspec.json.encode(name) + b":" + value for name, value in zip(names, values, strict=True))
    return b"{" + b",".join(members) + b"}"


def _flags(rows: Rows, count: int) -> bytes:
    found = rows[0][0] or b""
    if len(found) != count:
        raise ValueError("not one answer for each row")
    return found.translate(_AS_FLAGS)


_AS_FLAGS = bytes.maketrans(b"01", b"\0\1")
