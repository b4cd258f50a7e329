"""The schema of a role as a definition: its text, and the rules of the specification held against documents.

Nothing here lies on the way of a usual request: the text is made when someone asks for it (`GET ...?sdl`), the executable
schema when `graphql.strict` has documents checked, and both are kept as long as the role's schema.
"""

from functools import cached_property

from ariadne import make_executable_schema
from graphql import GraphQLSchema, validate
from graphql.language import DocumentNode

from workers.graphql.errors import GraphQLFailure, Invalid
from workers.graphql.introspection.introspector import Introspector
from workers.graphql.model import Schema
from workers.graphql.parse.document import Document

_MOST_ERRORS = 20


class Definition:
    """The definition of one role's schema."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    @cached_property
    def text(self) -> str:
        """Give what introspection tells, in the definition language. Raises: GraphQLFailure if it is switched off."""
        return Introspector(self._schema).sdl()

    @cached_property
    def _executable(self) -> GraphQLSchema:
        """Give everything that documents may speak of, whether introspection tells it or not."""
        return make_executable_schema(Introspector(self._schema, is_whole=True).sdl())

    def check(self, document: Document) -> None:
        """Hold a document against all rules of the specification. Raises: Invalid with what is wrong in it."""
        node = DocumentNode(definitions=(*document.operations, *document.fragments.values()))
        errors = validate(self._executable, node, max_errors=_MOST_ERRORS)
        if errors:
            raise Invalid([GraphQLFailure(error.message, "GRAPHQL_VALIDATION_FAILED") for error in errors])
