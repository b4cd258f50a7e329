"""Cached state of one role and one catalog: schema, introspection, and the operations it has run with their plans.

A plan depends on the document, the name of the operation, and the *shape* of the variables, not on their values
(`plan/inputs.py`). These three are the cache key, so an operation is planned once for all values (architecture,
decision 11). Large documents are planned in threads, so caches are changed under a lock.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from graphql.language import OperationDefinitionNode

from workers.graphql.compilation import CompiledOperation, compile_operation
from workers.graphql.definition import Definition
from workers.graphql.errors import GraphQLFailure
from workers.graphql.introspection.introspector import Introspector
from workers.graphql.model import RoleSchema
from workers.graphql.parse.document import Document, choose_operation
from workers.graphql.parse.limits import OperationLimits
from workers.graphql.plan.inputs import ABSENT, SIMPLE, PlanDependencies, shape
from workers.graphql.plan.operation import OperationPlan, plan_operation
from workers.graphql.validation.rules import DocumentVerdict
from workers.graphql.validation.validator import Validator
from workers.graphql.validation.variables import ScalarCheck

_MOST_OPERATIONS = 1000
_MOST_SHAPES = 50
"""Plans of one operation."""
LONGEST_CACHED = 32 * 1024
"""Characters of the longest document that is cached."""
_LONGEST_KEY = 8 * 1024
"""Characters of the longest key of a plan: clients choose the names in their variables, and some of the values."""
_MOST_CHARACTERS = 1 << 20
"""Characters of all documents in a cache. A parsed document takes about 150 times its text."""

_store_lock = threading.Lock()
Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(slots=True, eq=False)
class CachedOperation:
    """One operation of one document, and its compiled plans by shape of the variables. It is a key itself, by its identity."""

    document: Document
    operation: OperationDefinitionNode
    dependencies: PlanDependencies = field(default_factory=PlanDependencies)
    plans: dict[object, CompiledOperation] = field(default_factory=dict)
    verdict: DocumentVerdict | None = None
    """Whether the document is valid, once that is known."""


class QueryCache(Generic[Key, Value]):
    """What was made of documents, by a key that the text is a part of; the oldest go first. Safe to use from several threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: dict[Key, tuple[Value, int]] = {}
        self._characters = 0

    def get(self, key: Key) -> Value | None:
        """Return the value of a key, if it is stored."""
        entry = self._entries.get(key)
        return None if entry is None else entry[0]

    def put(self, key: Key, value: Value, length: int) -> None:
        """Store a value; `length` is the number of characters of its document. Those of long documents are not stored."""
        if length > LONGEST_CACHED:
            return
        with _store_lock:
            self._remove(key)
            while self._entries and (
                len(self._entries) >= self._most or self._characters + length > _MOST_CHARACTERS
            ):
                self._remove(next(iter(self._entries)))
            self._entries[key] = (value, length)
            self._characters += length

    def _remove(self, key: Key) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._characters -= entry[1]


class RoleState:
    """Schema, introspection and operation cache of one role. `documents` returns the parsed document of a text."""

    def __init__(
        self,
        schema: RoleSchema,
        limits: OperationLimits,
        documents: Callable[[str], Document],
        *,
        is_strict: bool = False,
    ) -> None:
        self.schema, self.is_strict = schema, is_strict
        self.introspector = Introspector(schema)
        self.definition = Definition(schema)
        self.validator = Validator(schema)
        self._limits, self._documents = limits, documents
        self._operations = QueryCache[tuple[str, str | None], CachedOperation](_MOST_OPERATIONS)

    def operation(self, text: str, name: str | None) -> CachedOperation:
        """Return an operation of a document, parsed if it is not cached.

        Raises: GraphQLFailure if the document does not parse, or the operation is not in it.
        """
        cached = self.cached_operation(text, name)
        if cached is None:
            document = self._documents(text)
            if self.is_strict:
                self.definition.check(document)
            cached = CachedOperation(document, choose_operation(document, name))
            self._operations.put((text, name), cached, len(text))
        return cached

    def cached_operation(self, text: str, name: str | None) -> CachedOperation | None:
        """Return an operation if it is cached."""
        return self._operations.get((text, name))

    def compile(self, cached: CachedOperation, variables: Mapping[str, object]) -> CompiledOperation:
        """Return the compiled operation for the variables of a request, planned if it is not cached. Raises: GraphQLFailure."""
        plan = cached_plan(cached, variables)
        if plan is None:
            planned = plan_operation(
                cached.document,
                cached.operation,
                self.schema,
                variables,
                self._limits,
                cached.dependencies,
            )
            self._check(cached, planned, variables)
            plan = compile_operation(planned)
            # The key is computed after planning, because planning records the questions that are a part of it.
            if not cached.dependencies.is_full and (key := _plan_key(cached, variables)) is not None:
                store_plan(cached.plans, key, plan)
        return plan

    def check_subscription(self, cached: CachedOperation, variables: Mapping[str, object]) -> None:
        """Validate document and variables of a subscription to changes. Raises: GraphQLFailure."""
        verdict = cached.verdict or self.validator.verdict(cached.document, cached.operation)
        cached.verdict = verdict
        self.validator.check(verdict, cached.operation, variables)

    def _check(
        self, cached: CachedOperation, planned: OperationPlan, variables: Mapping[str, object]
    ) -> None:
        """Validate document and variables of an operation that is about to run. Raises: GraphQLFailure.

        Planning comes first, for its messages are those of the original. Where it failed, nothing is left to check.
        """
        failed = [field.key for field in planned.fields if isinstance(field.work, GraphQLFailure)]
        if failed and (planned.is_mutation or len(failed) == len(planned.fields)):
            return
        if failed:
            verdict = self.validator.verdict(cached.document, cached.operation, failed)
        else:
            verdict = cached.verdict or self.validator.verdict(cached.document, cached.operation)
            cached.verdict = verdict
        self.validator.check(verdict, cached.operation, variables)
        self._record_unused(cached, planned, variables, verdict)

    def _record_unused(
        self,
        cached: CachedOperation,
        planned: OperationPlan,
        variables: Mapping[str, object],
        verdict: DocumentVerdict,
    ) -> None:
        """Make the validity of variables that the plan does not use a part of its cache key."""
        used = {reader.path[0] for field in planned.fields for reader in field.readers}
        used |= {path[0] for path, question in cached.dependencies.questions}
        for definition in cached.operation.variable_definitions or ():
            name = definition.variable.name.value
            if name not in used and name not in verdict.mistyped and variables.get(name) is not None:
                cached.dependencies.add((name,), ScalarCheck(self.validator.schema, definition))


def cached_plan(cached: CachedOperation, variables: Mapping[str, object]) -> CompiledOperation | None:
    """Return the compiled operation for the shape of the variables, if it is cached."""
    return cached.plans.get(_plan_key(cached, variables))


def store_bounded(store: dict[Key, Value], key: Key, value: Value, limit: int) -> None:
    """Store a value and drop the oldest entries beyond `limit`. Safe to call from several threads."""
    with _store_lock:
        while len(store) >= limit:
            del store[next(iter(store))]
        store[key] = value


def store_plan(plans: dict[object, CompiledOperation], key: object, plan: CompiledOperation) -> None:
    """Store a plan by the shape of the variables, unless the key is long."""
    if _key_length(key) <= _LONGEST_KEY:
        store_bounded(plans, key, plan, _MOST_SHAPES)


def _key_length(key: object) -> int:
    """Return about the number of characters in a key: of its texts, at any depth."""
    if isinstance(key, str | bytes):
        return len(key)
    return sum(map(_key_length, key), len(key)) if isinstance(key, tuple | frozenset) else 1


def _plan_key(cached: CachedOperation, variables: Mapping[str, object]) -> object:
    """Return the cache key of a plan; None where a value is invalid in a way that planning will report."""
    names = cached.document.variables
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
        return (shapes, cached.dependencies.answers(variables)) if cached.dependencies.questions else shapes
    except GraphQLFailure:
        return None
