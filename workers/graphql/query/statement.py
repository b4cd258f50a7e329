"""The statements of a root field: text with parameters; the one row of the last holds the finished JSON, or null. Pure."""

from dataclasses import replace
from typing import assert_never

from workers.graphql.plan.tree import (
    Call,
    Called,
    ComputedValue,
    Connection,
    Delete,
    Insert,
    NestedInsert,
    Root,
    Row,
    Update,
)
from workers.graphql.query.fields import CALLED, called_function, connection, row
from workers.graphql.query.nested import nested_insert
from workers.graphql.query.scope import ROW, Aliases
from workers.graphql.query.values import shown
from workers.graphql.query.writes import delete, insert, update
from workers.sql.compose import Param, Sql, concat, ident, raw, render

OneStatement = ComputedValue | Connection | Delete | Insert | Row | Update
Rendered = tuple[str, tuple[Param, ...]]
"""Text and parameters, slots among them."""


def statements_of(root: Root) -> list[Rendered]:
    """Give the statements of a root field in their order; the last one answers, and mostly there is no other."""
    if isinstance(root, NestedInsert):
        return [render(each) for each in nested_insert(root, Aliases())]
    return [statement_of(root)]


def statement_of(root: OneStatement) -> Rendered:
    """Give the statement of a root field that has but one."""
    return render(_written(root, Aliases()))


def _written(root: OneStatement, aliases: Aliases) -> Sql:
    match root:
        case Connection(source=Call(is_volatile=True) as call):
            return _called_once(root, call, aliases)
        case Connection():
            return concat(raw("select "), connection(root, None, aliases))
        case Row():
            return concat(raw("select "), row(root, None, aliases))
        case ComputedValue(call, type_):
            return concat(raw("select to_json("), shown(called_function(call, None), type_), raw(")"))
        case Insert():
            return insert(root, aliases)
        case Update():
            return update(root, aliases)
        case Delete():
            return delete(root, aliases)
    assert_never(root)


def _called_once(root: Connection, call: Call, aliases: Aliases) -> Sql:
    """Give a connection over a function that does something: a count or a look at other pages does not do it again."""
    alias = ident(aliases.next())
    return concat(
        raw("with "),
        CALLED,
        raw(" as materialized (select "),
        alias,
        raw(" as "),
        ident(ROW),
        raw(" from "),
        called_function(call, None),
        raw(" as "),
        alias,
        raw(") select "),
        connection(replace(root, source=Called()), None, aliases),
    )
