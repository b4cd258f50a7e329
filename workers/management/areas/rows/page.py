"""A page of a table as one statement, and its rows as the answer. Pure.

Pages by key ("keyset"): a page after the row with the values (a, b, k) consists of the rows that are greater in the order of the
page. They are the disjoint segments

    a = $a and b = $b and k > $k        the same a and b
    a = $a and b > $b                   then, if b may be NULL and NULL comes last:  a = $a and b is null
    a > $a                              then                                         a is null

in this order. Each segment is a prefix of equalities and one range, which an index over the leading columns serves at any depth; a
single condition with OR would be a filter over everything before. The segments are the branches of a UNION ALL, each sorted and
limited; the server runs one after the other and stops when the page is full.

The page before a row is the same with the order reversed, and its rows reversed. A view, or a table without a key, has pages by
offset, up to `MAX_OFFSET`.
"""

import base64
import binascii
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from workers.database.protocol.rows import Row, Rows
from workers.database.transactions.model import Statement
from workers.management.areas.rows.filters import SortKey, order_by
from workers.management.areas.rows.table import DescribedTable, TableColumn, column_sql
from workers.management.interface.errors import invalid_arguments
from workers.sql.compose import EMPTY, Sql, concat, ident, join, number, param, qualified, raw, render

MAX_OFFSET = 100_000
_LONGEST_LABEL = 200
SETTINGS = (
    ("plan_cache_mode", "force_custom_plan"),
    ("max_parallel_workers_per_gather", "0"),
    ("enable_async_append", "off"),
)
"""A plan for the values of this page, and branches of UNION ALL that run in their order."""

Values = list[str | None]


class RowOfPage(Struct, frozen=True):
    """A row: its cells as text, in the order of the page's columns; `shortened` are the indexes of cells that were cut.

    `key` has the values of the table's key, `version` what an edit sends to find out whether the row was changed meanwhile.
    """

    cells: list[str | None]
    key: dict[str, str | None]
    version: str | None = None
    shortened: list[int] = []
    labels: dict[str, str | None] = {}


class RowCursor(Struct, frozen=True, array_like=True):
    """A place in the order of a page: a digest of table and order, and the values of the order there, or an offset."""

    digest: str
    values: Values = []
    offset: int = 0


@dataclass(frozen=True, slots=True)
class RowPagePlan:
    """What a page reads. `cursor` is the row that it stands after, or before if it is `backward`."""

    table: DescribedTable
    columns: list[TableColumn]
    labels: list[TableColumn]
    condition: Sql
    keys: list[SortKey]
    limit: int
    longest: int
    cursor: RowCursor | None = None
    backward: bool = False

    @property
    def is_keyset(self) -> bool:
        """Whether the page is found by key."""
        return bool(self.table.key)

    @property
    def offset(self) -> int:
        """The offset of a page that is not found by key."""
        place = self.cursor.offset if self.cursor else 0
        return max(0, place - self.limit) if self.backward else place


def page_statement(plan: RowPagePlan) -> Statement:
    """Return the statement of a page; it returns one row more than the page has, if there is one."""
    text, params = render(_page_sql(plan))
    return Statement(text, _constants(params))


def _page_sql(plan: RowPagePlan) -> Sql:
    keys = [key.reversed() for key in plan.keys] if plan.backward and plan.is_keyset else plan.keys
    ends = concat(order_by(keys), raw(" limit "), number(plan.limit + 1))
    head = _head(plan)
    if not plan.is_keyset:
        return concat(head, plan.condition, ends, raw(" offset "), number(plan.offset))
    if plan.cursor is None:
        return concat(head, plan.condition, ends)
    behind = segments(keys, plan.cursor.values) or [raw("false")]
    branches = [concat(head, plan.condition, raw(" and "), segment, ends) for segment in behind]
    if len(branches) == 1:
        return branches[0]
    union = join(" union all ", [concat(raw("("), branch, raw(")")) for branch in branches])
    return concat(union, raw(" limit "), number(plan.limit + 1))


def segments(keys: Sequence[SortKey], values: Sequence[str | None]) -> list[Sql]:
    """Return the disjoint conditions of the rows behind a place, in the order of the page."""
    conditions = []
    for index in range(len(keys) - 1, -1, -1):
        same = [_equal(key, value) for key, value in zip(keys[:index], values, strict=False)]
        conditions += [join(" and ", [*same, behind]) for behind in _behind(keys[index], values[index])]
    return conditions


def _equal(key: SortKey, value: str | None) -> Sql:
    column = column_sql(key.column.name)
    return column + raw(" is null") if value is None else column + raw(" = ") + param(value)


def _behind(key: SortKey, value: str | None) -> list[Sql]:
    """Return the conditions of the values behind one value: greater ones, then NULL where it comes last."""
    column = column_sql(key.column.name)
    if value is None:
        return [column + raw(" is not null")] if key.nulls_first else []
    behind = [column + (raw(" < ") if key.descending else raw(" > ")) + param(value)]
    if key.column.is_nullable and not key.nulls_first:
        behind.append(column + raw(" is null"))
    return behind


def _head(plan: RowPagePlan) -> Sql:
    """Return SELECT and FROM: the cells, the whole values of order and key, the version, the labels."""
    cells = [_cell(column, plan.longest) for column in plan.columns]
    places = [column_sql(key.column.name) + raw("::pg_catalog.text") for key in plan.keys]
    keys = [column_sql(name) + raw("::pg_catalog.text") for name in plan.table.key]
    version = [raw("r.xmin::pg_catalog.text") if plan.table.has_version else raw("null::pg_catalog.text")]
    labels = [_label(column) for column in plan.labels]
    outputs = join(", ", [*cells, *places, *keys, *version, *labels])
    return concat(raw("select "), outputs, raw(" from "), plan.table.sql, raw(" as r where "))


def _cell(column: TableColumn, longest: int) -> Sql:
    text = column_sql(column.name) + raw("::pg_catalog.text")
    if not column.is_long:
        return text
    return concat(raw("pg_catalog.left("), text, raw(", "), number(longest + 1), raw(")"))


def _label(column: TableColumn) -> Sql:
    """Return the label of the row that a foreign key references, as a subquery."""
    target = column.foreign_key
    if target is None or target.label is None:
        return EMPTY
    return concat(
        raw("(select pg_catalog.left(l."),
        ident(target.label),
        raw("::pg_catalog.text, "),
        number(_LONGEST_LABEL),
        raw(") from "),
        qualified(target.schema, target.table),
        raw(" as l where l."),
        ident(target.column),
        raw(" = "),
        column_sql(column.name),
        raw(" limit 1)"),
    )


def read_page(plan: RowPagePlan, rows: Rows) -> tuple[list[RowOfPage], str | None, str | None]:
    """Return the rows in the order of the page, and the cursors of the pages before and after it; None where there is none."""
    has_more = len(rows) > plan.limit
    rows = rows[: plan.limit]
    if not plan.is_keyset:
        return _read_by_offset(plan, rows, has_more=has_more)
    if plan.backward:
        rows = rows[::-1]
    page = [_row(plan, row) for row in rows]
    has_before = has_more if plan.backward else plan.cursor is not None
    has_after = plan.cursor is not None if plan.backward else has_more
    before = _cursor_at(plan, rows[0]) if rows and has_before else None
    after = _cursor_at(plan, rows[-1]) if rows and has_after else None
    return page, before, after


def _read_by_offset(
    plan: RowPagePlan, rows: Rows, *, has_more: bool
) -> tuple[list[RowOfPage], str | None, str | None]:
    digest, offset = order_digest(plan.table, plan.keys), plan.offset
    before = encode_cursor(RowCursor(digest, [], offset)) if offset else None
    following = offset + plan.limit
    after = encode_cursor(RowCursor(digest, [], following)) if has_more and following <= MAX_OFFSET else None
    return [_row(plan, row) for row in rows], before, after


def _row(plan: RowPagePlan, row: Row) -> RowOfPage:
    count, places = len(plan.columns), len(plan.columns) + len(plan.keys)
    cells, shortened = [], []
    for index, value in enumerate(row[:count]):
        text = _text(value)
        if text is not None and plan.columns[index].is_long and len(text) > plan.longest:
            text = text[: plan.longest]
            shortened.append(index)
        cells.append(text)
    names = plan.table.key
    key = {name: _text(value) for name, value in zip(names, row[places:], strict=False)}
    behind = places + len(names)
    labels = {column.name: _text(value) for column, value in zip(plan.labels, row[behind + 1 :], strict=True)}
    return RowOfPage(cells, key, _text(row[behind]), shortened, labels)


def _cursor_at(plan: RowPagePlan, row: Row) -> str:
    count = len(plan.columns)
    values = [_text(value) for value in row[count : count + len(plan.keys)]]
    return encode_cursor(RowCursor(order_digest(plan.table, plan.keys), values))


def order_digest(table: DescribedTable, keys: Sequence[SortKey]) -> str:
    """Return a digest of a table and an order, by which a cursor of another page is recognized."""
    order = [(key.column.name, key.column.type, key.descending, key.nulls_first) for key in keys]
    return hashlib.sha256(msgspec.json.encode([table.schema, table.name, order])).hexdigest()[:16]


def encode_cursor(cursor: RowCursor) -> str:
    """Return a cursor as a text for the client."""
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).decode()


def decode_cursor(text: str, table: DescribedTable, keys: Sequence[SortKey]) -> RowCursor:
    """Read a cursor. Raises: ManagementError (400) if it is not one of this table and order."""
    try:
        cursor = msgspec.json.decode(base64.urlsafe_b64decode(text), type=RowCursor)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise invalid_arguments("The cursor is not one of this interface") from None
    is_complete = len(cursor.values) == len(keys) if table.key else 0 <= cursor.offset <= MAX_OFFSET
    if cursor.digest != order_digest(table, keys) or not is_complete:
        raise invalid_arguments("The cursor belongs to another table or order: begin at the first page")
    if any("\0" in (value or "") for value in cursor.values):
        raise invalid_arguments("The cursor is not one of this interface")
    return cursor


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "replace")


def _constants(params: Sequence[object]) -> list[bytes | None]:
    return [value for value in params if value is None or isinstance(value, bytes)]
