"""An operation ready to run: statements with slots, and the values that need none. Pure.

In: a planned operation. Out: `Compiled`, which is kept for as long as the schema of the role, and filled for each request.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from workers.database.transactions.model import Statement
from workers.graphql.errors import GraphQLFailure
from workers.graphql.plan.inputs import Reader, value_at
from workers.graphql.plan.operation import Introspect, Operation, Planned
from workers.graphql.query.statement import statements_of
from workers.sql.compose import Param, ParameterSlot


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement with its parameters, and where the values of its slots come from."""

    text: str
    params: tuple[Param, ...]
    readers: tuple[Reader, ...]
    before: tuple[tuple[str, tuple[Param, ...]], ...] = ()
    """What runs before the statement that answers: the inserts of rows related to those of the field."""

    def statement(self, variables: Mapping[str, object]) -> Statement:
        """Fill the slots for one request. Raises: GraphQLFailure for a value of the wrong type."""
        if not self.readers:
            return Statement(self.text, self.params)  # type: ignore[arg-type]  # without readers there are no slots
        values = [reader.convert(value_at(variables, reader.path)).encode() for reader in self.readers]
        return Statement(self.text, _bound(self.params, values))

    def statements(self, variables: Mapping[str, object]) -> tuple[Statement, ...]:
        """Give all statements, the answering one last. Raises: as `statement`."""
        if not self.before:
            return (self.statement(variables),)
        values = [reader.convert(value_at(variables, reader.path)).encode() for reader in self.readers]
        every = (*self.before, (self.text, self.params))
        return tuple(Statement(text, _bound(params, values)) for text, params in every)


def _bound(params: Sequence[Param], values: Sequence[bytes]) -> list[bytes | None]:
    return [values[param.index] if isinstance(param, ParameterSlot) else param for param in params]


@dataclass(frozen=True, slots=True)
class Ready:
    """A root field: its key with the colon behind it, as JSON has it, and its work."""

    name: str
    key: bytes
    work: Prepared | Introspect | bytes | GraphQLFailure


@dataclass(frozen=True, slots=True)
class Compiled:
    """An operation for one role and one shape of its variables."""

    is_mutation: bool
    fields: Sequence[Ready]


def compiled(operation: Operation) -> Compiled:
    """Write the statements of a planned operation."""
    return Compiled(operation.is_mutation, [_ready(one) for one in operation.fields])


def _ready(planned: Planned) -> Ready:
    key = msgspec.json.encode(planned.key) + b":"
    match planned.work:
        case str(name):
            return Ready(planned.key, key, msgspec.json.encode(name))
        case GraphQLFailure() | Introspect():
            return Ready(planned.key, key, planned.work)
    *before, (text, params) = statements_of(planned.work)
    return Ready(planned.key, key, Prepared(text, params, planned.readers, tuple(before)))
