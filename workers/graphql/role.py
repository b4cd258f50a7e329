"""What is known for one role and one catalog: its schema, its introspection, and the operations it has run.

Plans are kept by document, name of the operation and shape of the variables (architecture, decision 11).
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from graphql.language import OperationDefinitionNode

from workers.graphql.compiled import Compiled, compiled
from workers.graphql.definition import Definition
from workers.graphql.errors import GraphQLFailure
from workers.graphql.introspection.introspector import Introspector
from workers.graphql.model import Schema
from workers.graphql.parse.document import Document, operation_of
from workers.graphql.parse.limits import Limits
from workers.graphql.plan.inputs import ABSENT, SIMPLE, Lessons, shape
from workers.graphql.plan.operation import plan_operation

_OPERATIONS_KEPT = 1000
_SHAPES_KEPT = 50
"""Plans of one operation."""
_LONGEST_KEPT = 32 * 1024
"""Characters of a document whose plans are kept."""

_keeping = threading.Lock()
K = TypeVar("K")
V = TypeVar("V")


@dataclass(slots=True)
class Known:
    """One operation of one document with the plans made of it."""

    document: Document
    operation: OperationDefinitionNode
    lessons: Lessons = field(default_factory=Lessons)
    plans: dict[object, Compiled] = field(default_factory=dict)


class RoleState:
    """One role's view. `documents` parses a text, or finds it parsed."""

    def __init__(
        self,
        schema: Schema,
        limits: Limits,
        documents: Callable[[str], Document],
        *,
        is_strict: bool = False,
    ) -> None:
        self.schema, self.is_strict = schema, is_strict
        self.introspector = Introspector(schema)
        self.definition = Definition(schema)
        self._limits, self._documents = limits, documents
        self._operations: dict[tuple[str, str | None], Known] = {}

    def operation(self, text: str, name: str | None) -> Known:
        """Give an operation of a document. Raises: GraphQLFailure if it does not parse or has no such operation."""
        known = self.known(text, name)
        if known is None:
            document = self._documents(text)
            if self.is_strict:
                self.definition.check(document)
            known = Known(document, operation_of(document, name))
            if len(text) <= _LONGEST_KEPT:
                keep(self._operations, (text, name), known, _OPERATIONS_KEPT)
        return known

    def known(self, text: str, name: str | None) -> Known | None:
        """Give an operation that is kept."""
        return self._operations.get((text, name))

    def compiled(self, known: Known, variables: Mapping[str, object]) -> Compiled:
        """Give an operation ready to run with the variables of a request. Raises: GraphQLFailure."""
        found = kept_plan(known, variables)
        if found is None:
            found = compiled(
                plan_operation(
                    known.document, known.operation, self.schema, variables, self._limits, known.lessons
                )
            )
            if not known.lessons.is_overfull and (key := _key(known, variables)) is not None:
                keep(known.plans, key, found, _SHAPES_KEPT)
        return found


def kept_plan(known: Known, variables: Mapping[str, object]) -> Compiled | None:
    """Give the plan of an operation for the shape of its variables, if it is kept."""
    return known.plans.get(_key(known, variables))


def keep(kept: dict[K, V], key: K, value: V, most: int) -> None:
    """Keep a value; the oldest makes room. Threads may do that at the same time."""
    with _keeping:
        while len(kept) >= most:
            del kept[next(iter(kept))]
        kept[key] = value


def _key(known: Known, variables: Mapping[str, object]) -> object:
    """Give what a plan depends on; None where a value is so wrong that planning has to say it."""
    names = known.document.variables
    if not names:
        return ()
    try:
        shapes = tuple(
            [
                True
                if type(value := variables.get(name, ABSENT)) in SIMPLE
                else None
                if value is ABSENT
                else shape(value)
                for name in names
            ]
        )
        return (shapes, known.lessons.answers(variables)) if known.lessons.asked else shapes
    except GraphQLFailure:
        return None
