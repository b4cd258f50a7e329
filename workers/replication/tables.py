"""Tables of the log with what the catalog adds: names of types, primary keys, how values become JSON.

What is known is kept until the schema changes. The catalog may be newer than the log that is read: a type that is gone
is told as text under the name that the log gave it, a primary key that is gone as the log's own flags tell it.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.changes import Column, Values
from workers.database.errors import DatabaseError
from workers.replication import values
from workers.replication.kinds import BUILT_IN, Kind, TypeRow, kinds_of
from workers.replication.pgoutput import UNCHANGED, Relation, Row, Type
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.replication", "tables.sql")

Ask = Callable[..., Awaitable[list[Any]]]
"""Asks the database: statement and parameters in, rows out. Raises: DatabaseError."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table as its changes have it, ready to convert rows."""

    relation: Relation
    columns: list[Column]
    kinds: list[Kind]
    asked: tuple[int, ...]
    """Columns whose values only SQL can convert."""


class Tables:
    """Knows the tables of the log. `ask` puts questions to the catalog, `convert` asks for values of a project's own types."""

    def __init__(self, ask: Ask, convert: Ask) -> None:
        self._ask, self._convert = ask, convert
        self._tables: dict[Relation, Table] = {}
        self._kinds: dict[int, Kind] = dict(BUILT_IN)
        self._names: dict[int, str] = {}

    def hear(self, type: Type) -> None:
        """Remember the name that the log gives to a type."""
        self._names[type.oid] = type.name

    def forget(self) -> None:
        """Ask the catalog anew: the schema has changed."""
        self._tables.clear()
        self._kinds = dict(BUILT_IN)

    async def find(self, relation: Relation) -> Table:
        """Give a table. Raises: DatabaseError, LeadershipLost when the catalog cannot be asked."""
        table = self._tables.get(relation)
        if table is None:
            table = self._tables[relation] = await self._made(relation)
        return table

    async def convert(self, table: Table, rows: Sequence[Row | None]) -> list[Values | None]:
        """Give the rows as JSON texts. Values that SQL has to convert are asked for all at once."""
        converted = [None if row is None else _converted(table, row) for row in rows]
        for place in table.asked:
            kind = table.kinds[place]
            at = [number for number, row in enumerate(rows) if row and isinstance(row[place], bytes)]
            texts = [rows[number][place] for number in at]  # type: ignore[index]  # those are rows
            for number, value in zip(at, await self._by_sql(kind, texts), strict=True):  # type: ignore[arg-type]  # of bytes
                converted[number][place] = value  # type: ignore[index]  # as above
        return converted

    async def _by_sql(self, kind: Kind, texts: Sequence[bytes]) -> list[bytes]:
        if not texts:
            return []
        # The form is the server's own spelling of a type of its catalog.
        statement = (
            f"select pg_catalog.to_jsonb(given::{kind.form})::pg_catalog.text"  # noqa: S608
            " from pg_catalog.unnest($1::pg_catalog.text[]) with ordinality as texts (given, place) order by place"
        )
        decoded = [text.decode(errors="replace") for text in texts]
        try:
            return [row[0].encode() for row in await self._convert(statement, decoded)]
        except DatabaseError:
            if len(texts) == 1:  # the type is another one now, or its cast fails: the text is all there is
                return [values.string(texts[0])]
        return [value for text in texts for value in await self._by_sql(kind, [text])]

    async def _made(self, relation: Relation) -> Table:
        unknown = {column.type for column in relation.columns} - self._kinds.keys()
        if unknown:
            rows = await self._ask(_STATEMENTS["types"], list(unknown))
            self._kinds |= {
                oid: kind
                for oid, kind in kinds_of(TypeRow(*row) for row in rows).items()
                if oid not in BUILT_IN
            }
            for oid in unknown - self._kinds.keys():
                self._kinds[oid] = Kind(self._names.get(oid, "unknown"), values.string)
        key = {column.name for column in relation.columns if column.is_identity}
        if relation.identity != "d":
            key = {row[0] for row in await self._ask(_STATEMENTS["primary_key"], relation.oid)}
        kinds = [self._kinds[column.type] for column in relation.columns]
        columns = [
            Column(column.name, kind.name, column.name in key)
            for column, kind in zip(relation.columns, kinds, strict=True)
        ]
        asked = tuple(place for place, kind in enumerate(kinds) if kind.convert is None)
        return Table(relation, columns, kinds, asked)


def _converted(table: Table, row: Row) -> Values:
    """Convert what can be converted here; a text that is not of its type is told as text."""
    result: Values = []
    for cell, kind in zip(row, table.kinds, strict=True):
        if cell is None:
            result.append(b"null")
        elif cell is UNCHANGED or kind.convert is None:
            result.append(None)
        else:
            try:
                result.append(kind.convert(cell))
            except ValueError:
                result.append(values.string(cell))
    return result
