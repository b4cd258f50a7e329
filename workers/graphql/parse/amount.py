"""How much a document asks for, fragments counted wherever they are spread: depth, number of fields, and questions
about types that multiply themselves. Pure; linear in the document, however often fragments are spread.
"""

from collections.abc import Mapping
from typing import NamedTuple

from graphql.language import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
)

from workers.graphql.errors import TooMuch
from workers.graphql.parse.limits import Limits

_LISTS = frozenset({"fields", "inputFields", "interfaces", "possibleTypes"})
"""Fields of introspection that lead from a type to many others."""
_DEEPEST_LISTS = 3
_MOST_ABOUT_TYPES = 600
"""Fields of one question about types; the usual question has 300."""


class _Amount(NamedTuple):
    """What a selection set asks for."""

    depth: int = 0
    fields: int = 0
    lists: int = 0
    """How many fields of `_LISTS` lie inside each other."""


def check_amount(
    operation: OperationDefinitionNode, fragments: Mapping[str, FragmentDefinitionNode], limits: Limits
) -> int:
    """Give how many fields an operation has, if it is within its limits; its fragments do not run in circles.

    Raises: GraphQLFailure.
    """
    counting = _Counting(fragments)
    whole = counting.of(operation.selection_set)
    if whole.depth > limits.depth:
        raise TooMuch(f"The query is deeper than {limits.depth} fields", "max_depth")
    if whole.fields > limits.fields:
        raise TooMuch(f"The query has more than {limits.fields} fields", "max_fields")
    if counting.about_types.lists > _DEEPEST_LISTS or counting.about_types.fields > _MOST_ABOUT_TYPES:
        raise TooMuch(
            f"The question about types has more than {_MOST_ABOUT_TYPES} fields, or lists of fields in lists of fields"
        )
    return whole.fields


class _Counting:
    """Counts selection sets; what a fragment asks for is counted once."""

    def __init__(self, fragments: Mapping[str, FragmentDefinitionNode]) -> None:
        self._fragments = fragments
        self._known: dict[str, _Amount] = {}
        self.about_types = _Amount()
        """The largest question about types, all of them together."""

    def of(self, node: SelectionSetNode | None) -> _Amount:
        """Give what a selection set asks for."""
        depth = fields = lists = 0
        for one in node.selections if node is not None else ():
            if isinstance(one, FieldNode):
                amount = self._of_field(one)
            elif isinstance(one, InlineFragmentNode):
                amount = self.of(one.selection_set)
            elif isinstance(one, FragmentSpreadNode):
                amount = self._of_fragment(one.name.value)
            depth, lists = max(depth, amount.depth), max(lists, amount.lists)
            fields += amount.fields
        return _Amount(depth, fields, lists)

    def _of_field(self, node: FieldNode) -> _Amount:
        name, below = node.name.value, self.of(node.selection_set)
        if name in ("__schema", "__type"):
            seen = self.about_types
            self.about_types = _Amount(fields=seen.fields + below.fields, lists=max(seen.lists, below.lists))
        return _Amount(below.depth + 1, below.fields + 1, below.lists + (name in _LISTS))

    def _of_fragment(self, name: str) -> _Amount:
        if name not in self._known:
            fragment = self._fragments.get(name)
            self._known[name] = _Amount() if fragment is None else self.of(fragment.selection_set)
        return self._known[name]
