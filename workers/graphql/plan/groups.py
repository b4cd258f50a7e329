"""`groups`: the rows of a connection by the values of some columns, with figures over each group. Pure.

Keys and figures get names of their own, so that conditions and order speak of them as of columns.
Source: docs/graphql.md, "Groups".
"""

from dataclasses import dataclass, field

from workers.graphql.errors import GraphQLFailure
from workers.graphql.model import Column, Entity, ValueType
from workers.graphql.plan.aggregates import folded_fields
from workers.graphql.plan.figures import FOLDED, NUMBERS
from workers.graphql.plan.filters import of_column, together
from workers.graphql.plan.inputs import NOTHING, Given, Kind
from workers.graphql.plan.order import direction_of, figures_of, is_orderable
from workers.graphql.plan.paging import plain_page
from workers.graphql.plan.selection import TYPE_NAME, Planning, Selected, arguments, quoted, required, select
from workers.graphql.plan.tree import (
    ColumnValue,
    Condition,
    Field,
    Fields,
    Figure,
    Fold,
    GroupCount,
    GroupKey,
    Groups,
    Order,
    TypeName,
)
from workers.graphql.plan.values import extra_keys, invalid

ARGUMENTS = ("groupBy", "having", "orderBy", "first", "offset")
_COUNT = ValueType("Int", "int8")
_NUMBER = ValueType("Float", "numeric")


@dataclass(slots=True)
class _Names:
    """Keys and figures in use: what they are, and how they are called."""

    keys: dict[str, str]
    """By column in the database."""
    figures: dict[Figure, str] = field(default_factory=dict)

    def figure(self, operator: str, column: str, *, is_boolean: bool = False) -> str:
        """Give the name of a figure, a new one where it was not in use."""
        wanted = Figure(operator, column, is_boolean)
        return self.figures.setdefault(wanted, f"@f{len(self.figures)}")


def plan_groups(planning: Planning, selected: Selected, entity: Entity) -> Groups:
    """Plan `groups` of a connection. Raises: GraphQLFailure."""
    given = arguments(planning, selected.node, ARGUMENTS)
    columns = _key_columns(entity, required(given, "groupBy"))
    names = _Names({column.sql: f"@k{place}" for place, column in enumerate(columns)})
    limit, offset, expected = plain_page(planning, entity, given)
    planning.spend(expected)
    condition = _having(planning, entity, names, given.get("having", NOTHING))
    order = _order(entity, names, given.get("orderBy", NOTHING))
    fields = _fields(planning, selected, entity, names)
    by_key = [Order(names.keys[column.sql], column.type.sql) for column in columns]
    return Groups(
        keys=tuple((name, column) for column, name in names.keys.items()),
        figures=tuple((name, figure) for figure, name in names.figures.items()),
        fields=fields,
        order=(*order, *by_key),
        limit=limit,
        condition=condition,
        offset=offset,
    )


def _key_columns(entity: Entity, given: Given) -> list[Column]:
    found: dict[str, Column] = {}
    for one in given.as_list():
        name = one.look()
        column = entity.columns.get(name) if isinstance(name, str) else None
        if column is None or not is_orderable(column):
            raise invalid(f"{entity.name}GroupColumn")
        found[column.sql] = column
    if not found:
        raise GraphQLFailure("groupBy must name at least one column")
    return list(found.values())


def _having(planning: Planning, entity: Entity, names: _Names, given: Given) -> Condition | None:
    if given.is_nothing:
        return None
    parts: list[Condition] = []
    for operator, column, type_, value in figures_of(entity, given, f"{entity.name}GroupHaving"):
        name = names.figure(operator, column, is_boolean=type_ == "boolean")
        if operator == "count":
            of = _COUNT
        elif operator in NUMBERS:
            of = _NUMBER
        else:
            of = next(one.type for one in entity.columns.values() if one.sql == column)
        parts += of_column(planning, Column(name, name, of, is_nullable=True), value)
    return together(parts)


def _order(entity: Entity, names: _Names, given: Given) -> list[Order]:
    if given.is_nothing:
        return []
    type_name = f"{entity.name}GroupOrderBy"
    found: list[Order] = []
    for one in given.as_list():
        if one.is_nothing:
            continue
        if one.kind is not Kind.OBJECT:
            raise invalid(type_name)
        entries = dict(one.entries())
        by_key = entries.pop("key", NOTHING)
        if not by_key.is_nothing:
            found += _by_key(entity, names, by_key)
        for operator, column, type_, value in figures_of(entity, Given(entries), type_name):
            name = names.figure(operator, column, is_boolean=type_ == "boolean")
            found.append(Order(name, type_, *direction_of(value)))
    return found


def _by_key(entity: Entity, names: _Names, given: Given) -> list[Order]:
    type_name = f"{entity.name}GroupKeyOrderBy"
    if given.kind is not Kind.OBJECT:
        raise invalid(type_name)
    found: list[Order] = []
    for name, value in given.entries().items():
        column = entity.columns.get(name)
        if column is None or not column.is_selectable:
            raise extra_keys(type_name, [name])
        if not value.is_nothing:
            found.append(Order(_key(names, column), column.type.sql, *direction_of(value)))
    return found


def _key(names: _Names, column: Column) -> str:
    name = names.keys.get(column.sql)
    if name is None:
        raise GraphQLFailure(f"{quoted(column.name)} is not among the columns of groupBy")
    return name


# --- what is answered ----------------------------------------------------------------------------------------


def _fields(planning: Planning, selected: Selected, entity: Entity, names: _Names) -> Fields:
    type_name = f"{entity.name}Group"
    found: list[tuple[str, Field]] = []
    for one in select(planning, selected.sets, type_name):
        arguments(planning, one.node, ())
        if one.name == "key":
            found.append((one.key, GroupKey(_key_fields(planning, one, entity, names))))
        elif one.name == "count":
            found.append((one.key, GroupCount(names.figure("count", ""))))
        elif one.name in FOLDED:
            found.append((one.key, Fold(one.name, _folded(planning, one, entity, names))))
        elif one.name == TYPE_NAME:
            found.append((one.key, TypeName(type_name)))
        else:
            raise GraphQLFailure(f"Unknown field {quoted(one.name)} on type {type_name}")
    return tuple(found)


def _key_fields(planning: Planning, selected: Selected, entity: Entity, names: _Names) -> Fields:
    type_name = f"{entity.name}GroupKey"
    found: list[tuple[str, Field]] = []
    for one in select(planning, selected.sets, type_name):
        arguments(planning, one.node, ())
        column = entity.columns.get(one.name)
        if one.name == TYPE_NAME:
            found.append((one.key, TypeName(type_name)))
        elif column is None or not column.is_selectable:
            raise GraphQLFailure(f"Unknown field {quoted(one.name)} on type {type_name}")
        else:
            found.append((one.key, ColumnValue(_key(names, column), column.type)))
    return tuple(found)


def _folded(planning: Planning, selected: Selected, entity: Entity, names: _Names) -> Fields:
    found: list[tuple[str, Field]] = []
    for key, one in folded_fields(planning, selected, entity):
        if isinstance(one, ColumnValue):
            name = names.figure(selected.name, one.column, is_boolean=one.type.scalar == "Boolean")
            found.append((key, ColumnValue(name, one.type)))
        else:
            found.append((key, one))
    return tuple(found)
