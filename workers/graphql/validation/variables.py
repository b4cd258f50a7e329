"""Check the variables of a request against their declarations, before anything runs. Pure.

Source: GraphQL specification, 6.1.2 (CoerceVariableValues). Where the original accepts more, so do we (section 11 of
docs/reference/graphql.md): null for a non-null variable of a query or subscription counts as absent, and the value of a
variable that is used where another type is expected is checked against that type only.

The cache key of a plan has the shape of the variables: what is absent or null, and the keys of objects. So a plan in the
cache needs no check of these. Scalars are converted for each request where the plan uses them; `ScalarCheck` is the
question for variables whose scalars the plan does not use.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from graphql import (
    GraphQLSchema,
    NonNullTypeNode,
    OperationDefinitionNode,
    OperationType,
    VariableDefinitionNode,
    get_variable_values,
    print_ast,
)

from workers.graphql.errors import GraphQLFailure
from workers.graphql.plan.inputs import ABSENT

_CODE = "BAD_USER_INPUT"


@dataclass(frozen=True, slots=True)
class ScalarCheck:
    """The question whether a value may be given to a declared variable. Its answer is the error message, or None."""

    schema: GraphQLSchema
    definition: VariableDefinitionNode

    def __call__(self, value: object) -> str | None:
        """Return the first error of a value; None for a valid or absent one."""
        return None if value is ABSENT else _first_error(self.schema, self.definition, value)


def check_variables(
    schema: GraphQLSchema,
    operation: OperationDefinitionNode,
    variables: Mapping[str, object],
    mistyped: Collection[str],
) -> None:
    """Check that required variables have a value, and that values are of the declared types. Raises: GraphQLFailure."""
    may_be_null = operation.operation is not OperationType.MUTATION
    for definition in operation.variable_definitions or ():
        name = definition.variable.name.value
        is_required = isinstance(definition.type, NonNullTypeNode)
        if name not in variables:
            if is_required and definition.default_value is None:
                raise GraphQLFailure(
                    f"Variable '${name}' of required type '{_printed(definition)}' was not provided.", _CODE
                )
            continue
        value = variables[name]
        if value is None:
            if is_required and not may_be_null:
                raise GraphQLFailure(
                    f"Variable '${name}' of non-null type '{_printed(definition)}' must not be null.", _CODE
                )
        elif name not in mistyped and (message := _first_error(schema, definition, value)) is not None:
            raise GraphQLFailure(message, _CODE)


def _first_error(schema: GraphQLSchema, definition: VariableDefinitionNode, value: object) -> str | None:
    values: Any = get_variable_values(
        schema, (definition,), {definition.variable.name.value: value}, max_errors=1
    )
    return str(values[0].message) if isinstance(values, list) else None


def _printed(definition: VariableDefinitionNode) -> str:
    return print_ast(definition.type)
