"""Parse a document and check what can be checked without a schema. Pure.

In: text and limits. Out: a `Document`; `choose_operation` returns the operation to run. graphql-core parses. Its
validation runs after planning (`validation/`): the plan step checks the fields that it reaches, one root
field at a time, so that an error in one does not fail the others.
The parser is recursive, so bracket depth and length are checked before it runs.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from graphql import GraphQLSyntaxError, OperationType, parse
from graphql.language import (
    DefinitionNode,
    DocumentNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    Node,
    OperationDefinitionNode,
    SelectionSetNode,
    VariableNode,
)

from workers.graphql.errors import GraphQLFailure, QueryTooComplex
from workers.graphql.parse.complexity import bracket_depth, check_complexity
from workers.graphql.parse.limits import OperationLimits

_TOO_MANY_TOKENS = "Syntax Error: Document contains more than"
"""Beginning of the parser's message when the limit on tokens is exceeded."""
_DEEPEST_CHAIN = 50
_MOST_NESTED = 120
"""Depth of nested brackets; the parser makes several recursive calls for each."""


@dataclass(frozen=True, slots=True)
class Document:
    """The operations and fragments of a document."""

    operations: tuple[OperationDefinitionNode, ...]
    fragments: dict[str, FragmentDefinitionNode]
    variables: tuple[str, ...]
    """Names of the variables that are used anywhere."""
    fields: int = 0
    """Number of fields of the largest operation; the fields of a fragment count wherever it is spread."""
    others: tuple[DefinitionNode, ...] = ()
    """Definitions that are neither operations nor the first fragment of a name; validation rejects them."""


def parse_document(text: str, limits: OperationLimits) -> Document:
    """Parse a document and check it without a schema.

    Raises: GraphQLFailure if it is too large, does not parse, or its fragments form a cycle.
    """
    if len(text) > limits.document or len(text.encode(errors="replace")) > limits.document:
        raise QueryTooComplex(f"The document is longer than {limits.document} bytes", "max_document")
    if bracket_depth(text) > _MOST_NESTED:
        raise QueryTooComplex("The document is nested too deeply")
    try:
        node = parse(text, no_location=True, max_tokens=limits.tokens)
    except GraphQLSyntaxError as error:
        if error.message.startswith(_TOO_MANY_TOKENS):
            raise QueryTooComplex(
                f"The document has more than {limits.tokens} words and signs", "max_tokens"
            ) from None
        raise GraphQLFailure(error.message) from None
    fragments = _fragments(node)
    _check_fragments(fragments)
    operations = tuple(
        definition for definition in node.definitions if isinstance(definition, OperationDefinitionNode)
    )
    _check_operations(operations)
    fields = max((check_complexity(operation, fragments, limits) for operation in operations), default=0)
    definition_ids = {id(definition) for definition in (*operations, *fragments.values())}
    others = tuple(definition for definition in node.definitions if id(definition) not in definition_ids)
    return Document(operations, fragments, tuple(dict.fromkeys(_variables(node))), fields, others)


def choose_operation(document: Document, name: str | None) -> OperationDefinitionNode:
    """Return the operation with a name, or the only one. Raises: GraphQLFailure."""
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
    """Return whether an operation is a mutation (else a query). Raises: GraphQLFailure for a subscription."""
    if operation.operation is OperationType.SUBSCRIPTION:
        raise GraphQLFailure("Subscriptions are not supported")
    return operation.operation is OperationType.MUTATION


def _fragments(node: DocumentNode) -> dict[str, FragmentDefinitionNode]:
    fragments: dict[str, FragmentDefinitionNode] = {}
    for definition in node.definitions:
        if isinstance(definition, FragmentDefinitionNode):
            fragments.setdefault(definition.name.value, definition)
    return fragments


def _check_operations(operations: tuple[OperationDefinitionNode, ...]) -> None:
    names = [operation.name.value if operation.name else None for operation in operations]
    if None in names and len(names) > 1:
        raise GraphQLFailure("Anonymous operations must be the only defined operation")
    if len(set(names)) < len(names):
        raise GraphQLFailure("Operation names must be unique")


def _check_fragments(fragments: dict[str, FragmentDefinitionNode]) -> None:
    """Check each fragment, used or not, for cycles and for chains of more than `_DEEPEST_CHAIN` fragments."""
    spreads = {name: tuple(dict.fromkeys(_spreads(node.selection_set))) for name, node in fragments.items()}
    heights: dict[str, int] = {}
    for name in fragments:
        _height(name, spreads, heights, ())


def _height(
    name: str, spreads: dict[str, tuple[str, ...]], heights: dict[str, int], above: tuple[str, ...]
) -> int:
    """Return the length of the longest chain of spreads that starts at a fragment, itself included."""
    if name in above:
        raise GraphQLFailure("Found a cycle between fragments")
    if len(above) >= _DEEPEST_CHAIN:
        raise GraphQLFailure(f"Fragment cycle depth is greater than {_DEEPEST_CHAIN}")
    if name not in heights:
        below = (_height(spread, spreads, heights, (*above, name)) for spread in spreads.get(name, ()))
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
    """Yield the name of each variable that is used in any node."""
    pending: list[object] = [node]
    while pending:
        item = pending.pop()
        if isinstance(item, VariableNode):
            yield item.name.value
        elif isinstance(item, Node):
            pending.extend(getattr(item, key) for key in item.keys)
        elif isinstance(item, tuple | list):
            pending.extend(item)
