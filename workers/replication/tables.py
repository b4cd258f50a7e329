"""Tables of the log with what the catalog adds: names of types, primary keys, and how values become JSON.

Answers of the catalog are cached until the schema changes. The catalog may be newer than the log that is read: values of a type
that no longer exists are published as text under the name that the log gives it; without a primary key in the catalog the flags
of the log decide.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.changes import ChangeColumn, Values
from workers.database.errors import DatabaseError
from workers.replication import values
from workers.replication.column_types import BUILT_IN, CatalogType, ColumnType, column_types
from workers.replication.conversions import SESSION_ENDED
from workers.replication.pgoutput import UNCHANGED, Cell, LoggedRelation, Row, TypeMessage
from workers.replication.values import Convert
from workers.sql.files import read_statements

_STATEMENTS = read_statements("workers.replication", "tables.sql")

Ask = Callable[..., Awaitable[list[Any]]]
"""Runs a statement with parameters and returns its rows. Raises: DatabaseError."""


@dataclass(frozen=True, slots=True)
class LoggedTable:
    """A table as it was at the time of its changes, with the converters of its columns."""

    relation: LoggedRelation
    columns: list[ChangeColumn]
    kinds: list[ColumnType]
    converters: list[Convert | None]
    """Of the columns' values; None where only SQL can convert."""
    sql_columns: tuple[int, ...]
    """The places of those columns."""


class TableCatalog:
    """Caches the tables of the log. `ask` queries the catalog, `convert` converts values of a project's own types."""

    def __init__(self, ask: Ask, convert: Ask) -> None:
        self._ask, self._convert = ask, convert
        self._tables: dict[int, LoggedTable] = {}
        self._kinds: dict[int, ColumnType] = dict(BUILT_IN)
        self._names: dict[int, str] = {}

    def add_type(self, type: TypeMessage) -> None:
        """Remember the name that the log gives to a type."""
        self._names[type.oid] = type.name

    def forget(self) -> None:
        """Clear the cache, because the schema changed."""
        self._tables.clear()
        self._kinds = dict(BUILT_IN)

    async def find(self, relation: LoggedRelation) -> LoggedTable:
        """Return a table. Raises: DatabaseError, LeadershipLost if the catalog cannot be queried."""
        table = self._tables.get(relation.oid)
        if table is None or (table.relation is not relation and table.relation != relation):
            table = self._tables[relation.oid] = await self._read(relation)
        return table

    async def convert(self, table: LoggedTable, rows: Sequence[Row | None]) -> list[Values | None]:
        """Return the rows as JSON texts. Values of a column that SQL has to convert are converted in one statement."""
        converted = [None if row is None else _converted(table, row) for row in rows]
        for place in table.sql_columns:
            kind = table.kinds[place]
            at = [number for number, row in enumerate(rows) if row and isinstance(row[place], bytes)]
            texts = [rows[number][place] for number in at]  # type: ignore[index]  # those are rows
            for number, value in zip(at, await self._by_sql(kind, texts), strict=True):  # type: ignore[arg-type]  # of bytes
                converted[number][place] = value  # type: ignore[index]  # as above
        return converted

    async def _by_sql(self, kind: ColumnType, texts: Sequence[bytes]) -> list[bytes]:
        if not texts:
            return []
        # `sql_name` is the server's own spelling of a type of its catalog.
        statement = (
            f"select pg_catalog.to_jsonb(given::{kind.sql_name})::pg_catalog.text"  # noqa: S608
            " from pg_catalog.unnest($1::pg_catalog.text[]) with ordinality as texts (given, place) order by place"
        )
        decoded = [text.decode(errors="replace") for text in texts]
        try:
            # A cast of a project's own type may return NULL.
            return [(row[0] or "null").encode() for row in await self._convert(statement, decoded)]
        except DatabaseError as error:
            # The type changed since, or its cast fails: publish the text. One that ends the session is not tried row by row.
            if len(texts) == 1 or error.code == SESSION_ENDED:
                return [values.string(text) for text in texts]
        return [value for text in texts for value in await self._by_sql(kind, [text])]

    async def _read(self, relation: LoggedRelation) -> LoggedTable:
        unknown = {column.type for column in relation.columns} - self._kinds.keys()
        if unknown:
            rows = await self._ask(_STATEMENTS["types"], list(unknown))
            self._kinds |= {
                oid: kind
                for oid, kind in column_types(CatalogType(*row) for row in rows).items()
                if oid not in BUILT_IN
            }
            for oid in unknown - self._kinds.keys():
                self._kinds[oid] = ColumnType(self._names.get(oid, "unknown"), values.string)
        key = {column.name for column in relation.columns if column.is_identity}
        if relation.identity != "d":
            key = {row[0] for row in await self._ask(_STATEMENTS["primary_key"], relation.oid)}
        kinds = [self._kinds[column.type] for column in relation.columns]
        columns = [
            ChangeColumn(column.name, kind.name, column.name in key)
            for column, kind in zip(relation.columns, kinds, strict=True)
        ]
        converters = [kind.convert for kind in kinds]
        sql_columns = tuple(place for place, convert in enumerate(converters) if convert is None)
        return LoggedTable(relation, columns, kinds, converters, sql_columns)


def _converted(table: LoggedTable, row: Row) -> Values:
    """Convert the values that need no SQL; a text that is not valid for its type stays a text. Hot path."""
    cells = zip(row, table.converters, strict=True)
    try:
        return [
            b"null" if cell is None else None if cell is UNCHANGED or convert is None else convert(cell)
            for cell, convert in cells
        ]
    except ValueError:
        return [
            _converted_or_text(convert, cell) for cell, convert in zip(row, table.converters, strict=True)
        ]


def _converted_or_text(convert: Convert | None, cell: Cell) -> bytes | None:
    if cell is None:
        return b"null"
    if cell is UNCHANGED or convert is None:
        return None
    try:
        return convert(cell)
    except ValueError:
        return values.string(cell)
