"""TABLE: what a role may see of a table, and how a row's visibility is found.

The position in the answer is read before the catalog, and only given when every schema change up to it can be seen: a
commit stands in the log a moment before others see it (migration realtime/0006). Until such a moment is over, the question
waits; a transaction that keeps it waiting for long is answered without a position, or, if one was asked for, not at all.
"""

import asyncio

import msgspec
from msgspec import Struct

from schemas.errors import Unavailable
from schemas.realtime import Everybody, Nobody, Rule, Table, TableAsked
from workers.database.pool import Pool
from workers.database.session import Statement, Work
from workers.realtime.numbers import Numbers
from workers.realtime.policies import AuthFunction, Policy, rule_of, trusted_functions
from workers.realtime.recognition import ColumnType, Scope, is_recognised
from workers.sql.files import read_statements

ASK_AGAIN_S = 1.0
"""How long an answer holds where schema changes are not marked in the log."""
ROLES_S = 5.0
"""How long it holds otherwise: roles belong to the whole server, so the log of a database tells nothing of their changes."""
SETTLE_S = 2.0
"""How long a schema change may take from the log to the sight of others before the question is given up."""

_SQL = read_statements("workers.realtime", "tables.sql")
_SETTINGS = (
    ("search_path", ""),
    ("standard_conforming_strings", "on"),
    ("quote_all_identifiers", "off"),
    ("statement_timeout", "5s"),
)
"""The first three decide how expressions are written."""
_PAUSE_S = 0.002
_LONGEST_PAUSE_S = 0.1


class Column(Struct, frozen=True):
    """A column as the catalog has it."""

    name: str
    typname: str
    type: str
    is_enum: bool
    is_deterministic: bool
    may_select: bool


class Described(Struct, frozen=True):
    """A table as the catalog has it, for one role."""

    is_published: bool
    is_bypassed: bool
    row_security: bool
    columns: list[Column]
    key: list[str]
    policies: list[Policy]
    functions: list[AuthFunction]


class Known(Struct, frozen=True):
    """Up to where in the log the schema is known."""

    lsn: int
    is_settled: bool
    is_marked: bool


_read_known = msgspec.json.Decoder(Known).decode
_read_described = msgspec.json.Decoder(Described).decode


async def describe_table(
    database: Pool, asked: TableAsked, numbers: Numbers, *, settle_s: float = SETTLE_S
) -> Table:
    """Answer TABLE. Raises: DatabaseError, Disconnected, PoolTimeout; Unavailable if `at_least` is not reached."""
    loop = asyncio.get_running_loop()
    deadline, pause = loop.time() + settle_s, _PAUSE_S
    while True:
        known, described = await _look(database, asked)
        is_known = known.is_settled and known.lsn >= asked.at_least
        if is_known or loop.time() >= deadline:
            break
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_S)
    if not is_known and asked.at_least:
        raise Unavailable("the schema is being changed")
    return table_of(described, asked.role, known if is_known else Known(0, False, known.is_marked), numbers)


def table_of(described: Described | None, role: str, known: Known, numbers: Numbers) -> Table:
    """Give the answer (pure but for the count of policies). A table, or a role, that is not there shows nothing."""
    in_seconds = ROLES_S if known.is_marked else ASK_AGAIN_S
    if described is None:
        return Table([], [], False, False, Nobody(), known.lsn, False, in_seconds)
    selectable = {column.name: column.typname for column in described.columns if column.may_select}
    has_row_security = described.row_security and not described.is_bypassed
    return Table(
        columns=list(selectable.items()),
        key=described.key,
        can_see_key=all(name in selectable for name in described.key),
        row_security=has_row_security,
        rule=_rule(described, role, numbers) if has_row_security else Everybody(),
        at=known.lsn,
        is_published=described.is_published,
        in_seconds=in_seconds,
    )


def _rule(described: Described, role: str, numbers: Numbers) -> Rule:
    columns = {
        column.name: ColumnType(column.type, column.is_enum, column.is_deterministic)
        for column in described.columns
    }
    rule = rule_of(described.policies, Scope(columns, role, trusted_functions(described.functions)))
    numbers.recognised(is_recognised(rule))
    return rule


async def _look(database: Pool, asked: TableAsked) -> tuple[Known, Described | None]:
    """Read the position first, then the catalog: each statement begins with a look of its own at what is committed."""
    names = [name.encode() for name in (asked.schema, asked.table, asked.role)]
    statements = [Statement(_SQL["known"]), Statement(_SQL["table"], names)]
    work = Work(_SETTINGS, statements, isolation="read committed")
    known, tables = await database.run(work)
    described = _read_described(tables[0][0] or b"") if tables else None
    return _read_known(known[0][0] or b""), described
