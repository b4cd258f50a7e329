"""Plan calls of database functions that are fields. Pure. Source: docs/reference/graphql.md, section 12."""

from collections.abc import Mapping

from workers.graphql.model import FunctionField, ResultShape
from workers.graphql.plan.conditions import Operand
from workers.graphql.plan.inputs import ABSENT_ARGUMENT, ArgumentValue, InputKind
from workers.graphql.plan.paging import ARGUMENTS
from workers.graphql.plan.selection import PlanContext, SelectedField, arguments
from workers.graphql.plan.tree import SqlFunctionCall
from workers.graphql.plan.values import invalid_input, operand


def function_arguments(
    planning: PlanContext, selected: SelectedField, function: FunctionField
) -> dict[str, ArgumentValue]:
    """Return the arguments of a function's field; for a connection with its paging arguments. Raises: GraphQLFailure."""
    names = tuple(argument.name for argument in function.arguments)
    paging = ARGUMENTS if function.shape is ResultShape.ROWS else ()
    return arguments(planning, selected.node, (*names, *paging))


def plan_call(
    planning: PlanContext,
    function: FunctionField,
    arguments: Mapping[str, ArgumentValue],
    *,
    takes_row: bool = False,
) -> SqlFunctionCall:
    """Plan the call with named arguments; an absent one takes the default of the function. Raises: GraphQLFailure."""
    operands: list[tuple[str, Operand]] = []
    for argument in function.arguments:
        value = arguments.get(argument.name, ABSENT_ARGUMENT)
        if argument.is_required and value.is_missing:
            raise invalid_input("NonNull")
        if value.kind is InputKind.ABSENT:
            continue
        if (
            value.kind in (InputKind.LIST, InputKind.OBJECT)
            and not argument.type.is_list
            and argument.type.scalar != "Opaque"
        ):
            raise invalid_input(argument.type.scalar)
        operands.append((argument.sql, operand(planning.inputs, value, argument.type)))
    return SqlFunctionCall(
        function.sql, tuple(operands), takes_row, function.returns_set, function.is_volatile
    )
