"""Reads: rows, related rows and connections as JSON, each a sub-select inside the object around it. Pure.

A page is read by a sub-select of its own that gives only the columns in use, so that nothing is computed for rows beyond
the limit; what a client does not ask for is not in the statement. Source: reference page "graphql", section 18.
"""

from collections.abc import Sequence

from workers.graphql.plan.tree import (
    Aggregate,
    Call,
    Called,
    ColumnValue,
    ComputedValue,
    Condition,
    Connection,
    Cursor,
    Edges,
    Field,
    Fields,
    Groups,
    Join,
    NodeId,
    PageFact,
    PageInfo,
    Row,
    RowOfEdge,
    Source,
    Table,
    TotalCount,
    TypeName,
)
from workers.graphql.query.aggregates import aggregate
from workers.graphql.query.conditions import behind, condition, ordering
from workers.graphql.query.groups import groups
from workers.graphql.query.related import belongs, order_value
from workers.graphql.query.scope import ROW, Aliases, Scope, called
from workers.graphql.query.values import base64_of, json_object, node_id, operand, shown
from workers.sql.compose import EMPTY, Sql, concat, ident, join, literal, number, qualified, raw

_NUMBER, _COUNT = '"@n"', '"@c"'
"""Columns of a numbered page: place of the row as it was read, and how many were read."""
CALLED = raw('"@called"')
"""The rows of `Called`, each whole in the column `ROW`."""
Items = list[tuple[str, Sql]]


def row_items(fields: Fields, scope: Scope, aliases: Aliases) -> Items:
    """Give the fields of a row as names and expressions."""
    return [(key, _of_row(field, scope, aliases)) for key, field in fields]


def _of_row(field: Field, scope: Scope, aliases: Aliases) -> Sql:
    match field:
        case ColumnValue(column, type_):
            return shown(scope.column(column), type_)
        case TypeName(name):
            return type_name(name)
        case NodeId(table, columns):
            return node_id(table, [scope.column(column) for column in columns])
        case Row():
            return row(field, scope, aliases)
        case Connection():
            return connection(field, scope, aliases)
        case ComputedValue(call, type_):
            return shown(called_function(call, scope), type_)
    raise TypeError(field)


def row(field: Row, outer: Scope | None, aliases: Aliases) -> Sql:
    """Give one row as an object, or null."""
    scope = Scope(aliases.next())
    wheres = _wheres(field.source, field.conditions, scope, outer)
    if isinstance(field.source, Call):
        wheres.append(concat(raw("not ("), scope.row(), raw(" is null)")))
    items = row_items(field.fields, scope, aliases)
    source = concat(raw("from "), from_item(field.source, scope, outer), where(wheres), raw(" limit 1"))
    return json_object(items, source)


def connection(field: Connection, outer: Scope | None, aliases: Aliases) -> Sql:
    """Give a connection as an object."""
    return _Connection(field, outer, aliases).written()


def called_function(call: Call, outer: Scope | None) -> Sql:
    """Give the call of a function with its arguments by name; the row comes first."""
    arguments = [concat(ident(name), raw(" => "), operand(value)) for name, value in call.arguments]
    if call.takes_row and outer is not None:
        arguments.insert(0, outer.row())
    return concat(qualified(*call.function), raw("("), join(", ", arguments), raw(")"))


def type_name(name: str) -> Sql:
    """Give `__typename`."""
    return concat(literal(name), raw("::text"))


def from_item(source: Source, scope: Scope, outer: Scope | None) -> Sql:
    """Give an item of `from` under the scope's alias."""
    match source:
        case Call():
            item = called_function(source, outer)
        case Called():
            item = concat(
                raw("(select ("), ident(ROW), raw(").*, "), ident(ROW), raw(" from "), CALLED, raw(")")
            )
        case Table(table) | Join(table):
            item = qualified(*table)
    return concat(item, raw(" as "), ident(scope.alias))


def where(parts: Sequence[Sql]) -> Sql:
    """Give `where`, with a blank before it; nothing for no conditions."""
    return concat(raw(" where "), join(" and ", parts)) if parts else EMPTY


def _wheres(source: Source, what: Condition | None, scope: Scope, outer: Scope | None) -> list[Sql]:
    parts: list[Sql] = []
    if isinstance(source, Join) and outer is not None:
        parts.append(belongs(source, scope, outer))
    if what is not None:
        parts.append(condition(what, scope))
    return parts


class _Connection:
    """One connection while its statement is written."""

    def __init__(self, field: Connection, outer: Scope | None, aliases: Aliases) -> None:
        self._field, self._outer, self._aliases = field, outer, aliases
        self._page = Scope(aliases.next(), is_derived=True)
        self._facts = {
            fact
            for _, each in field.fields
            if isinstance(each, PageInfo)
            for _, fact in each.fields
            if isinstance(fact, PageFact)
        }
        order = field.order
        self._read_order = [one.reversed() for one in order] if field.is_backward else list(order)

    def written(self) -> Sql:
        """Give the connection as an object."""
        lists = [(key, each) for key, each in self._field.fields if isinstance(each, Edges)]
        if not lists and not self._facts:
            return json_object([(key, self._beside(each)) for key, each in self._field.fields])
        edges = {key: self._edges(each) for key, each in lists}
        if not self._facts:
            items = [(key, edges.get(key) or self._beside(each)) for key, each in self._field.fields]
            return json_object(items, concat(raw("from "), self._rows()))
        return self._with_facts(edges)

    def _with_facts(self, edges: dict[str, Sql]) -> Sql:
        """Give lists and facts in one pass over the page, and put the object together around it."""
        whole = Scope(self._aliases.next(), is_derived=True)
        found = [called(self._fact(fact), fact.value) for fact in sorted(self._facts)]
        found += [called(each, f"@{place}") for place, each in enumerate(edges.values())]
        source = concat(
            raw("from (select "),
            join(", ", found),
            raw(" from "),
            self._rows(),
            raw(") "),
            ident(whole.alias),
        )
        places = {key: f"@{place}" for place, key in enumerate(edges)}
        items: Items = []
        for key, each in self._field.fields:
            if key in places:
                items.append((key, whole.column(places[key])))
            elif isinstance(each, PageInfo):
                items.append((key, _page_info(each.fields, whole)))
            else:
                items.append((key, self._beside(each)))
        return json_object(items, source)

    def _edges(self, edges: Edges) -> Sql:
        items: Items = []
        for key, each in edges.fields:
            match each:
                case Cursor():
                    items.append((key, self._cursor()))
                case RowOfEdge(fields):
                    items.append((key, json_object(row_items(fields, self._page, self._aliases))))
                case TypeName(name):
                    items.append((key, type_name(name)))
        gathered = concat(raw("json_agg("), json_object(items), raw(")"))
        if self._facts:
            gathered = concat(gathered, raw(" filter (where "), self._within(), raw(")"))
        return concat(raw("coalesce("), gathered, raw(", '[]'::json)"))

    def _beside(self, field: Field) -> Sql:
        """Give what does not depend on the page."""
        match field:
            case TypeName(name):
                return type_name(name)
            case PageInfo(fields):
                return _page_info(fields, self._page)
            case TotalCount():
                scope = Scope(self._aliases.next())
                return concat(raw("(select count(*) "), self._all(scope), raw(")"))
            case Aggregate(fields):
                scope, figures = Scope(self._aliases.next()), Scope(self._aliases.next(), is_derived=True)
                return aggregate(fields, scope, figures, self._all(scope))
            case Groups():
                scope, each = Scope(self._aliases.next()), Scope(self._aliases.next())
                return groups(field, scope, each, self._all(scope))
        raise TypeError(field)

    def _all(self, scope: Scope) -> Sql:
        """Give `from` and `where` for the rows of all pages."""
        field = self._field
        parts = _wheres(field.source, field.condition, scope, self._outer)
        return concat(raw("from "), from_item(field.source, scope, self._outer), where(parts))

    def _rows(self) -> Sql:
        """Give the rows of the page as an item of `from`; called last, when it is known which columns are used."""
        field, scope, alias = self._field, Scope(self._aliases.next()), ident(self._page.alias)
        parts = _wheres(field.source, field.condition, scope, self._outer)
        if field.cursor is not None:
            parts.append(behind(self._read_order, field.cursor, scope))
        read = concat(
            raw("select "),
            self._page.given_by(scope.alias, has_row=isinstance(field.source, Called)),
            raw(" from "),
            from_item(field.source, scope, self._outer),
            where(parts),
            ordering(self._read_order, scope),
        )
        if field.reach is not None:
            read = concat(raw("select * from ("), read, raw(" limit "), number(field.reach), raw(') "@r"'))
        read = concat(
            read,
            raw(" limit "),
            self._limit(),
            raw(" + 1") if self._facts else EMPTY,
            EMPTY if field.offset is None else concat(raw(" offset "), operand(field.offset)),
        )
        if not self._facts and not field.is_backward:
            return concat(raw("("), read, raw(") "), alias)
        numbered = concat(
            raw('(select "@i".*, row_number() over () as "@n", count(*) over () as "@c" from ('),
            read,
            raw(') "@i"'),
        )
        order = raw(' order by "@n" desc') if field.is_backward else EMPTY
        return concat(numbered, order, raw(") "), alias)

    def _limit(self) -> Sql:
        limit = self._field.limit
        return number(limit) if isinstance(limit, int) else operand(limit)

    def _column(self, name: str) -> Sql:
        return concat(ident(self._page.alias), raw("."), Sql((name,)))

    def _within(self) -> Sql:
        """Give the condition that a numbered row belongs to the page: one more may have been read."""
        return concat(self._column(_NUMBER), raw(" <= "), self._limit())

    def _cursor(self) -> Sql:
        return base64_of([order_value(one, self._page) for one in self._field.order])

    def _fact(self, fact: PageFact) -> Sql:
        is_backward = self._field.is_backward
        match fact:
            case PageFact.HAS_NEXT:
                return self._has_other_side() if is_backward else self._has_more()
            case PageFact.HAS_PREVIOUS:
                return self._has_more() if is_backward else self._has_other_side()
            case PageFact.START:
                return self._cursor_at(self._last() if is_backward else raw("1"))
        return self._cursor_at(raw("1") if is_backward else self._last())

    def _has_more(self) -> Sql:
        """Tell whether a row was read beyond the page."""
        return concat(raw("coalesce(max("), self._column(_COUNT), raw(") > "), self._limit(), raw(", false)"))

    def _has_other_side(self) -> Sql:
        """Tell whether the row with which all pages begin is not the one with which this page does."""
        field = self._field
        if (field.cursor is None and field.offset is None) or not field.primary_key:
            return raw("false")
        scope = Scope(self._aliases.next())
        here = join(", ", [self._page.column(name) for name in field.primary_key])
        there = join(", ", [scope.column(name) for name in field.primary_key])
        begin = concat(
            raw("(select "),
            there,
            raw(" "),
            self._all(scope),
            ordering(self._read_order, scope),
            raw(" limit 1)"),
        )
        differs = concat(raw("(("), here, raw(") <> "), begin, raw(")"))
        first = concat(raw(" filter (where "), self._column(_NUMBER), raw(" = 1)"))
        return concat(raw("coalesce(bool_or("), differs, raw(")"), first, raw(", false)"))

    def _last(self) -> Sql:
        return concat(raw("least("), self._column(_COUNT), raw(", "), self._limit(), raw(")"))

    def _cursor_at(self, place: Sql) -> Sql:
        at = concat(self._column(_NUMBER), raw(" = "), place, raw(" and "), self._within())
        return concat(raw("max("), self._cursor(), raw(") filter (where "), at, raw(")"))


def _page_info(fields: Fields, whole: Scope) -> Sql:
    items: Items = []
    for key, each in fields:
        match each:
            case TypeName(name):
                items.append((key, type_name(name)))
            case PageFact():
                items.append((key, whole.column(each.value)))
    return json_object(items)
