"""Fields, conditions and orders as SQL. Pure.

Source: docs/reference/rest.md, sections 7, 8, 11, 23.
"""

from collections.abc import Mapping
from types import MappingProxyType

from workers.rest.model import (
    EmbedNull,
    PlannedColumn,
    PlannedCondition,
    PlannedField,
    PlannedFilter,
    PlannedOrder,
    PlannedRelated,
)
from workers.rest.query.joins import RowReference, join_related, row_reference
from workers.sql.compose import (
    EMPTY,
    ParameterSlot,
    Sql,
    concat,
    ident,
    join,
    number,
    param,
    qualified,
    raw,
    type_name,
)
from workers.sql.operators import IS_WORDS, OPERATORS, array_literal

_IS_SQL = {word: raw(f" is {sql}") for word, sql in IS_WORDS.items()}
_COMPARE = {name: raw(f" {operator.sql} ") for name, operator in OPERATORS.items()}
_FUNCTION = {name: raw(f"pg_catalog.{operator.function}(") for name, operator in OPERATORS.items()}
_AGGREGATE = {name: raw(f"pg_catalog.{name}(") for name in ("sum", "avg", "count", "max", "min")} | {
    f"{name}(distinct)": raw(f"pg_catalog.{name}(distinct ") for name in ("sum", "avg", "count", "max", "min")
}


_NONE: Mapping[PlannedField, int] = MappingProxyType({})
_DIRECTIONS = {None: EMPTY, True: raw(" desc"), False: raw(" asc")}
_NULLS = {None: EMPTY, "first": raw(" nulls first"), "last": raw(" nulls last")}


def field_sql(place: RowReference, field: PlannedField) -> Sql:
    """Return the value of a field: column or computed field, with its JSON path and cast."""
    if field.function is None and not field.path and field.cast is None:
        return concat(place.qualifier, raw("."), ident(field.name))
    value = _value(place, field)
    return concat(raw("cast("), value, raw(" as "), type_name(field.cast), raw(")")) if field.cast else value


def _value(place: RowReference, field: PlannedField) -> Sql:
    if field.function is not None:
        base = concat(qualified(*field.function), raw("("), place.row, raw(")"))
    else:
        base = concat(place.qualifier, raw("."), ident(field.name))
    if not field.path:
        return base
    if not field.is_json:
        base = concat(raw("pg_catalog.to_jsonb("), base, raw(")"))
    for step in field.path:
        arrow = raw("->>(") if step.as_text else raw("->(")
        kind = raw("::int)") if isinstance(step.key, int) else raw(")")
        base = concat(base, arrow, param(str(step.key)), kind)
    return concat(raw("("), base, raw(")"))


def column_sql(place: RowReference, column: PlannedColumn, name: str) -> Sql:
    """Return a selected column under its name."""
    if column.field.name == "*":
        return _star(place, column, name)
    value = field_sql(place, column.field)
    if column.field.to_json is not None and not column.field.path:
        value = concat(qualified(*column.field.to_json), raw("("), value, raw(")"))
    if column.cast:
        value = concat(raw("cast("), value, raw(" as "), type_name(column.cast), raw(")"))
    if column.aggregate:
        value = concat(_AGGREGATE[column.aggregate], value, raw(")"))
    if column.aggregate_cast:
        value = concat(raw("cast("), value, raw(" as "), type_name(column.aggregate_cast), raw(")"))
    is_bare = not (
        column.alias or column.cast or column.aggregate or column.field.path or column.field.function
    )
    return value if is_bare and column.field.to_json is None else concat(value, raw(" as "), ident(name))


def _star(place: RowReference, column: PlannedColumn, name: str) -> Sql:
    """Return all columns; `count()`; or, carried by a spread whose parent counts, something to count."""
    if column.aggregate == "count":
        value = raw("pg_catalog.count(*)")
        if column.aggregate_cast:
            value = concat(raw("cast("), value, raw(" as "), type_name(column.aggregate_cast), raw(")"))
        return concat(value, raw(" as "), ident(name))
    if column.alias:
        return concat(raw("1 as "), ident(column.alias))
    return concat(place.qualifier, raw(".*"))


def aggregate_sql(value: Sql, aggregate: str | None, cast: str | None) -> Sql:
    """Aggregate a value that a spread lifted."""
    if aggregate:
        value = concat(_AGGREGATE[aggregate], value, raw(")"))
    return concat(raw("cast("), value, raw(" as "), type_name(cast), raw(")")) if cast else value


def where_sql(place: RowReference, conditions: tuple[PlannedCondition, ...], *joins: Sql) -> Sql:
    """Return ` where ...` of all conditions, or nothing."""
    parts = [*joins, *[condition_sql(place, condition) for condition in conditions]]
    if len(parts) == 1:
        return concat(raw(" where "), parts[0])
    return concat(raw(" where "), join(" and ", parts)) if parts else EMPTY


def condition_sql(place: RowReference, condition: PlannedCondition) -> Sql:
    """Return one condition."""
    if isinstance(condition, PlannedFilter):
        return _filter(place, condition)
    if isinstance(condition, EmbedNull):
        test = raw(" is distinct from null") if condition.has_match else raw(" is not distinct from null")
        return concat(ident(condition.embed), test)
    if isinstance(condition, PlannedRelated):
        return _related(place, condition)
    branches = [condition_sql(place, branch) for branch in condition.branches]
    join_related = join(" and ", branches) if condition.operator == "and" else join(" or ", branches)
    return concat(raw("not (") if condition.negated else raw("("), join_related, raw(")"))


def having_sql(place: RowReference, conditions: tuple[PlannedCondition, ...]) -> Sql:
    """Return ` having ...` of all conditions, or nothing."""
    parts = [condition_sql(place, condition) for condition in conditions]
    return concat(raw(" having "), join(" and ", parts)) if parts else EMPTY


def distinct_sql(place: RowReference, fields: tuple[PlannedField, ...] | None) -> Sql:
    """Return `distinct `, of some fields if they are named, or nothing."""
    if fields is None:
        return EMPTY
    if not fields:
        return raw("distinct ")
    listed = join(", ", [field_sql(place, field) for field in fields])
    return concat(raw("distinct on ("), listed, raw(") "))


def _related(parent: RowReference, condition: PlannedRelated) -> Sql:
    """Return whether some related row meets the conditions."""
    name = ident(condition.alias)
    place = row_reference(name)
    source = concat(qualified(*condition.source), raw(" as "), name)
    source, ties = join_related(condition.relationship, source, condition.alias, place, parent)
    where = where_sql(place, condition.where, *ties)
    return concat(
        raw("not exists (" if condition.negated else "exists ("), raw("select from "), source, where, raw(")")
    )


def _filter(place: RowReference, condition: PlannedFilter) -> Sql:
    if condition.aggregate == "count" and condition.field.name == "*":
        left = raw("pg_catalog.count(*)")
    else:
        left = field_sql(place, condition.field)
        if condition.aggregate:
            left = aggregate_sql(left, condition.aggregate, None)
    test = _test(place, left, condition)
    return concat(raw("not ("), test, raw(")")) if condition.negated else test


def _test(place: RowReference, left: Sql, condition: PlannedFilter) -> Sql:
    name, operand = condition.operator, condition.operand
    if isinstance(operand, PlannedField):
        return concat(left, _COMPARE[name], field_sql(place, operand))
    if name == "is":
        return concat(left, _IS_SQL[str(operand)])
    if name == "in":
        return concat(left, raw(" = any("), _in_operand(condition), raw(")"))
    if OPERATORS[name].function:
        return _search(left, condition)
    if isinstance(operand, tuple):
        raise TypeError(f"{name} takes one operand")
    value = param(operand)
    converter = condition.field.from_text
    if converter is not None and OPERATORS[name].converts and not condition.field.path:
        value = concat(qualified(*converter), raw("("), value, raw("::text)"))
    if condition.quantifier:
        value = concat(raw("any(") if condition.quantifier == "any" else raw("all("), value, raw(")"))
    return concat(left, _COMPARE[name], value)


def _in_operand(condition: PlannedFilter) -> Sql:
    operand = condition.operand
    if isinstance(operand, PlannedField):
        raise TypeError("in takes a list")
    items = param(array_literal(operand)) if isinstance(operand, tuple) else param(operand)
    converter = condition.field.from_text
    if converter is None or condition.field.path:
        return items
    return concat(
        raw("array(select "),
        qualified(*converter),
        raw("(hw_item) from unnest("),
        items,
        raw("::text[]) as hw_item)"),
    )


def _search(left: Sql, condition: PlannedFilter) -> Sql:
    """Return a full-text test; a left side of another type is converted to tsvector."""
    config = concat(param(condition.config), raw("::regconfig, ")) if condition.config else EMPTY
    if not condition.field.is_tsvector or condition.field.path:
        left = concat(raw("pg_catalog.to_tsvector("), config, left, raw(")"))
    operand = condition.operand
    if not isinstance(operand, str | ParameterSlot):
        raise TypeError("a full-text search takes one operand")
    return concat(left, raw(" @@ "), _FUNCTION[condition.operator], config, param(operand), raw(")"))


def order_sql(
    place: RowReference,
    terms: tuple[PlannedOrder, ...],
    embedded: dict[str, list[PlannedOrder]],
    grouped: Mapping[PlannedField, int] = _NONE,
) -> Sql:
    """Return ` order by ...`, or nothing. Terms of embeds name what their joins carry (`hw_order_<n>`).

    `grouped` are JSON paths by which rows are grouped, with their place in the select list. A term names the place: the keys of a
    path are parameters, so Postgres does not see that the same path written twice is one expression.
    """
    if not terms:
        return EMPTY
    return concat(raw(" order by "), join(", ", [_term(place, term, embedded, grouped) for term in terms]))


def order_value(place: RowReference, term: PlannedOrder, embedded: dict[str, list[PlannedOrder]]) -> Sql:
    """Return the value by which a term orders."""
    if term.embed is not None and term.is_lifted:
        return concat(ident(term.embed), raw("."), ident(term.field.name))
    if term.embed is not None:
        carried = order_name(embedded[term.embed].index(term))
        return concat(ident(term.embed), raw("."), ident(carried))
    return field_sql(place, term.field)


def _term(
    place: RowReference,
    term: PlannedOrder,
    embedded: dict[str, list[PlannedOrder]],
    grouped: Mapping[PlannedField, int],
) -> Sql:
    if term.embed is not None:
        value = order_value(place, term, embedded)
    elif term.field in grouped:
        value = number(grouped[term.field])
    else:
        value = field_sql(place, term.field)
    return concat(value, _DIRECTIONS[term.descending], _NULLS[term.nulls])


def order_name(place: int) -> str:
    """Name the column of a join by which its parent orders."""
    return f"hw_order_{place}"
