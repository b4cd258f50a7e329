"""A page by cursor as SQL: its rows in order, and the values by which its neighbours are found. Pure.

One row more than the page is read, which tells whether more follow; backwards the order is turned around, and the page
again when it is put together. Source: docs/rest-additions.md, "Pages by cursor".
"""

from collections.abc import Sequence

from workers.rest.model import PageCursor, PlannedOrder, RelationRead, RowRange
from workers.sql.compose import Sql, concat, join, number, param, raw

ROW, KEYS = raw("hw_row"), raw("hw_keys")
_NUMBER = raw("hw_number")


def one_more(rows: RowRange) -> RowRange:
    """Return the range that shows whether rows follow a page."""
    return RowRange(0, _limit(rows) + 1)


def _limit(rows: RowRange) -> int:
    assert isinstance(rows.limit, int)  # the plan saw to it
    return rows.limit


def turned(order: tuple[PlannedOrder, ...]) -> tuple[PlannedOrder, ...]:
    """Return the opposite order."""
    return tuple(
        PlannedOrder(
            term.field,
            not term.descending,
            "last" if _nulls_first(term) else "first",
            term.embed,
            term.is_lifted,
            term.may_be_null,
        )
        for term in order
    )


def keys_sql(values: Sequence[Sql]) -> Sql:
    """Return the order values of a row as a JSON array of texts."""
    texts = [concat(raw("cast("), value, raw(" as pg_catalog.text)")) for value in values]
    return concat(raw("pg_catalog.json_build_array("), join(", ", texts), raw(") as "), KEYS)


def beyond_sql(cursor: PageCursor, order: tuple[PlannedOrder, ...], values: Sequence[Sql]) -> Sql:
    """Return the condition that a row comes after the cursor's in an order: later in some term, equal in those before.

    A bound on the first term alone, where nulls cannot be, lets the planner begin in the middle of an index.
    """
    cases: list[Sql] = []
    equal: list[Sql] = []
    for term, value, text in zip(order, values, cursor.values, strict=True):
        later = _later(term, value, text)
        if later is not None:
            cases.append(concat(raw("("), join(" and ", [*equal, later]), raw(")")))
        same = raw(" is null") if text is None else concat(raw(" = "), param(text))
        equal.append(concat(value, same))
    if not cases:
        return raw("false")
    behind = concat(raw("("), join(" or ", cases), raw(")"))
    first, value, text = order[0], values[0], cursor.values[0]
    if text is None or first.may_be_null or len(order) == 1:
        return behind
    return concat(value, raw(" <= ") if first.descending else raw(" >= "), param(text), raw(" and "), behind)


def _later(term: PlannedOrder, value: Sql, text: str | None) -> Sql | None:
    """Return the test that a value comes after another; None if nothing does."""
    nulls_first = _nulls_first(term)
    if text is None:
        return concat(value, raw(" is not null")) if nulls_first else None
    beyond = concat(value, raw(" < ") if term.descending else raw(" > "), param(text))
    return (
        beyond
        if nulls_first or not term.may_be_null
        else concat(raw("("), beyond, raw(" or "), value, raw(" is null)"))
    )


def _nulls_first(term: PlannedOrder) -> bool:
    """Return whether nulls are first: as the term says, else when it is descending."""
    return term.nulls == "first" if term.nulls else bool(term.descending)


def ordered_by(order: tuple[PlannedOrder, ...], values: Sequence[Sql]) -> Sql:
    """Return ` order by ...` of these values."""
    terms = []
    for term, value in zip(order, values, strict=True):
        direction = raw(" desc") if term.descending else raw(" asc")
        nulls = raw(" nulls first") if _nulls_first(term) else raw(" nulls last")
        terms.append(concat(value, direction, nulls))
    return concat(raw(" order by "), join(", ", terms))


def numbered_sql(rows: Sql) -> Sql:
    """Return ordered rows with their numbers."""
    return concat(
        raw("select hw_page.*, pg_catalog.row_number() over () as hw_number from ("), rows, raw(") hw_page")
    )


def page_rows(read: RelationRead, *, strips_nulls: bool) -> tuple[Sql, Sql, Sql]:
    """Return the rows of a page one by one, from `hw_page`: the value, what it is read from, and the edges of the page."""
    limit = number(_limit(read.range))
    is_backward = read.cursor is not None and read.cursor.is_backward
    order = raw(" order by hw_number desc") if is_backward else raw(" order by hw_number")
    rows = concat(
        raw("(select hw_row from hw_page where "), _NUMBER, raw(" <= "), limit, order, raw(") as hw_t")
    )
    last = concat(
        raw("(select hw_keys from hw_page where hw_number = (select least(pg_catalog.count(*), "),
        limit,
        raw(") from hw_page))"),
    )
    first = raw("(select hw_keys from hw_page where hw_number = 1)")
    ends = [last, first] if is_backward else [first, last]
    edges = concat(
        raw("pg_catalog.json_build_array("),
        join(", ", ends),
        raw(", (select pg_catalog.count(*) from hw_page) > "),
        limit,
        raw(")"),
    )
    row = raw("pg_catalog.json_strip_nulls(hw_t.hw_row)") if strips_nulls else raw("hw_t.hw_row")
    return row, rows, edges


def page_columns(read: RelationRead, *, strips_nulls: bool) -> tuple[Sql, Sql, Sql]:
    """Return the number of rows, the body and the edges of a page."""
    limit = number(_limit(read.range))
    inside = concat(raw(" filter (where "), _NUMBER, raw(" <= "), limit, raw(")"))
    is_backward = read.cursor is not None and read.cursor.is_backward
    direction = concat(raw(" order by "), _NUMBER, raw(" desc)") if is_backward else raw(")"))
    rows = concat(raw("pg_catalog.json_agg("), ROW, direction, inside)
    keys = concat(raw("pg_catalog.json_agg("), KEYS, direction, inside)
    if strips_nulls:
        rows = concat(raw("pg_catalog.json_strip_nulls("), rows, raw(")"))
    edges = concat(
        raw("pg_catalog.json_build_array("),
        keys,
        raw(" -> 0, "),
        keys,
        raw(" -> -1, pg_catalog.count(*) > "),
        limit,
        raw(")"),
    )
    count = concat(raw("pg_catalog.count(*)"), inside)
    return count, concat(raw("coalesce("), rows, raw(", '[]')")), edges
