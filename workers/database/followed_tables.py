"""Find the tables whose changes can change an answer: those that it reads, and those that row policies and functions read for it.

A table that the answer itself reads must be published, else its changes cannot be followed, and the query is refused. A table that
only a policy or a function reads is followed if it is published; if one is not, the query is run again from time to time.
Source: docs/graphql-subscriptions.md, "Live queries".
"""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from schemas.errors import ApiError
from schemas.subscriptions import LiveQueryPlan, TableName
from workers.database.transactions.model import Statement, TransactionRunner, TransactionSpec
from workers.sql.compose import quoted
from workers.sql.files import read_statements

_SQL = read_statements("workers.database", "followed_tables.sql")
_SETTINGS = (("search_path", ""), ("statement_timeout", "5s"))
_KINDS = {"m": "a materialized view", "f": "a foreign table"}


class NotFollowed(ApiError):
    """The changes of what a query reads cannot be followed; `code` says why."""

    status = 400

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class _Table(Struct, frozen=True):
    """A table behind a query. `is_needed`: the query reads it, not only a policy or a function."""

    schema: str
    name: str
    kind: str
    is_published: bool
    is_needed: bool


_read_tables = msgspec.json.Decoder(list[_Table]).decode


async def followed_tables(
    relations: Iterable[TableName], functions: Iterable[TableName], pool: TransactionRunner
) -> LiveQueryPlan:
    """Return the tables to follow for an answer that names these relations and functions.

    Raises: NotFollowed (NOTHING_TO_FOLLOW, NOT_FOLLOWED, NOT_PUBLISHED with the statement that publishes the table); DatabaseError.
    """
    names = [msgspec.json.encode([list(name) for name in named]) for named in (relations, functions)]
    work = TransactionSpec(_SETTINGS, [Statement(_SQL["behind"], names)], read_only=True)
    tables = _read_tables((await pool.run(work))[0][0][0] or b"[]")
    if not tables:
        raise NotFollowed(
            "There is no table whose changes could be followed for this query", "NOTHING_TO_FOLLOW"
        )
    needed = [table for table in tables if table.is_needed]
    for table in needed:
        _check(table)
    others = [table for table in tables if not table.is_needed]
    return LiveQueryPlan(
        [(table.schema, table.name) for table in needed],
        [(table.schema, table.name) for table in others if table.is_published],
        is_repeated=not all(table.is_published for table in others),
    )


def _check(table: _Table) -> None:
    name = f"{quoted(table.schema)}.{quoted(table.name)}"
    if table.kind in _KINDS:
        raise NotFollowed(f"{name} is {_KINDS[table.kind]}, whose changes cannot be followed", "NOT_FOLLOWED")
    if not table.is_published:
        statement = f"alter publication supabase_realtime add table {name};"
        raise NotFollowed(
            f"The changes of {name} are not published. To follow them: {statement}", "NOT_PUBLISHED"
        )
