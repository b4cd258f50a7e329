"""Validate a document by the rules of the GraphQL specification, chapter 5, except where the original accepts more. Pure.

The rules are graphql-core's. Left out or eased, because applications written for the original rely on it (section 11 of
docs/reference/graphql.md):
- unused variables and unused fragments are accepted;
- a key may be repeated in an input object;
- an inline fragment for another type is accepted, and planning leaves it out;
- the one field of a subscription may be chosen by `@skip` and `@include`; planning counts the fields;
- enum values may be strings (`lazy_schema.LenientEnum`);
- a variable that is not declared is accepted if the request has a value for it (`variables.py`);
- a variable may be used where another type is expected: in a query anywhere; in a mutation a scalar for a scalar, and one
  element for a list. The value is then checked against the type of its place.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    InlineFragmentNode,
    OperationDefinitionNode,
    OperationType,
    TypeInfo,
    get_named_type,
    is_leaf_type,
    specified_rules,
    type_from_ast,
    validate,
)
from graphql.type import GraphQLInputType
from graphql.validation import (
    NoUndefinedVariablesRule,
    NoUnusedFragmentsRule,
    NoUnusedVariablesRule,
    PossibleFragmentSpreadsRule,
    SingleFieldSubscriptionsRule,
    UniqueInputFieldNamesRule,
    ValidationContext,
    ValidationRule,
    VariablesInAllowedPositionRule,
)
from graphql.validation.rules.variables_in_allowed_position import allowed_variable_usage

from workers.graphql.errors import GraphQLFailure

MOST_ERRORS = 20
_EASED = frozenset(
    {
        NoUndefinedVariablesRule,
        NoUnusedFragmentsRule,
        NoUnusedVariablesRule,
        PossibleFragmentSpreadsRule,
        SingleFieldSubscriptionsRule,
        UniqueInputFieldNamesRule,
        VariablesInAllowedPositionRule,
    }
)


class VariablesInComparablePositionRule(ValidationRule):
    """In a mutation, a variable of an input object type is used only where that type is expected."""

    def leave_operation_definition(self, operation: OperationDefinitionNode, *_: Any) -> None:
        """Report the variables of an operation that are used where a value of another kind is expected."""
        if operation.operation is not OperationType.MUTATION:
            return
        for use in _mistyped(self.context, operation):
            if not (is_leaf_type(get_named_type(use.type)) and is_leaf_type(get_named_type(use.expected))):
                self.report_error(GraphQLError(use.message))


class PossibleNamedSpreadsRule(PossibleFragmentSpreadsRule):
    """A named fragment is spread only where its type is possible."""

    def enter_inline_fragment(self, node: InlineFragmentNode, *_: Any) -> None:
        """Accept an inline fragment of any type."""


RULES = (
    *(rule for rule in specified_rules if rule not in _EASED),
    PossibleNamedSpreadsRule,
    VariablesInComparablePositionRule,
)


@dataclass(frozen=True, slots=True)
class DocumentVerdict:
    """What validating a document resulted in."""

    failures: tuple[GraphQLFailure, ...]
    """The broken rules, at most `MOST_ERRORS`; empty for a valid document."""
    mistyped: frozenset[str]
    """Variables of the operation that are used where another type than theirs is expected."""
    undeclared: frozenset[str]
    """Variables that the operation uses and does not declare."""


def validate_document(
    schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode
) -> DocumentVerdict:
    """Validate a document, of which one operation is to run."""
    errors = validate(schema, document, RULES, max_errors=MOST_ERRORS)
    failures = tuple(GraphQLFailure(error.message, "GRAPHQL_VALIDATION_FAILED") for error in errors)
    if failures:
        return DocumentVerdict(failures, frozenset(), frozenset())
    context = ValidationContext(schema, document, TypeInfo(schema), lambda _: None)
    used = {usage.node.name.value for usage in context.get_recursive_variable_usages(operation)}
    declared = {node.variable.name.value for node in operation.variable_definitions or ()}
    mistyped = frozenset(use.name for use in _mistyped(context, operation))
    return DocumentVerdict((), mistyped, frozenset(used - declared))


@dataclass(frozen=True, slots=True)
class _MistypedUse:
    """A use of a variable where another type than its own is expected."""

    name: str
    type: GraphQLInputType
    expected: GraphQLInputType

    @property
    def message(self) -> str:
        return f"Variable '${self.name}' of type '{self.type}' used in position expecting type '{self.expected}'."


def _mistyped(context: ValidationContext, operation: OperationDefinitionNode) -> Iterator[_MistypedUse]:
    definitions = {node.variable.name.value: node for node in operation.variable_definitions or ()}
    for usage in context.get_recursive_variable_usages(operation):
        definition = definitions.get(usage.node.name.value)
        if definition is None or not usage.type:
            continue
        declared: Any = type_from_ast(context.schema, definition.type)
        if declared and not allowed_variable_usage(
            context.schema, declared, definition.default_value, usage.type, usage.default_value
        ):
            yield _MistypedUse(usage.node.name.value, declared, usage.type)
