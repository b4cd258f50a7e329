"""SQL that reads the rows of a shape as a caller sees them. Pure: a shape's parts in, statements out.

Every value is the text of its type's output function. `::text` differs from it for some types (bool, char(n), inet, and all with
a cast of their own), so those go through `concat`, which calls the output function.
Source: docs/sync.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from workers.database.transactions.model import Statement
from workers.sql.compose import (
    EMPTY,
    Sql,
    catalog_text,
    concat,
    ident,
    join,
    literal,
    number,
    param,
    qualified,
    quoted,
    raw,
    render,
    with_literals,
)
from workers.sync.catalog import SyncColumn
from workers.sync.where.order import SubsetOrder
from workers.sync.where.render import ALIAS

_AS_TEXT = frozenset({
    "int2", "int4", "int8", "float4", "float8", "numeric", "text", "varchar", "uuid", "date", "time", "timetz", "timestamp",
    "timestamptz", "interval", "json", "jsonb", "bytea", "oid",
})  # fmt: skip
"""Types whose cast to text is their output function."""
_NO_ESCAPE = frozenset({"int2", "int4", "int8", "uuid", "oid"})
OUTPUT_SETTINGS = (
    ("bytea_output", "hex"),
    ("DateStyle", "ISO, DMY"),
    ("TimeZone", "UTC"),
    ("extra_float_digits", "1"),
    ("IntervalStyle", "iso_8601"),
)
DELIMITER = '"'
"""Between the values of a row of COPY: inside of one it is escaped as JSON escapes it."""
_KEYS = "hw_key"
_VALUE = raw("pg_catalog.row_to_json(hw_value)")
"""The JSON object of a row: every value a text or null."""


@dataclass(frozen=True, slots=True)
class ShapeSql:
    """The parts of a shape from which statements are made. `columns` in table order, `key` in key order."""

    table: tuple[str, str]
    columns: tuple[SyncColumn, ...]
    key: tuple[SyncColumn, ...]
    where: Sql = EMPTY

    @property
    def has_tags(self) -> bool:
        """Return whether `row_to_json` writes its rows as REST does, so that they have tags."""
        return not any(column.is_represented for column in self.columns)

    def copy(self) -> Statement:
        """Return the COPY that gives every row: the texts of its key, then of its columns (`copied_rows.py`)."""
        keys = [_key_text(ALIAS, column.name, column) for column in self.key]
        values = [qualified(ALIAS, column.name) for column in self.columns]
        selected = concat(
            raw("select "), join(", ", [*keys, *values]), raw(" from "), self._from(), self._filter()
        )
        return Statement(f"copy ({with_literals(selected)}) to stdout (delimiter '{DELIMITER}')")

    def keys(self) -> Statement:
        """Return the statement that gives the key of every row."""
        return _statement(
            concat(raw("select "), self._key(ALIAS), raw(" from "), self._from(), self._filter())
        )

    def by_keys(self, keys: Sequence[Sequence[str]], *, as_texts: bool = True) -> Statement:
        """Return the statement that gives for each of some keys its text, and the row if the caller sees one. In their order.

        `as_texts`: every value is a text or null, as in a message; else the row is the JSON that REST writes.
        """
        arrays = [_array([key[place] for key in keys]) for place in range(len(self.key))]
        names = [f"k{place}" for place in range(len(self.key))]
        typed = [
            concat(
                raw("hw_given."),
                ident(name),
                raw("::"),
                catalog_text(column.sql_type),
                raw(" as "),
                ident(name),
            )
            for name, column in zip(names, self.key, strict=True)
        ]
        given = join(", ", [concat(param(array), raw("::pg_catalog.text[]")) for array in arrays])
        listed = join(", ", [ident(name) for name in names])
        equal = join(
            " and ",
            [
                concat(qualified(ALIAS, column.name), raw(" = "), qualified(_KEYS, name))
                for name, column in zip(names, self.key, strict=True)
            ],
        )
        found = concat(
            raw("select "), _VALUE, raw("::pg_catalog.text as found from "), self._from(), self._values(as_texts=as_texts),
            raw(" where "), equal,
        )  # fmt: skip
        if self.where:
            found = concat(found, raw(" and ("), self.where, raw(")"))
        return _statement(
            concat(
                raw("select "), self._key(_KEYS, names), raw(", hw_found.found from (select "), join(", ", typed),
                raw(", hw_given.hw_place from rows from (pg_catalog.unnest("), given, raw(")) with ordinality as hw_given("), listed,
                raw(", hw_place)) as "), ident(_KEYS), raw(" left join lateral ("), found,
                raw(" limit 1) as hw_found on true order by "), qualified(_KEYS, "hw_place"),
            )
        )  # fmt: skip

    def subset(
        self, where: Sql, order: Sequence[SubsetOrder], limit: int | None, offset: int | None, mark: int
    ) -> Statement:
        """Return the statement that gives the rows of a subset as whole messages."""
        rows = concat(self._messages({"snapshot_mark": mark}), self._filter(where))
        return _statement(_paged(rows, _ordered(order), limit, offset))

    def with_rows(
        self,
        where: Sql = EMPTY,
        order: Sequence[SubsetOrder] = (),
        limit: int | None = None,
        offset: int | None = None,
        mark: int | None = None,
    ) -> tuple[Statement, Statement]:
        """Return two statements over the same rows in the same order: whole messages, and the JSON that REST writes."""
        terms = _ordered([*order, *(SubsetOrder(column.name, "") for column in self.key)])
        rows = concat(raw("select "), _VALUE, raw(" from "), self._from(), self._values(as_texts=False))
        pair = [self._messages({} if mark is None else {"snapshot_mark": mark}), rows]
        first, second = [
            _statement(_paged(concat(one, self._filter(where)), terms, limit, offset)) for one in pair
        ]
        return first, second

    def check(self, where: Sql = EMPTY, order: Sequence[SubsetOrder] = ()) -> Statement:
        """Return a statement without rows, which fails where an expression does not fit the table."""
        return self.subset(where, order, 0, None, 0)

    def _messages(self, more: Mapping[str, object]) -> Sql:
        """Return the SELECT and FROM of whole messages."""
        headers = {"operation": "insert", "relation": self.table, **more}
        tail = literal(f',"headers":{msgspec.json.encode(headers).decode()}}}')
        return concat(
            raw("select pg_catalog.concat('{\"key\":', "), self._key(ALIAS), raw(", ',\"value\":', "), _VALUE,
            raw(", "), tail, raw(") from "), self._from(), self._values(),
        )  # fmt: skip

    def _from(self) -> Sql:
        return concat(qualified(*self.table), raw(" as "), ident(ALIAS))

    def _filter(self, more: Sql = EMPTY) -> Sql:
        """Return the WHERE of both expressions; each in parentheses, or an OR in one would widen the result."""
        parts = [concat(raw("("), part, raw(")")) for part in (self.where, more) if part]
        return concat(raw(" where "), join(" and ", parts)) if parts else EMPTY

    def _values(self, *, as_texts: bool = True) -> Sql:
        """Return the join that gives every row as a record of its columns, or of their texts."""
        values = [
            concat(
                _text(ALIAS, column.name, column) if as_texts else qualified(ALIAS, column.name),
                raw(" as "),
                ident(column.name),
            )
            for column in self.columns
        ]
        return concat(raw(" cross join lateral (select "), join(", ", values), raw(") as hw_value"))

    def _key(self, alias: str, names: Sequence[str] | None = None) -> Sql:
        """Return the JSON text of a row's key."""
        columns = names or [column.name for column in self.key]
        parts: list[Sql] = [literal(f"{quoted(self.table[0])}.{quoted(self.table[1])}")]
        for name, column in zip(columns, self.key, strict=True):
            text = _key_text(alias, name, column)
            parts.append(concat(raw("'/\"'"), raw(", "), text, raw(", '\"'")))
        return concat(raw("pg_catalog.to_json(pg_catalog.concat("), join(", ", parts), raw("))"))


def _key_text(alias: str, name: str, column: SyncColumn) -> Sql:
    """Return the text of a key column as it stands in the key, before it is escaped as JSON."""
    text = _text(alias, name, column)
    if column.base in _NO_ESCAPE:
        return text
    return concat(raw("pg_catalog.replace("), text, raw(", '/', '//')"))


def _text(alias: str, name: str, column: SyncColumn) -> Sql:
    """Return the text of a column by its type's output function, NULL for NULL."""
    value = qualified(alias, name)
    if column.category == "b" and not column.dimensions and column.type in _AS_TEXT:
        return concat(value, raw("::pg_catalog.text"))
    return concat(
        raw("case when "), value, raw(" is distinct from null then pg_catalog.concat("), value, raw(") end")
    )


def _ordered(order: Sequence[SubsetOrder]) -> list[Sql]:
    return [concat(qualified(ALIAS, term.column), catalog_text(term.direction)) for term in order]


def _paged(rows: Sql, terms: Sequence[Sql], limit: int | None, offset: int | None) -> Sql:
    if terms:
        rows = concat(rows, raw(" order by "), join(", ", terms))
    if limit is not None:
        rows = concat(rows, raw(" limit "), number(limit))
    return rows if offset is None else concat(rows, raw(" offset "), number(offset))


def _array(values: Sequence[str]) -> bytes:
    """Return the text of an array of texts."""
    escaped = [value.replace("\\", "\\\\").replace('"', '\\"') for value in values]
    return ("{" + ",".join(f'"{value}"' for value in escaped) + "}").encode()


def _statement(sql: Sql) -> Statement:
    text, params = render(sql)
    return Statement(text, params)  # type: ignore[arg-type]  # there are no slots
