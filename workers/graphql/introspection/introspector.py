"""Introspection of one role's schema: its types, built at the first query, and a cache of answers as JSON.

An `Introspector` is cached as long as its `RoleSchema`.
"""

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property

import orjson
from graphql import GraphQLSchema, build_client_schema, get_introspection_query, parse, print_schema
from graphql.language import FieldNode, FragmentDefinitionNode, OperationDefinitionNode

from schemas.bounded_cache import BoundedCache
from workers.graphql.errors import GraphQLFailure
from workers.graphql.introspection.answer import answer
from workers.graphql.introspection.describe import describe
from workers.graphql.introspection.types import TypeSystem
from workers.graphql.introspection.visibility import with_everything_shown
from workers.graphql.model import RoleSchema

_MOST_CACHED = 4
"""Answers in the cache; the full answer for a schema of 300 tables has several megabytes."""


class Introspector:
    """Answers introspection queries on one schema. `is_whole`: also on what introspection hides, for internal use."""

    def __init__(self, schema: RoleSchema, *, is_whole: bool = False) -> None:
        self._schema = with_everything_shown(schema) if is_whole else schema
        self._answers = BoundedCache[Hashable, bytes](_MOST_CACHED)

    @cached_property
    def described(self) -> TypeSystem:
        """Return all types of the schema."""
        return describe(self._schema)

    def answer(
        self,
        fields: Sequence[FieldNode],
        fragments: Mapping[str, FragmentDefinitionNode],
        variables: Mapping[str, object],
    ) -> object:
        """Return the value of a root field `__schema` or `__type`. `fields`: all nodes with its response key.

        `variables` include the defaults of the operation; absent variables are not in them.
        Raises: GraphQLFailure if the query is invalid, or introspection is switched off.
        """
        if not self._schema.has_introspection:
            raise GraphQLFailure(f'Unknown field "{fields[0].name.value}" on type Query')
        return answer(self.described, fields, fragments, variables)

    def is_cached(self, key: Hashable) -> bool:
        """Return whether the answer with a key is cached."""
        return key in self._answers

    def answer_json(
        self,
        fields: Sequence[FieldNode],
        fragments: Mapping[str, FragmentDefinitionNode],
        variables: Mapping[str, object],
        key: Hashable = None,
    ) -> bytes:
        """Return the answer as JSON. `key` identifies the query: document, operation and response key.

        Answers to queries without variables are cached by their key. Raises: as `answer`.
        """
        is_storable = key is not None and not variables
        if is_storable and (stored := self._answers.get(key)) is not None:
            return stored
        text = orjson.dumps(self.answer(fields, fragments, variables))
        if is_storable:
            self._answers.put(key, text)
        return text

    def graphql_schema(self) -> GraphQLSchema:
        """Return a graphql-core schema, built from the answer to the standard introspection query. Raises: as `answer`."""
        document = parse(get_introspection_query(), no_location=True)
        fragments = {
            node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)
        }
        operation = next(node for node in document.definitions if isinstance(node, OperationDefinitionNode))
        fields = [node for node in operation.selection_set.selections if isinstance(node, FieldNode)]
        value = self.answer(fields, fragments, {})
        return build_client_schema({"__schema": value})  # type: ignore[typeddict-item]  # it is what it should be

    def sdl(self) -> str:
        """Return the schema as SDL. Raises: as `answer`."""
        return print_schema(self.graphql_schema())
