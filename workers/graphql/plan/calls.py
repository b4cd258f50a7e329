"""Functions as fields: their arguments, and the call. Pure. Source: reference page "graphql", section 12."""

from collections.abc import Mapping

from workers.graphql.model import Function, Shape
from workers.graphql.plan.inputs import NOTHING, Given, Kind
from workers.graphql.plan.paging import ARGUMENTS
from workers.graphql.plan.selection import Planning, Selected, arguments
from workers.graphql.plan.tree import Call, Operand
from workers.graphql.plan.values import invalid, operand


def arguments_of(planning: Planning, selected: Selected, function: Function) -> dict[str, Given]:
    """Give the arguments of a function's field, those of its connection included. Raises: GraphQLFailure."""
    own = tuple(argument.name for argument in function.arguments)
    paging = ARGUMENTS if function.shape is Shape.ROWS else ()
    return arguments(planning, selected.node, (*own, *paging))


def call_of(
    planning: Planning, function: Function, given: Mapping[str, Given], *, takes_row: bool = False
) -> Call:
    """Plan the call with named arguments; absent ones are left to their defaults. Raises: GraphQLFailure."""
    found: list[tuple[str, Operand]] = []
    for argument in function.arguments:
        value = given.get(argument.name, NOTHING)
        if argument.is_required and value.is_nothing:
            raise invalid("NonNull")
        if value.kind is Kind.ABSENT:
            continue
        if (
            value.kind in (Kind.LIST, Kind.OBJECT)
            and not argument.type.is_list
            and argument.type.scalar != "Opaque"
        ):
            raise invalid(argument.type.scalar)
        found.append((argument.sql, operand(planning.inputs, value, argument.type)))
    return Call(function.sql, tuple(found), takes_row, function.returns_set, function.is_volatile)
