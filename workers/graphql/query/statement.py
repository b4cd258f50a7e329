"""The statement of a root field: text with its parameters; its one row holds the finished JSON, or null. Pure."""

from typing import assert_never

from workers.graphql.plan.tree import ComputedValue, Connection, Delete, Insert, Root, Row, Update
from workers.graphql.query.fields import called_function, connection, row
from workers.graphql.query.scope import Aliases
from workers.graphql.query.values import shown
from workers.graphql.query.writes import delete, insert, update
from workers.sql.compose import Param, Sql, concat, raw, render


def statement_of(root: Root) -> tuple[str, tuple[Param, ...]]:
    """Give the text of a root field's statement and its parameters, slots among them."""
    return render(_written(root, Aliases()))


def _written(root: Root, aliases: Aliases) -> Sql:
    match root:
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
