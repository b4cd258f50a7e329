"""Reads: rows, related rows and connections as JSON, each a sub-select inside the object around it. Pure.

A whole root field is one statement. The SQL of a connection with edges, over a table "item":

    (select row_to_json("@") from (                                         the answer, as JSON at once
      select array(select "@j1"                                             an array of records
        from (select ... from "item" where ... order by ... limit 30) "@1",
        lateral (select "@1"."id" as "id", ...) "@j0",                      one node of it
        lateral (select "@j0" as "node") "@j1") as "edges") "@")            one edge of it

With page info one pass over the page computes edges and page info:

      select "@2"."@0" as "edges", ...                                      the object
      from (
        select coalesce(json_agg("@j1"), '[]'::json) as "@0", ... from (    one pass over the page
          select "@i".*, row_number() over () as "@n", count(*) over () as "@c" from (   number its rows
            select ... from "item" where ... order by ... limit 30 + 1) "@i") "@1", lateral ...) "@2"

- Objects are records: `lateral` joins without a table are merged into the select list by the planner, while a sub-select
  for each object would be a sub-plan for each row, and its JSON would be copied at each level.
- The innermost sub-select returns only columns in use, so that nothing is computed for rows beyond the limit.
- One row more than the page is read (`limit + 1`): whether it exists is `hasNextPage` (backward: `hasPreviousPage`).
  Without page info the page is neither numbered nor read one row too far.
- A backward page is read in reverse order and turned round by its row numbers.

Order of calls is important in this module: aliases are numbered as they are requested, and `_rows` must come after
everything that uses columns of the page (`RowScope.select_list`). Source: docs/reference/graphql.md, section 18.
"""

from collections.abc import Sequence

from workers.graphql.plan.conditions import Condition, RelatedRows
from workers.graphql.plan.tree import (
    Aggregate,
    ColumnValue,
    ComputedValue,
    ConnectionPlan,
    EdgeCursor,
    EdgeList,
    EdgeNode,
    FieldPlan,
    FieldPlans,
    GroupsPlan,
    MaterializedCall,
    NodeId,
    PageInfo,
    PageInfoField,
    RowPlan,
    RowSource,
    SqlFunctionCall,
    TableRows,
    TotalCount,
    TypeName,
)
from workers.graphql.query.aggregates import aggregate
from workers.graphql.query.conditions import after_cursor, condition, ordering
from workers.graphql.query.groups import groups
from workers.graphql.query.related import join_condition, order_value
from workers.graphql.query.scope import ROW, Aliases, RowScope, aliased
from workers.graphql.query.template import optional, template
from workers.graphql.query.values import (
    base64_of,
    fits_record,
    inner_object,
    json_object,
    json_value,
    node_id,
    operand,
    record_items,
    text_constant,
)
from workers.sql.compose import EMPTY, Sql, concat, ident, join, number, qualified, raw

_ROW_NUMBER, _ROW_COUNT = "@n", "@c"
"""Columns of a numbered page: number of the row in the order it was read, and how many rows were read."""
MATERIALIZED_CALL = raw('"@called"')
"""The rows of `MaterializedCall`, each whole in the column `ROW`."""
Items = list[tuple[str, Sql]]


def row_items(fields: FieldPlans, scope: RowScope, aliases: Aliases) -> Items:
    """Return the fields of a row as names and expressions."""
    return [(key, _row_field(field, scope, aliases)) for key, field in fields]


def _row_field(field: FieldPlan, scope: RowScope, aliases: Aliases) -> Sql:
    match field:
        case ColumnValue(column, type_):
            return json_value(scope.column(column), type_)
        case TypeName(name):
            return text_constant(name)
        case NodeId(table, columns):
            return node_id(table, [scope.column(column) for column in columns])
        case RowPlan():
            return row(field, scope, aliases)
        case ConnectionPlan():
            return connection(field, scope, aliases)
        case ComputedValue(call, type_):
            return json_value(function_call(call, scope), type_)
    raise TypeError(field)


def row(field: RowPlan, outer: RowScope | None, aliases: Aliases) -> Sql:
    """Return one row as an object, or null."""
    scope = RowScope(aliases.next())
    conditions = _conditions(field.source, field.conditions, scope, outer)
    if isinstance(field.source, SqlFunctionCall):
        conditions.append(template("not ({row} is null)", row=scope.row()))
    items = row_items(field.fields, scope, aliases)
    source = template(
        "from {rows}{where} limit 1", rows=from_item(field.source, scope, outer), where=where(conditions)
    )
    return json_object(items, source) if outer is None else inner_object(items, source)


def connection(field: ConnectionPlan, outer: RowScope | None, aliases: Aliases) -> Sql:
    """Return a connection as an object."""
    return _Connection(field, outer, aliases).sql()


def function_call(call: SqlFunctionCall, outer: RowScope | None) -> Sql:
    """Return the call of a function with its arguments by name; the row comes first."""
    arguments = [
        template("{name} => {value}", name=ident(name), value=operand(value))
        for name, value in call.arguments
    ]
    if call.takes_row and outer is not None:
        arguments.insert(0, outer.row())
    return template(
        "{function}({arguments})", function=qualified(*call.function), arguments=join(", ", arguments)
    )


def from_item(source: RowSource, scope: RowScope, outer: RowScope | None) -> Sql:
    """Return an item of `from` under the scope's alias."""
    match source:
        case SqlFunctionCall():
            item = function_call(source, outer)
        case MaterializedCall():
            item = template("(select ({row}).*, {row} from {rows})", row=ident(ROW), rows=MATERIALIZED_CALL)
        case TableRows(table) | RelatedRows(table):
            item = qualified(*table)
    return aliased(item, scope.alias)


def where(conditions: Sequence[Sql]) -> Sql:
    """Return ` where ...`; empty SQL without conditions."""
    return template(" where {conditions}", conditions=join(" and ", conditions)) if conditions else EMPTY


def _conditions(
    source: RowSource, filter_condition: Condition | None, scope: RowScope, outer: RowScope | None
) -> list[Sql]:
    conditions: list[Sql] = []
    if isinstance(source, RelatedRows) and outer is not None:
        conditions.append(join_condition(source, scope, outer))
    if filter_condition is not None:
        conditions.append(condition(filter_condition, scope))
    return conditions


class _Connection:
    """One connection while its SQL is built. `_page` is the scope of its page, a sub-select."""

    def __init__(self, field: ConnectionPlan, outer: RowScope | None, aliases: Aliases) -> None:
        self._field, self._outer, self._aliases = field, outer, aliases
        self._page = RowScope(aliases.next(), is_derived=True)
        self._joins: list[Sql] = []
        self._page_info_fields = {
            page_field
            for _, child in field.fields
            if isinstance(child, PageInfo)
            for _, page_field in child.fields
            if isinstance(page_field, PageInfoField)
        }
        order = field.order
        self._read_order = [term.reversed() for term in order] if field.is_backward else list(order)

    def sql(self) -> Sql:
        """Return the connection as an object."""
        lists = [(key, child) for key, child in self._field.fields if isinstance(child, EdgeList)]
        if len(lists) < 2 and not self._page_info_fields:
            edges = {key: self._edge_array(child) for key, child in lists}
            return self._object(self._items(edges))
        edges = {key: self._edges(child) for key, child in lists}
        if not self._page_info_fields:
            return self._object(self._items(edges), template("from {page}", page=self._joined_rows()))
        return self._with_page_info(edges)

    def _items(self, edges: dict[str, Sql]) -> Items:
        return [(key, edges.get(key) or self._independent_field(child)) for key, child in self._field.fields]

    def _object(self, items: Items, source: Sql = EMPTY) -> Sql:
        return json_object(items, source) if self._outer is None else inner_object(items, source)

    def _with_page_info(self, edges: dict[str, Sql]) -> Sql:
        """Compute edge lists and page info in one pass over the page, and build the object of the results."""
        results = RowScope(self._aliases.next(), is_derived=True)
        computed = [
            aliased(self._page_info_value(field), field.value) for field in sorted(self._page_info_fields)
        ]
        computed += [aliased(edge_list, f"@{index}") for index, edge_list in enumerate(edges.values())]
        source = template(
            "from (select {computed} from {page}) {alias}",
            computed=join(", ", computed),
            page=self._joined_rows(),
            alias=ident(results.alias),
        )
        names = {key: f"@{index}" for index, key in enumerate(edges)}
        items: Items = []
        for key, child in self._field.fields:
            if key in names:
                items.append((key, results.column(names[key])))
            elif isinstance(child, PageInfo):
                items.append((key, _page_info(child.fields, results)))
            else:
                items.append((key, self._independent_field(child)))
        return self._object(items, source)

    def _edge_array(self, edges: EdgeList) -> Sql:
        """Return the only list of edges of a connection without page info: an array, which becomes a list of JSON."""
        edge = self._edge(edges)
        return template("array(select {edge} from {page})", edge=edge, page=self._joined_rows())

    def _edges(self, edges: EdgeList) -> Sql:
        """Return a list of edges as an aggregate over the page, for a pass that computes other values too."""
        return template(
            "coalesce(json_agg({edge}){filter}, '[]'::json)",
            edge=self._edge(edges),
            # Leave out the row that was read beyond the page.
            filter=optional(
                " filter (where {value})", self._is_on_page() if self._page_info_fields else None
            ),
        )

    def _edge(self, edges: EdgeList) -> Sql:
        items: Items = []
        for key, child in edges.fields:
            match child:
                case EdgeCursor():
                    items.append((key, self._cursor()))
                case EdgeNode(fields):
                    items.append((key, self._record(row_items(fields, self._page, self._aliases))))
                case TypeName(name):
                    items.append((key, text_constant(name)))
        return self._record(items)

    def _record(self, items: Items) -> Sql:
        """Return an object for each row of the page, joined to it as a record."""
        if not fits_record(items):
            return json_object(items)
        alias = ident(f"@j{len(self._joins)}")
        self._joins.append(
            template(", lateral (select {items}) {alias}", items=record_items(items), alias=alias)
        )
        return alias

    def _joined_rows(self) -> Sql:
        """Return the rows of the page with the records that are joined to them, as items of `from`. Called last."""
        return concat(self._rows(), *self._joins)

    def _independent_field(self, field: FieldPlan) -> Sql:
        """Return a field that does not depend on the page."""
        match field:
            case TypeName(name):
                return text_constant(name)
            case PageInfo(fields):
                return _page_info(fields, self._page)
            case TotalCount():
                scope = RowScope(self._aliases.next())
                return template("(select count(*) {rows})", rows=self._all_rows(scope))
            case Aggregate(fields):
                scope = RowScope(self._aliases.next())
                results = RowScope(self._aliases.next(), is_derived=True)
                return aggregate(fields, scope, results, self._all_rows(scope))
            case GroupsPlan():
                scope, group = RowScope(self._aliases.next()), RowScope(self._aliases.next())
                return groups(field, scope, group, self._all_rows(scope))
        raise TypeError(field)

    def _all_rows(self, scope: RowScope) -> Sql:
        """Return `from` and `where` for the rows of all pages."""
        field = self._field
        conditions = _conditions(field.source, field.condition, scope, self._outer)
        return template(
            "from {rows}{where}",
            rows=from_item(field.source, scope, self._outer),
            where=where(conditions),
        )

    def _rows(self) -> Sql:
        """Return the rows of the page as an item of `from`. Called last, when the columns in use are known."""
        field, scope, alias = self._field, RowScope(self._aliases.next()), ident(self._page.alias)
        conditions = _conditions(field.source, field.condition, scope, self._outer)
        if field.cursor is not None:
            conditions.append(after_cursor(self._read_order, field.cursor, scope))
        read = template(
            "select {columns} from {rows}{where}{order}",
            columns=self._page.select_list(scope.alias, has_row=isinstance(field.source, MaterializedCall)),
            rows=from_item(field.source, scope, self._outer),
            where=where(conditions),
            order=ordering(self._read_order, scope),
        )
        if field.row_bound is not None:
            # A literal limit around the parameters lets Postgres use one plan for many pages (workers/sql/pages.py).
            read = template(
                'select * from ({read} limit {bound}) "@r"', read=read, bound=number(field.row_bound)
            )
        read = template(
            "{read} limit {limit}{next_row}{offset}",
            read=read,
            limit=self._limit(),
            next_row=raw(" + 1") if self._page_info_fields else EMPTY,
            offset=optional(" offset {value}", None if field.offset is None else operand(field.offset)),
        )
        if not self._page_info_fields and not field.is_backward:
            return template("({read}) {alias}", read=read, alias=alias)
        return template(
            '(select "@i".*, row_number() over () as "@n", count(*) over () as "@c"'
            ' from ({read}) "@i"{order}) {alias}',
            read=read,
            order=raw(' order by "@n" desc') if field.is_backward else EMPTY,
            alias=alias,
        )

    def _limit(self) -> Sql:
        limit = self._field.limit
        return number(limit) if isinstance(limit, int) else operand(limit)

    def _page_column(self, name: str) -> Sql:
        return qualified(self._page.alias, name)

    def _is_on_page(self) -> Sql:
        """Return the condition that a numbered row belongs to the page: one row more may have been read."""
        return template("{number} <= {limit}", number=self._page_column(_ROW_NUMBER), limit=self._limit())

    def _cursor(self) -> Sql:
        return base64_of([order_value(term, self._page) for term in self._field.order])

    def _page_info_value(self, field: PageInfoField) -> Sql:
        """Return a value of `PageInfo`. A backward page is numbered from its end."""
        is_backward = self._field.is_backward
        match field:
            case PageInfoField.HAS_NEXT:
                return self._has_rows_before_first() if is_backward else self._has_rows_beyond()
            case PageInfoField.HAS_PREVIOUS:
                return self._has_rows_beyond() if is_backward else self._has_rows_before_first()
            case PageInfoField.START:
                return self._cursor_at(self._last_number() if is_backward else raw("1"))
        return self._cursor_at(raw("1") if is_backward else self._last_number())

    def _has_rows_beyond(self) -> Sql:
        """Return whether a row was read beyond the page."""
        return template(
            "coalesce(max({count}) > {limit}, false)",
            count=self._page_column(_ROW_COUNT),
            limit=self._limit(),
        )

    def _has_rows_before_first(self) -> Sql:
        """Return whether rows precede the page: the first of all rows is not the row numbered 1."""
        field = self._field
        if (field.cursor is None and field.offset is None) or not field.primary_key:
            return raw("false")
        scope = RowScope(self._aliases.next())
        return template(
            "coalesce(bool_or((({first_key}) <> (select {key} {rows}{order} limit 1)))"
            " filter (where {number} = 1), false)",
            first_key=join(", ", [self._page.column(name) for name in field.primary_key]),
            key=join(", ", [scope.column(name) for name in field.primary_key]),
            rows=self._all_rows(scope),
            order=ordering(self._read_order, scope),
            number=self._page_column(_ROW_NUMBER),
        )

    def _last_number(self) -> Sql:
        return template("least({count}, {limit})", count=self._page_column(_ROW_COUNT), limit=self._limit())

    def _cursor_at(self, row_number: Sql) -> Sql:
        return template(
            "max({cursor}) filter (where {number} = {row_number} and {is_on_page})",
            cursor=self._cursor(),
            number=self._page_column(_ROW_NUMBER),
            row_number=row_number,
            is_on_page=self._is_on_page(),
        )


def _page_info(fields: FieldPlans, results: RowScope) -> Sql:
    items: Items = []
    for key, child in fields:
        match child:
            case TypeName(name):
                items.append((key, text_constant(name)))
            case PageInfoField():
                items.append((key, results.column(child.value)))
    return json_object(items)
