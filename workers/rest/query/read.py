"""Rows with their embeds as one SELECT. Pure.

Each embed is a lateral join that gives one row: a to-one embed the row itself, a to-many embed an array. The parent
then selects `row_to_json(join)` or the array, or (spread) the columns one by one.
Source: docs/reference/rest.md, sections 9 and 24.
"""

from workers.rest.model import (
    ALL_ROWS,
    Bound,
    Embed,
    PlannedColumn,
    PlannedField,
    RelationRead,
    RowRange,
)
from workers.rest.plan.spread import output_name
from workers.rest.query.fields import (
    aggregate_sql,
    column_sql,
    distinct_sql,
    field_sql,
    having_sql,
    order_name,
    order_sql,
    order_value,
    where_sql,
)
from workers.rest.query.joins import RowReference, join_related, row_reference
from workers.rest.query.paging import (
    ROW,
    beyond_sql,
    keys_sql,
    numbered_sql,
    one_more,
    ordered_by,
    turned,
)
from workers.sql.compose import EMPTY, Sql, concat, ident, join, number, param, qualified, raw
from workers.sql.pages import magnitude

_ROWS, _ROW = "hw_rows", "hw_row"
_LONG_PAGE = 1 << 20


def read_sql(read: RelationRead, *, as_jsonb: bool = False) -> Sql:
    """Return the rows of a read as a SELECT. `as_jsonb`: embeds as jsonb, whose text form is the one CSV shows."""
    has_distinct = read.distinct is not None  # `select distinct` needs a column
    return _select(read, _place(read), _source(read), (), as_jsonb=as_jsonb, keeps_column=has_distinct)


def page_sql(read: RelationRead) -> Sql:
    """Return the rows of a page by cursor, one more than it has: each as JSON, with its order values and its number."""
    place = _place(read)
    items, _ = _items(read, place, as_jsonb=False, keeps_column=False)
    embedded = {embed.alias: list(embed.ordered_by) for embed in read.embeds}
    values = [order_value(place, term, embedded) for term in read.order]
    is_backward = read.cursor is not None and read.cursor.is_backward
    order = turned(read.order) if is_backward else read.order
    beyond = [] if read.cursor is None else [beyond_sql(read.cursor, order, values)]
    rows = concat(
        raw("select (select pg_catalog.row_to_json(hw_one.*) from (select "),
        join(", ", items),
        raw(") hw_one) as "),
        ROW,
        raw(", "),
        keys_sql(values),
        raw(" from "),
        _source(read),
        *[_join(embed, place) for embed in read.embeds],
        where_sql(place, read.where, *beyond),
        ordered_by(order, values),
        range_sql(one_more(read.range)),
    )
    return numbered_sql(rows)


def count_sql(read: RelationRead, limit: int | None = None) -> Sql:
    """Return a SELECT of one column with as many rows as the read has without its range."""
    place, source = _place(read), _source(read)
    bound = EMPTY if limit is None else concat(raw(" limit "), _number(limit))
    if read.groups or read.distinct is not None:
        rows = _select(read, place, source, (), ranged=False)
        return concat(raw("select 1 from ("), rows, raw(") hw_groups"), bound)
    joins = [_join(embed, place) for embed in read.embeds if embed.drops_parents]
    return concat(raw("select 1 from "), source, *joins, where_sql(place, read.where), bound)


def range_sql(rows: RowRange) -> Sql:
    """Return ` limit ... offset ...` as far as they are needed.

    The limit stands in the text: with a parameter there the planner guesses a tenth of the rows, and the plan it keeps
    walked an index of 15,000 rows for 10 (1.26 ms against 0.14 ms). The offset is a parameter, so pages share a plan.
    """
    limit = EMPTY if rows.limit is None else concat(raw(" limit "), _number(rows.limit))
    return limit if rows.offset == 0 else concat(limit, raw(" offset "), _bound(rows.offset))


def _within(rows: Sql, wanted: RowRange) -> Sql:
    """Cut a SELECT to its range, within a bound that many ranges share (workers/sql/pages.py)."""
    offset, limit = wanted.offset, wanted.limit
    if not isinstance(offset, int) or not isinstance(limit, int) or offset == 0 or limit > _LONG_PAGE:
        return concat(rows, range_sql(wanted))
    reach = magnitude(offset)
    if reach is None:
        return concat(rows, range_sql(wanted))
    bound = concat(raw(" limit "), number(reach + limit), raw(") as hw_reach"))
    return concat(raw("select * from ("), rows, bound, range_sql(wanted))


def _number(bound: Bound) -> Sql:
    return number(bound) if isinstance(bound, int) else param(bound)


def _bound(bound: Bound) -> Sql:
    return param(str(bound)) if isinstance(bound, int) else param(bound)


def _place(read: RelationRead) -> RowReference:
    if read.source[0] and read.alias == read.source[1]:
        return row_reference(qualified(*read.source))
    place = row_reference(ident(read.alias))
    row = place.row
    if read.row_columns and read.row_type is not None:
        columns = [concat(ident(read.alias), raw("."), ident(name)) for name in read.row_columns]
        row = concat(raw("(row("), join(", ", columns), raw(")::"), qualified(*read.row_type), raw(")"))
    elif not read.source[0] and read.row_type is not None:
        row = concat(raw("("), row, raw("::"), qualified(*read.row_type), raw(")"))
    return place if row is place.row else RowReference(place.qualifier, row)


def _source(read: RelationRead) -> Sql:
    """Return what stands behind FROM: a relation, or a name of the statement."""
    name = qualified(*read.source) if read.source[0] else ident(read.source[1])
    return name if read.alias == read.source[1] else concat(name, raw(" as "), ident(read.alias))


def _select(
    read: RelationRead,
    place: RowReference,
    source: Sql,
    conditions: tuple[Sql, ...],
    *,
    ranged: bool = True,
    as_jsonb: bool = False,
    keeps_column: bool = True,
) -> Sql:
    items, grouped = _items(
        read,
        place,
        as_jsonb=as_jsonb or read.groups or read.distinct is not None,
        keeps_column=keeps_column,
    )
    embeds = read.embeds
    rows = concat(
        raw("select "),
        EMPTY if read.distinct is None else distinct_sql(place, read.distinct),
        items[0] if len(items) == 1 else join(", ", items),
        raw(" from "),
        source,
        *[_join(embed, place) for embed in embeds] if embeds else (),
        where_sql(place, read.where, *conditions) if read.where or conditions else EMPTY,
        concat(raw(" group by "), join(", ", grouped)) if read.groups and grouped else EMPTY,
        having_sql(place, read.having) if read.having else EMPTY,
        order_sql(
            place,
            read.order,
            {embed.alias: list(embed.ordered_by) for embed in embeds},
            _grouped_paths(read) if read.groups else {},
        )
        if read.order
        else EMPTY,
    )
    return _within(rows, read.range) if ranged and read.range != ALL_ROWS else rows


def _items(
    read: RelationRead, place: RowReference, *, as_jsonb: bool, keeps_column: bool = True
) -> tuple[list[Sql], list[Sql]]:
    """Return the select list, and the positions in it that form GROUP BY if the read groups its rows.

    `keeps_column`: without columns of its own the list has one that is not shown: rows of embeds are compared with null, and
    a row without columns counts as null. Rows of the response are shown as they are: `{}`.
    """
    items: list[Sql] = []
    grouped: list[int] = []
    for item in read.items:
        if isinstance(item, PlannedColumn):
            items.append(column_sql(place, item, output_name(item)))
            if not item.aggregate:
                grouped.append(len(items))
        elif item.is_spread:
            for value, is_aggregate in _spread(item, as_jsonb=as_jsonb):
                items.append(value)
                if not is_aggregate:
                    grouped.append(len(items))
        elif not item.is_hidden:
            items.append(_embedded(item, as_jsonb=as_jsonb))
            grouped.append(len(items))
    positions = [number(position) for position in grouped] if read.groups else []
    if not items and keeps_column:
        items.append(raw("true as hw_found"))
    return items, positions


def _grouped_paths(read: RelationRead) -> dict[PlannedField, int]:
    """Return the JSON paths by which a read groups its rows, with their place in the select list."""
    paths: dict[PlannedField, int] = {}
    place = 0
    for item in read.items:
        if not isinstance(item, PlannedColumn):
            place += len(item.spread) if item.is_spread else not item.is_hidden
            continue
        place += 1
        if item.field.path and not item.aggregate and not item.cast:
            paths[item.field] = place
    return paths


# --- embeds --------------------------------------------------------------------------------------------------


def _embedded(embed: Embed, *, as_jsonb: bool) -> Sql:
    """Return an embed as one value of the parent; grouping needs jsonb, which has an equality."""
    if embed.is_to_one and not embed.ordered_by:
        value = concat(raw("pg_catalog.row_to_json("), ident(embed.alias), raw(".*)"))
    elif embed.is_to_one:
        value = concat(ident(embed.alias), raw("."), ident(_ROW))
    else:
        value = concat(raw("coalesce("), ident(embed.alias), raw("."), ident(_ROWS), raw(", '[]')"))
    return concat(value, raw("::jsonb as ") if as_jsonb else raw(" as "), ident(embed.key))


def _spread(embed: Embed, *, as_jsonb: bool) -> list[tuple[Sql, bool]]:
    """Return the values that a spread lifts, and which are aggregates; grouping needs jsonb, which has an equality."""
    lifted = []
    for column in embed.spread:
        value = concat(ident(embed.alias), raw("."), ident(column.carried))
        if not embed.is_to_one:
            value = concat(raw("coalesce("), value, raw(", '[]')"))
        value = aggregate_sql(value, column.aggregate, column.aggregate_cast)
        if as_jsonb and not column.aggregate and (column.is_json or not embed.is_to_one):
            value = concat(value, raw("::jsonb"))
        lifted.append((concat(value, raw(" as "), ident(column.name)), column.aggregate is not None))
    return lifted


def _join(embed: Embed, parent: RowReference) -> Sql:
    kind = raw(" inner join lateral (") if embed.is_inner else raw(" left join lateral (")
    inner = _to_one(embed, parent) if embed.is_to_one else _to_many(embed, parent)
    return concat(kind, inner, raw(") as "), ident(embed.alias), raw(" on true"))


def _to_one(embed: Embed, parent: RowReference) -> Sql:
    if not embed.ordered_by:
        return _inner(embed, parent)
    read = embed.read
    place = _place(read)
    carried = [
        concat(field_sql(place, term.field), raw(" as "), ident(order_name(place_in)))
        for place_in, term in enumerate(embed.ordered_by)
    ]
    items, _ = _items(read, place, as_jsonb=False)
    if not embed.is_spread:
        row = concat(
            raw("(select pg_catalog.row_to_json(hw_one.*) from (select "),
            join(", ", items),
            raw(") hw_one) as "),
        )
        items = [concat(row, ident(_ROW))]
    source, conditions = join_related(embed.relationship, _source(read), embed.alias, place, parent)
    return concat(
        raw("select "),
        join(", ", [*items, *carried]),
        raw(" from "),
        source,
        *[_join(inner, place) for inner in read.embeds],
        where_sql(place, read.where, *conditions),
        range_sql(read.range),
    )


def _to_many(embed: Embed, parent: RowReference) -> Sql:
    rows = _inner(embed, parent)
    name = ident(embed.read.alias)
    if embed.is_spread:
        arrays = [
            concat(
                raw("pg_catalog.json_agg("),
                name,
                raw("."),
                ident(column.carried),
                raw(") as "),
                ident(column.carried),
            )
            for column in embed.spread
        ] or [raw("pg_catalog.count(*) as hw_found")]
    else:
        arrays = [concat(raw("pg_catalog.json_agg("), name, raw(".*) as "), ident(_ROWS))]
    some = raw(" having pg_catalog.count(*) > 0") if embed.drops_parents else EMPTY
    return concat(raw("select "), join(", ", arrays), raw(" from ("), rows, raw(") as "), name, some)


def _inner(embed: Embed, parent: RowReference) -> Sql:
    place = _place(embed.read)
    source, conditions = join_related(embed.relationship, _source(embed.read), embed.alias, place, parent)
    return _select(embed.read, place, source, conditions)
