"""The schema of a role in the schema definition language (SDL), and validation of documents against it.

A usual request uses neither. The text is built for `GET ...?sdl`; the executable schema for `graphql.strict`, which
validates documents by all rules of the specification. Both are cached as long as the role's schema.
"""

from functools import cached_property

from graphql import GraphQLSchema, validate
from graphql.language import DocumentNode

from workers.graphql.errors import GraphQLFailure, InvalidDocument
from workers.graphql.introspection.introspector import Introspector
from workers.graphql.model import RoleSchema
from workers.graphql.parse.document import Document

_MOST_ERRORS = 20


class Definition:
    """The definition of one role's schema."""

    def __init__(self, schema: RoleSchema) -> None:
        self._schema = schema

    @cached_property
    def text(self) -> str:
        """Return what introspection shows, as SDL. Raises: GraphQLFailure if introspection is switched off."""
        return Introspector(self._schema).sdl()

    @cached_property
    def _executable(self) -> GraphQLSchema:
        """Return everything that documents may use, whether introspection shows it or not."""
        from ariadne import (
            make_executable_schema,
        )  # it loads a web framework: only where documents are strict

        return make_executable_schema(Introspector(self._schema, is_whole=True).sdl())

    def check(self, document: Document) -> None:
        """Validate a document by all rules of the specification. Raises: InvalidDocument with up to 20 failures."""
        node = DocumentNode(definitions=(*document.operations, *document.fragments.values()))
        errors = validate(self._executable, node, max_errors=_MOST_ERRORS)
        if errors:
            raise InvalidDocument(
                [GraphQLFailure(error.message, "GRAPHQL_VALIDATION_FAILED") for error in errors]
            )
