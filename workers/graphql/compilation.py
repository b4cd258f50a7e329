"""Compile a planned operation: SQL statements with slots for the variables, and values known without the database. Pure.

In: an `OperationPlan`. Out: a `CompiledOperation`, which is cached with the schema of its role (`role.py`); each request
fills its slots with the values of its own variables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from workers.database.transactions.model import Statement
from workers.graphql.errors import GraphQLFailure
from workers.graphql.plan.inputs import SlotReader, value_at
from workers.graphql.plan.operation import IntrospectionQuery, OperationPlan, RootFieldPlan
from workers.graphql.query.statement import render_statements
from workers.sql.compose import Param, ParameterSlot


@dataclass(frozen=True, slots=True)
class StatementTemplate:
    """A statement with its parameters, and how each slot is read from the variables."""

    text: str
    params: tuple[Param, ...]
    readers: tuple[SlotReader, ...]
    preceding: tuple[tuple[str, tuple[Param, ...]], ...] = ()
    """Text and parameters of the statements that run before this one: the steps of a nested insert."""

    def statement(self, variables: Mapping[str, object]) -> Statement:
        """Fill the slots for one request. Raises: GraphQLFailure for a value of the wrong type."""
        if not self.readers:
            return Statement(self.text, self.params)  # type: ignore[arg-type]  # without readers there are no slots
        values = [reader.convert(value_at(variables, reader.path)).encode() for reader in self.readers]
        return Statement(self.text, _bound(self.params, values))

    def statements(self, variables: Mapping[str, object]) -> tuple[Statement, ...]:
        """Fill the slots of all statements of the field; the last one answers. Raises: as `statement`."""
        if not self.preceding:
            return (self.statement(variables),)
        values = [reader.convert(value_at(variables, reader.path)).encode() for reader in self.readers]
        templates = (*self.preceding, (self.text, self.params))
        return tuple(Statement(text, _bound(params, values)) for text, params in templates)


def _bound(params: Sequence[Param], values: Sequence[bytes]) -> list[bytes | None]:
    return [values[param.index] if isinstance(param, ParameterSlot) else param for param in params]


@dataclass(frozen=True, slots=True)
class CompiledField:
    """A root field: response key, the same key as JSON with its colon, and what answers it.

    `work` is a statement, an introspection query, a finished JSON value, or the error of planning.
    """

    name: str
    key: bytes
    work: StatementTemplate | IntrospectionQuery | bytes | GraphQLFailure


@dataclass(frozen=True, slots=True)
class SingleRead:
    """A query with one root field that the database answers: its statement, and the text of the answer before the value."""

    template: StatementTemplate
    head: bytes


@dataclass(frozen=True, slots=True)
class CompiledOperation:
    """An operation for one role and one shape of its variables."""

    is_mutation: bool
    fields: Sequence[CompiledField]
    single_read: SingleRead | None
    """The same for a query with one root field, for the quick way (`single_read.py`)."""


def compile_operation(operation: OperationPlan) -> CompiledOperation:
    """Compile the statements of a planned operation."""
    fields = [_compile_field(field) for field in operation.fields]
    single_read = None
    if len(fields) == 1 and not operation.is_mutation and isinstance(fields[0].work, StatementTemplate):
        single_read = SingleRead(fields[0].work, b'{"data":{' + fields[0].key)
    return CompiledOperation(operation.is_mutation, fields, single_read)


def _compile_field(planned: RootFieldPlan) -> CompiledField:
    key = msgspec.json.encode(planned.key) + b":"
    match planned.work:
        case str(name):
            return CompiledField(planned.key, key, msgspec.json.encode(name))
        case GraphQLFailure() | IntrospectionQuery():
            return CompiledField(planned.key, key, planned.work)
    *before, (text, params) = render_statements(planned.work)
    return CompiledField(planned.key, key, StatementTemplate(text, params, planned.readers, tuple(before)))
