"""Find the relations and functions that the plan of a live query names. Pure. Source: docs/graphql-subscriptions.md."""

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass

from workers.graphql.model import FunctionField, Name, RoleSchema
from workers.graphql.plan.conditions import RelatedRows
from workers.graphql.plan.tree import SqlFunctionCall, TableRows


def names_in_plans(plans: Iterable[object], schema: RoleSchema) -> tuple[list[Name], list[Name]]:
    """Return the tables and views that plans read, those whose rows their functions return, and the functions; without duplicates."""
    targets = {
        function.sql: function.target for function in _functions(schema) if function.target is not None
    }
    relations: dict[Name, None] = {}
    functions: dict[Name, None] = {}
    for node in _nodes(plans):
        match node:
            case TableRows(table) | RelatedRows(table=table):
                relations[table] = None
            case SqlFunctionCall(function=function):
                functions[function] = None
                if function in targets:
                    relations[targets[function]] = None
    return list(relations), list(functions)


def _functions(schema: RoleSchema) -> Iterator[FunctionField]:
    yield from (field.function for field in schema.query.values() if field.function is not None)
    for entity in schema.entities.values():
        yield from entity.functions.values()


def _nodes(plans: Iterable[object]) -> Iterator[object]:
    """Yield every node of plans, depth first."""
    pending = list(plans)
    while pending:
        item = pending.pop()
        if isinstance(item, tuple | list):
            pending.extend(item)
        elif is_dataclass(item):
            yield item
            pending.extend(getattr(item, member.name) for member in fields(item))
