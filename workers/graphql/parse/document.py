"""A document: its text parsed, and what can be said against it without a schema. Pure.

In: text and limits. Out: a `Document`, from which `operation_of` chooses. graphql-core parses; its validation is not run
(reference page "graphql", section 11): what is reached is checked by the plan step, root field by root field.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from graphql import GraphQLSyntaxError, OperationType, parse
from graphql.language import (
    DocumentNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    Node,
    OperationDefinitionNode,
    SelectionSetNode,
    VariableNode,
)

from workers.graphql.errors import GraphQLFailure, TooMuch
from workers.graphql.parse.amount import check_amount
from workers.graphql.parse.limits import Limits
from workers.graphql.parse.nesting import nesting

_TOO_MANY_TOKENS = "Syntax Error: Document contains more than"
"""How the parser says that its bound on tokens is passed."""
_DEEPEST_CHAIN = 50
_MOST_NESTED = 120
"""Brackets inside brackets; the parser takes several calls for each."""


@dataclass(frozen=True, slots=True)
class Document:
    """Operations and fragments of one text."""

    operations: tuple[OperationDefinitionNode, ...]
    fragments: dict[str, FragmentDefinitionNode]
    variables: tuple[str, ...]
    """Names of the variables that are used anywhere."""
    fields: int = 0
    """Of the largest operation; those of a fragment count wherever it is spread."""


def parse_document(text: str, limits: Limits) -> Document:
    """Parse a document and check it for itself.

    Raises: GraphQLFailure for one that is too large, does not parse, or whose fragments run in circles.
    """
    if len(text) > limits.document or len(text.encode(errors="replace")) > limits.document:
        raise TooMuch(f"The document is longer than {limits.document} bytes", "max_document")
    if nesting(text) > _MOST_NESTED:
        raise TooMuch("The document is nested too deeply")
    try:
        node = parse(text, no_location=True, max_tokens=limits.tokens)
    except GraphQLSyntaxError as error:
        if error.message.startswith(_TOO_MANY_TOKENS):
            raise TooMuch(
                f"The document has more than {limits.tokens} words and signs", "max_tokens"
            ) from None
        raise GraphQLFailure(error.message) from None
    fragments = _fragments(node)
    _check_fragments(fragments)
    operations = tuple(each for each in node.definitions if isinstance(each, OperationDefinitionNode))
    _check_operations(operations)
    fields = max((check_amount(operation, fragments, limits) for operation in operations), default=0)
    return Document(operations, fragments, tuple(dict.fromkeys(_variables(node))), fields)


def operation_of(document: Document, name: str | None) -> OperationDefinitionNode:
    """Choose the operation to run. Raises: GraphQLFailure."""
    operations = document.operations
    if name is None and len(operations) == 1:
        return operations[0]
    for operation in operations:
        if operation.name is not None and operation.name.value == name:
            break
    else:
        raise GraphQLFailure("Operation not found")
    return operation


def is_mutation(operation: OperationDefinitionNode) -> bool:
    """Tell a mutation from a query. Raises: GraphQLFailure for a subscription."""
    if operation.operation is OperationType.SUBSCRIPTION:
        raise GraphQLFailure("Subscriptions are not supported")
    return operation.operation is OperationType.MUTATION


def _fragments(node: DocumentNode) -> dict[str, FragmentDefinitionNode]:
    found: dict[str, FragmentDefinitionNode] = {}
    for each in node.definitions:
        if isinstance(each, FragmentDefinitionNode):
            found.setdefault(each.name.value, each)
    return found


def _check_operations(operations: tuple[OperationDefinitionNode, ...]) -> None:
    names = [operation.name.value if operation.name else None for operation in operations]
    if None in names and len(names) > 1:
        raise GraphQLFailure("Anonymous operations must be the only defined operation")
    if len(set(names)) < len(names):
        raise GraphQLFailure("Operation names must be unique")


def _check_fragments(fragments: dict[str, FragmentDefinitionNode]) -> None:
    """Follow each fragment through those it spreads, used or not."""
    spreads = {name: tuple(dict.fromkeys(_spreads(node.selection_set))) for name, node in fragments.items()}
    heights: dict[str, int] = {}
    for name in fragments:
        _height(name, spreads, heights, ())


def _height(
    name: str, spreads: dict[str, tuple[str, ...]], heights: dict[str, int], above: tuple[str, ...]
) -> int:
    """Give how many fragments lie below one, itself included."""
    if name in above:
        raise GraphQLFailure("Found a cycle between fragments")
    if len(above) >= _DEEPEST_CHAIN:
        raise GraphQLFailure(f"Fragment cycle depth is greater than {_DEEPEST_CHAIN}")
    if name not in heights:
        below = (_height(each, spreads, heights, (*above, name)) for each in spreads.get(name, ()))
        heights[name] = 1 + max(below, default=0)
    if len(above) + heights[name] > _DEEPEST_CHAIN:
        raise GraphQLFailure(f"Fragment cycle depth is greater than {_DEEPEST_CHAIN}")
    return heights[name]


def _spreads(selection_set: SelectionSetNode) -> Iterator[str]:
    for node in selection_set.selections:
        if isinstance(node, FragmentSpreadNode):
            yield node.name.value
        elif node.selection_set is not None:  # type: ignore[attr-defined]  # fields and inline fragments have one
            yield from _spreads(node.selection_set)  # type: ignore[attr-defined]  # as above


def _variables(node: object) -> Iterator[str]:
    """Walk through all nodes for the variables that are used."""
    waiting: list[object] = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, VariableNode):
            yield one.name.value
        elif isinstance(one, Node):
            waiting.extend(getattr(one, key) for key in one.keys)
        elif isinstance(one, tuple | list):
            waiting.extend(one)
