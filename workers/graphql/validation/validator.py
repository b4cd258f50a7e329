"""Validate the operations of one role: documents once, variables once for each shape.

In: a document, the operation to run, the keys of the root fields that cannot be planned, the variables. Out: nothing, or
the failures. A query whose root fields failed in part answers the others (section 2 of docs/reference/graphql.md), so the
failed fields are taken out of the document before it is validated.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    OperationDefinitionNode,
    SelectionSetNode,
)

from workers.graphql.errors import GraphQLFailure, InvalidDocument
from workers.graphql.introspection.introspector import Introspector
from workers.graphql.model import RoleSchema
from workers.graphql.parse.document import Document
from workers.graphql.validation.lazy_schema import LazySchema
from workers.graphql.validation.rules import DocumentVerdict, validate_document
from workers.graphql.validation.subscription_types import with_subscriptions
from workers.graphql.validation.variables import check_variables


class Validator:
    """Validates against the schema of one role, which is described at the first use."""

    def __init__(self, schema: RoleSchema) -> None:
        self._role_schema = schema

    @cached_property
    def schema(self) -> LazySchema:
        """Return everything that documents may use, whether introspection shows it or not."""
        described = Introspector(self._role_schema, is_whole=True).described
        return LazySchema(with_subscriptions(described, self._role_schema), has_lenient_enums=True)

    @property
    def is_ready(self) -> bool:
        """Return whether the schema has been described: the first check of a role takes longer than the others."""
        return "schema" in self.__dict__

    def verdict(
        self, document: Document, operation: OperationDefinitionNode, failed: Collection[str] = ()
    ) -> DocumentVerdict:
        """Validate a document without the root fields of the operation with the response keys in `failed`."""
        if not failed and operation in document.operations:
            whole = (*document.operations, *document.fragments.values(), *document.others)
            return validate_document(self.schema, DocumentNode(definitions=whole), operation)
        part = _without(operation, failed)
        reached = _reached(document, part.selection_set)
        return validate_document(self.schema, DocumentNode(definitions=(part, *reached.values())), part)

    def check(
        self, verdict: DocumentVerdict, operation: OperationDefinitionNode, variables: Mapping[str, object]
    ) -> None:
        """Check a request by the verdict on its document. Raises: InvalidDocument, GraphQLFailure."""
        if verdict.failures:
            raise InvalidDocument(verdict.failures)
        for name in sorted(verdict.undeclared):
            if name not in variables:
                raise GraphQLFailure(f"Variable '${name}' is not defined.", "GRAPHQL_VALIDATION_FAILED")
        check_variables(self.schema, operation, variables, verdict.mistyped)


def _without(operation: OperationDefinitionNode, failed: Collection[str]) -> OperationDefinitionNode:
    """Return an operation without the root fields that have one of the response keys."""
    return OperationDefinitionNode(
        operation=operation.operation,
        name=operation.name,
        variable_definitions=operation.variable_definitions,
        directives=operation.directives,
        selection_set=SelectionSetNode(
            selections=tuple(
                node
                for node in operation.selection_set.selections
                if not isinstance(node, FieldNode) or (node.alias or node.name).value not in failed
            )
        ),
    )


def _reached(document: Document, selection_set: SelectionSetNode) -> dict[str, FragmentDefinitionNode]:
    """Return the fragments that a selection set spreads, also inside one another."""
    reached: dict[str, FragmentDefinitionNode] = {}
    pending = [selection_set]
    while pending:
        for name in _spreads(pending.pop()):
            fragment = document.fragments.get(name)
            if fragment is not None and name not in reached:
                reached[name] = fragment
                pending.append(fragment.selection_set)
    return reached


def _spreads(selection_set: SelectionSetNode) -> Iterator[str]:
    for node in selection_set.selections:
        if isinstance(node, FragmentSpreadNode):
            yield node.name.value
        elif (below := getattr(node, "selection_set", None)) is not None:
            yield from _spreads(below)
