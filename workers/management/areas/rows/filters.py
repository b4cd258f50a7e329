"""Filters and sorts of a page as SQL. Pure.

Operators have the names of REST (workers/sql/operators.py), so that a page has the same filter as a URL. Operands are parameters,
whose type Postgres takes from the column.
"""

from typing import Any

from msgspec import Struct

from workers.management.areas.rows.table import DescribedTable, TableColumn, column_sql
from workers.management.areas.rows.values import array_text, text_value
from workers.management.interface.errors import invalid_arguments
from workers.sql.compose import EMPTY, Sql, catalog_text, join, param, raw
from workers.sql.operators import IS_WORDS, OPERATORS, Operator

MAX_FILTERS, MAX_SORTS = 100, 16
PATTERNS = frozenset({"like", "ilike", "match", "imatch"})


class RowFilter(Struct, frozen=True, forbid_unknown_fields=True):
    """A condition on a column. `op` as in REST: eq, neq, gt, gte, lt, lte, like, ilike, match, in, is, cs, cd, ov, fts...

    `value` is a text in the format of the column's type, or a JSON value; for `in` a list, for `is` null, not_null, true, false,
    unknown. Patterns of `like` use % and _, and compare the text of any type. `negated`: rows for which it is not true.
    `or_previous`: joined to the filter before it by OR. Filters in a row that are joined so are one condition, of which one must be
    true; such conditions, and filters without it, must all be true: `a, b, or c, d` is `a and (b or c) and d`.
    """

    column: str
    op: str = "eq"
    value: Any = None
    negated: bool = False
    or_previous: bool = False


class RowSort(Struct, frozen=True, forbid_unknown_fields=True):
    """A column to sort by. `nulls_first` null: last if ascending, first if descending, as in Postgres."""

    column: str
    descending: bool = False
    nulls_first: bool | None = None


def filters_sql(table: DescribedTable, filters: list[RowFilter]) -> Sql:
    """Return the conditions joined by AND, those of a group by OR, or `true`. Raises: ManagementError (400)."""
    if len(filters) > MAX_FILTERS:
        raise invalid_arguments(f"At most {MAX_FILTERS} filters")
    groups = [
        [_condition(table.column(row_filter.column), row_filter) for row_filter in group]
        for group in filter_groups(filters)
    ]
    conditions = [
        group[0] if len(group) == 1 else raw("(") + join(" or ", group) + raw(")") for group in groups
    ]
    return join(" and ", conditions) if conditions else raw("true")


def filter_groups(filters: list[RowFilter]) -> list[list[RowFilter]]:
    """Return the filters by group, in their order: one of each group must be true. Raises: ManagementError (400)."""
    groups: list[list[RowFilter]] = []
    for row_filter in filters:
        if not row_filter.or_previous:
            groups.append([row_filter])
        elif groups:
            groups[-1].append(row_filter)
        else:
            raise invalid_arguments("The first filter has none before it: leave out its `or_previous`")
    return groups


def _condition(column: TableColumn, row_filter: RowFilter) -> Sql:
    operator = OPERATORS.get(row_filter.op)
    if operator is None:
        raise invalid_arguments(f"No operator {row_filter.op[:40]!r}; they are {', '.join(OPERATORS)}")
    condition = _comparison(column, operator, row_filter.value)
    return raw("not (") + condition + raw(")") if row_filter.negated else raw("(") + condition + raw(")")


def _comparison(column: TableColumn, operator: Operator, value: Any) -> Sql:
    left = column_sql(column.name)
    match operator.name:
        case "is":
            word = "null" if value is None else str(value).lower()
            if word not in IS_WORDS:
                raise invalid_arguments(f"`is` takes {', '.join(IS_WORDS)}")
            return left + raw(" is ") + catalog_text(IS_WORDS[word])
        case "in":
            if not isinstance(value, list):
                raise invalid_arguments("`in` takes a list of values")
            return left + raw(" = any(") + param(_array(column, value)) + raw(")")
    if value is None and operator.name != "isdistinct":
        raise invalid_arguments(f"{operator.name} takes a value; use `is` with null for NULL")
    if operator.name in PATTERNS and column.category != "text":
        left = left + raw("::pg_catalog.text")
    operand = param(_operand(column, operator, value))
    if operator.function is not None:
        operand = catalog_text(f"pg_catalog.{operator.function}(") + operand + raw(")")
    return left + catalog_text(f" {operator.sql} ") + operand


def _operand(column: TableColumn, operator: Operator, value: Any) -> bytes | None:
    if operator.function is not None or operator.name in PATTERNS:
        if not isinstance(value, str):
            raise invalid_arguments(f"{operator.name} takes a text")
        return text_value(column, value)
    if isinstance(value, list) and column.category != "json":
        return _array(column, value)
    return text_value(column, value)


def _array(column: TableColumn, values: list[Any]) -> bytes | None:
    return text_value(column, array_text(values))


def check_sorts(table: DescribedTable, sorts: list[RowSort]) -> None:
    """Refuse sorts by unknown columns, twice by one, or by a type without an order. Raises: ManagementError (400)."""
    if len(sorts) > MAX_SORTS:
        raise invalid_arguments(f"At most {MAX_SORTS} sorts")
    names = [sort.column for sort in sorts]
    if len(set(names)) < len(names):
        raise invalid_arguments("A column is in `sorts` twice")
    for name in names:
        column = table.column(name)
        if not column.is_sortable:
            raise invalid_arguments(
                f"Values of {name} ({column.type}) have no order, so no page is sorted by them"
            )


class SortKey(Struct, frozen=True):
    """A column of the order of a page, with everything explicit."""

    column: TableColumn
    descending: bool
    nulls_first: bool

    def reversed(self) -> "SortKey":
        """Return the key of the opposite order."""
        return SortKey(self.column, not self.descending, not self.nulls_first)

    def sql(self) -> Sql:
        """Return it for ORDER BY. NULLS is left out where it changes nothing, so that plain indexes serve it."""
        words = " desc" if self.descending else ""
        if self.column.is_nullable and self.nulls_first != self.descending:
            words += " nulls first" if self.nulls_first else " nulls last"
        return column_sql(self.column.name) + catalog_text(words)


def sort_keys(table: DescribedTable, sorts: list[RowSort]) -> list[SortKey]:
    """Return the order of a page: the sorts, then the key, so that no two rows are equal. Raises: as `check_sorts`."""
    check_sorts(table, sorts)
    keys = [
        SortKey(
            table.column(sort.column),
            sort.descending,
            sort.descending if sort.nulls_first is None else sort.nulls_first,
        )
        for sort in sorts
    ]
    names = {sort.column for sort in sorts}
    descending = bool(sorts) and sorts[-1].descending
    keys += [SortKey(table.column(name), descending, descending) for name in table.key if name not in names]
    return keys


def order_by(keys: list[SortKey]) -> Sql:
    """Return ORDER BY, or nothing without keys."""
    return raw(" order by ") + join(", ", [key.sql() for key in keys]) if keys else EMPTY
