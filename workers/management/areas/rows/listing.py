"""rows.list: a page of any table or view, as an administrator or as a caller of the interfaces sees it."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Struct

from workers.database.errors import DatabaseError
from workers.database.protocol.rows import Rows
from workers.database.transactions.model import Statement
from workers.management.areas.rows.filters import RowFilter, RowSort, filters_sql, sort_keys
from workers.management.areas.rows.page import (
    SETTINGS,
    RowOfPage,
    RowPagePlan,
    decode_cursor,
    page_statement,
    read_page,
)
from workers.management.areas.rows.rest_url import RestRequest, rest_request
from workers.management.areas.rows.table import DescribedTable, TableColumn, describe_table
from workers.management.interface import argument_limits as limits
from workers.management.interface.argument_limits import PageLimit
from workers.management.interface.caller import ViewAs, caller_settings
from workers.management.interface.errors import invalid_arguments
from workers.management.interface.operation import OperationContext
from workers.sql.compose import Sql, concat, raw, render

_LONGEST_CELL = 64 * 1024
_CANCELED = "57014"


class PageRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A page of a table or view. Without a cursor it is the first one, with `last` the last one.

    `after` and `before` are cursors of a page with the same table and sorts. `columns` null: all. `labels`: columns with a foreign
    key whose rows are labelled. `max_cell`: characters of a cell. `count`: `none`, `estimate` or `exact` (within `count_timeout_s`).
    `view_as`: as a caller of the interfaces, with its policies; null: as an administrator, who sees every row.
    """

    table: str
    schema: str = "public"
    columns: list[str] | None = None
    filters: list[RowFilter] = []
    sorts: list[RowSort] = []
    limit: PageLimit = 100
    after: str | None = None
    before: str | None = None
    last: bool = False
    labels: list[str] = []
    max_cell: Annotated[int, limits.number(1, _LONGEST_CELL)] = 1000
    count: Annotated[str, limits.choice("none", "estimate", "exact")] = "none"
    count_timeout_s: float = 2.0
    view_as: ViewAs | None = None


class RowCount(Struct, frozen=True):
    """The number of rows that the filters leave; `rows` is null if an exact count took too long."""

    rows: int | None
    is_exact: bool


class TablePage(Struct, frozen=True):
    """A page. `columns` describe the cells; `paging` is `key`, or `offset` for what has no key: then rows that are written
    meanwhile shift the pages, and they end at offset 100,000. `rest`: the same filter as a request to REST, null if it has none.
    """

    table: DescribedTable
    columns: list[str]
    paging: str
    rows: list[RowOfPage]
    previous: str | None = None
    next: str | None = None
    count: RowCount | None = None
    rest: RestRequest | None = None


async def list_page(context: OperationContext, request: PageRequest) -> TablePage:
    """Return a page. Raises: ManagementError, DatabaseError."""
    table = (await describe_table(context, request.schema, request.table)).readable()
    plan = _plan(context, table, request)
    reading = _Reading(
        context, None if request.view_as is None else await caller_settings(context, request.view_as)
    )
    timeout_s = context.settings.statement_timeout_s
    [rows] = await reading.run([page_statement(plan)], timeout_s)
    page, previous, following = read_page(plan, rows)
    return TablePage(
        table,
        [column.name for column in plan.columns],
        "key" if plan.is_keyset else "offset",
        page,
        previous,
        following,
        await _count(reading, table, request, plan.condition, timeout_s),
        rest_request(
            table,
            request.columns,
            request.filters,
            request.sorts,
            request.limit,
            list(context.configuration.api.schemas),
        ),
    )


def _plan(context: OperationContext, table: DescribedTable, request: PageRequest) -> RowPagePlan:
    """Return what the page reads. Raises: ManagementError (400)."""
    if not 1 <= request.limit <= context.settings.max_rows:
        raise invalid_arguments(f"`limit` must be 1 to {context.settings.max_rows}")
    if not 1 <= request.max_cell <= _LONGEST_CELL:
        raise invalid_arguments(f"`max_cell` must be 1 to {_LONGEST_CELL}")
    if (request.after is not None) + (request.before is not None) + request.last > 1:
        raise invalid_arguments("Send one of `after`, `before` and `last`")
    if request.last and not table.key:
        raise invalid_arguments(f"{table.schema}.{table.name} has no key, so its last page is not known")
    keys = sort_keys(table, request.sorts)
    cursor = request.after or request.before
    return RowPagePlan(
        table,
        chosen_columns(table, request.columns),
        _labelled(table, request.labels),
        filters_sql(table, request.filters),
        keys,
        request.limit,
        request.max_cell,
        decode_cursor(cursor, table, keys) if cursor is not None else None,
        backward=request.before is not None or request.last,
    )


def chosen_columns(table: DescribedTable, names: list[str] | None) -> list[TableColumn]:
    """Return the columns of these names, all for None. Raises: ManagementError (400)."""
    if names is None:
        return table.columns
    if len(set(names)) < len(names):
        raise invalid_arguments("A column is in `columns` twice")
    return [table.column(name) for name in names]


def _labelled(table: DescribedTable, names: list[str]) -> list[TableColumn]:
    columns = chosen_columns(table, names)
    for column in columns:
        if column.foreign_key is None or column.foreign_key.label is None:
            raise invalid_arguments(f"{column.name} references no table that has a column of text")
    return columns


class _Reading:
    """Runs statements that read: as an administrator, or as a caller with its settings."""

    def __init__(self, context: OperationContext, caller: Sequence[tuple[str, str]] | None) -> None:
        self._context, self._caller = context, caller

    async def run(self, statements: list[Statement], timeout_s: float) -> list[Rows]:
        database = self._context.database
        if self._caller is None:
            return await database.read(*statements, timeout_s=timeout_s, settings=SETTINGS)
        settings = [*self._caller, *SETTINGS, ("transaction_read_only", "on")]
        return await database.view(settings, *statements, timeout_s=timeout_s)


async def _count(
    reading: _Reading, table: DescribedTable, request: PageRequest, condition: Sql, timeout_s: float
) -> RowCount | None:
    """Return the count that was requested. Raises: ManagementError (400), DatabaseError."""
    match request.count:
        case "none":
            return None
        case "estimate":
            if not request.filters and request.view_as is None and table.estimated_rows is not None:
                return RowCount(table.estimated_rows, is_exact=False)
            head = raw("explain (format json) select 1 from ")
            [[(plan,)]] = await reading.run([_counting(head, table, condition)], timeout_s)
            rows = msgspec.json.decode(plan or b"")[0]["Plan"]["Plan Rows"]
            return RowCount(round(rows), is_exact=False)
        case "exact":
            if not 0 < request.count_timeout_s <= timeout_s:
                raise invalid_arguments(f"`count_timeout_s` must be more than 0 and at most {timeout_s:g}")
            head = raw("select pg_catalog.count(*) from ")
            try:
                [[(rows,)]] = await reading.run([_counting(head, table, condition)], request.count_timeout_s)
            except DatabaseError as error:
                if error.code != _CANCELED:
                    raise
                return RowCount(None, is_exact=False)
            return RowCount(msgspec.json.decode(rows or b"0", type=int), is_exact=True)
    raise invalid_arguments("`count` must be none, estimate or exact")


def _counting(head: Sql, table: DescribedTable, condition: Sql) -> Statement:
    text, params = render(concat(head, table.sql, raw(" as r where "), condition))
    return Statement(text, [value for value in params if value is None or isinstance(value, bytes)])
