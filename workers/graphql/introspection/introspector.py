"""What introspection keeps of one role's schema: its types, and the bytes of the answers clients ask for again and again.

One `Introspector` lives as long as the `Schema` it was made for; types are made at the first question.
"""

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property

import orjson
from graphql import GraphQLSchema, build_client_schema, get_introspection_query, parse, print_schema
from graphql.language import FieldNode, FragmentDefinitionNode, OperationDefinitionNode

from workers.graphql.errors import GraphQLFailure
from workers.graphql.introspection.answer import answer
from workers.graphql.introspection.describe import describe
from workers.graphql.introspection.types import Described
from workers.graphql.model import Schema

_KEPT = 4
"""Answers kept; that of a schema of 300 tables has some megabytes."""


class Introspector:
    """Answers questions about one schema; `is_whole`: also about what introspection keeps back, for our own use."""

    def __init__(self, schema: Schema, *, is_whole: bool = False) -> None:
        self._schema, self._is_whole = schema, is_whole
        self._answers: dict[Hashable, bytes] = {}

    @cached_property
    def described(self) -> Described:
        """Give all types."""
        return describe(self._schema, is_whole=self._is_whole)

    def answer(
        self,
        fields: Sequence[FieldNode],
        fragments: Mapping[str, FragmentDefinitionNode],
        variables: Mapping[str, object],
    ) -> object:
        """Give the value of a root field `__schema` or `__type`, asked by all nodes that share its response key.

        `variables` are the given ones over the defaults of the operation; those that are absent are no keys.
        Raises: GraphQLFailure when the question is wrong, or introspection is switched off.
        """
        if not self._schema.has_introspection and not self._is_whole:
            raise GraphQLFailure(f'Unknown field "{fields[0].name.value}" on type Query')
        return answer(self.described, fields, fragments, variables)

    def is_kept(self, key: Hashable) -> bool:
        """Tell whether the answer to a question without variables is kept under a key."""
        return key in self._answers

    def answer_json(
        self,
        fields: Sequence[FieldNode],
        fragments: Mapping[str, FragmentDefinitionNode],
        variables: Mapping[str, object],
        key: Hashable = None,
    ) -> bytes:
        """Give the same as JSON. `key`, where given, stands for all that is asked (document, operation, response key).

        An answer is kept under its key if it was asked without variables. Raises: as `answer`.
        """
        is_kept = key is not None and not variables
        if is_kept and (known := self._answers.get(key)) is not None:
            return known
        text = orjson.dumps(self.answer(fields, fragments, variables))
        if is_kept:
            while len(self._answers) >= _KEPT:
                del self._answers[next(iter(self._answers))]
            self._answers[key] = text
        return text

    def graphql_schema(self) -> GraphQLSchema:
        """Give the schema as graphql-core has it, made of the answer to the standard question. Raises: as `answer`."""
        document = parse(get_introspection_query(), no_location=True)
        fragments = {
            node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)
        }
        operation = next(node for node in document.definitions if isinstance(node, OperationDefinitionNode))
        fields = [node for node in operation.selection_set.selections if isinstance(node, FieldNode)]
        value = self.answer(fields, fragments, {})
        return build_client_schema({"__schema": value})  # type: ignore[typeddict-item]  # it is what it should be

    def sdl(self) -> str:
        """Give the schema in the definition language. Raises: as `answer`."""
        return print_schema(self.graphql_schema())
