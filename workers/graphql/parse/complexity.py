"""Measure a document against its limits: nesting of brackets, depth, number of fields, introspection lists. Pure.

Brackets are counted in the text before the parser reads it, because the parser is recursive. Operations are measured
after it.

A fragment counts wherever it is spread, so a short document can select exponentially many fields. Each fragment is
measured once and the result reused, so the time is linear in the document. Introspection has limits of its own: lists of
fields inside lists of fields multiply the answer.
"""

import re
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

from workers.graphql.errors import QueryTooComplex
from workers.graphql.parse.limits import OperationLimits

_LISTS = frozenset({"fields", "inputFields", "interfaces", "possibleTypes"})
"""Introspection fields that select many types, fields or arguments from one type."""
_DEEPEST_LISTS = 3
_MOST_ABOUT_TYPES = 600
"""Introspection fields of one operation; the standard introspection query has 300."""


# A text that is never closed runs to the end, where the parser rejects it: looking for its end again from every quote would take
# quadratic time. In a block string a backslash is a sign like others, unless three quotes follow it.
_TEXTS = re.compile(
    r'"""(?:[^"\\]|\\"""|\\|"(?!""))*(?:""")?|"(?:[^"\\\n\r]|\\.)*"?|#[^\n\r]*',
    re.DOTALL,
)
_BRACKETS = re.compile(r"[{}\[\]()]+")
_OPENING = "{[("


class _Complexity(NamedTuple):
    """Depth and number of fields of a selection set."""

    depth: int = 0
    fields: int = 0
    lists: int = 0
    """Nesting depth of the fields in `_LISTS`."""


def bracket_depth(document: str) -> int:
    """Return the greatest number of brackets that are open at one point; strings and comments are skipped."""
    depth = deepest = 0
    for run in _BRACKETS.findall(_TEXTS.sub("", document)):
        for sign in run:
            if sign in _OPENING:
                depth += 1
                if depth > deepest:
                    deepest = depth
            else:
                depth -= 1
    return deepest


def check_complexity(
    operation: OperationDefinitionNode,
    fragments: Mapping[str, FragmentDefinitionNode],
    limits: OperationLimits,
) -> int:
    """Return the number of fields of an operation. Its fragments must not form a cycle.

    Raises: QueryTooComplex beyond a limit.
    """
    counter = _ComplexityCounter(fragments)
    whole = counter.of(operation.selection_set)
    if whole.depth > limits.depth:
        raise QueryTooComplex(f"The query is deeper than {limits.depth} fields", "max_depth")
    if whole.fields > limits.fields:
        raise QueryTooComplex(f"The query has more than {limits.fields} fields", "max_fields")
    if counter.about_types.lists > _DEEPEST_LISTS or counter.about_types.fields > _MOST_ABOUT_TYPES:
        raise QueryTooComplex(
            f"The question about types has more than {_MOST_ABOUT_TYPES} fields, or lists of fields in lists of fields"
        )
    return whole.fields


class _ComplexityCounter:
    """Measures selection sets; each fragment is measured once."""

    def __init__(self, fragments: Mapping[str, FragmentDefinitionNode]) -> None:
        self._fragments = fragments
        self._cache: dict[str, _Complexity] = {}
        self.about_types = _Complexity()
        """All introspection fields of the operation together."""

    def of(self, node: SelectionSetNode | None) -> _Complexity:
        """Return the complexity of a selection set."""
        depth = fields = lists = 0
        for selection in node.selections if node is not None else ():
            if isinstance(selection, FieldNode):
                complexity = self._of_field(selection)
            elif isinstance(selection, InlineFragmentNode):
                complexity = self.of(selection.selection_set)
            elif isinstance(selection, FragmentSpreadNode):
                complexity = self._of_fragment(selection.name.value)
            depth, lists = max(depth, complexity.depth), max(lists, complexity.lists)
            fields += complexity.fields
        return _Complexity(depth, fields, lists)

    def _of_field(self, node: FieldNode) -> _Complexity:
        name, below = node.name.value, self.of(node.selection_set)
        if name in ("__schema", "__type"):
            previous = self.about_types
            self.about_types = _Complexity(
                fields=previous.fields + below.fields, lists=max(previous.lists, below.lists)
            )
        return _Complexity(below.depth + 1, below.fields + 1, below.lists + (name in _LISTS))

    def _of_fragment(self, name: str) -> _Complexity:
        if name not in self._cache:
            fragment = self._fragments.get(name)
            self._cache[name] = _Complexity() if fragment is None else self.of(fragment.selection_set)
        return self._cache[name]
