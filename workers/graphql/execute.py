"""Step four, the only one with I/O: one transaction as the caller, a statement for each root field.

The fields of a query that fail are left out, so a query that fails is done once more, field by field behind savepoints;
a mutation is done whole or not at all. What a field leaves in the session besides its rows (settings, temporary tables,
cursors, locks) is undone before the next one starts (`workers/database/transactions/session_reset.py`). Source: reference page "graphql", sections 1 and 2.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from workers.database.connection_pool.pool import ConnectionPool
from workers.database.errors import DatabaseError
from workers.database.protocol.long_value import LongValue
from workers.database.protocol.rows import Rows
from workers.database.transactions.model import Statement, TransactionEnd, TransactionSpec
from workers.database.transactions.session_reset import session_reset_statements
from workers.database.transactions.settings_statement import UNLOCK
from workers.graphql.compiled import Compiled, Prepared, Ready
from workers.graphql.errors import GraphQLFailure, StaleSchema
from workers.graphql.query.writes import ALARM

_MISSING = frozenset({"42P01", "42703", "42883", "42704", "3F000"})
"""No such relation, column, function, type, schema."""
_UNDO = (
    Statement("rollback to savepoint field"),
    Statement(f"select {UNLOCK}"),
)
"""Undo what a field that only reads has left: settings and cursors with the savepoint, session locks by themselves."""
Settings = Sequence[tuple[str, str]]
Value = bytes | LongValue
Bound = dict[int, tuple[Statement, ...]]
"""Statements by the place of their field; the last of each answers, and a field of a query has but one."""


@dataclass(slots=True)
class Outcome:
    """What became of an operation: values by the place of their field, and what failed in the order of the fields."""

    fields: Sequence[Ready]
    values: dict[int, Value] = field(default_factory=dict)
    failures: dict[int, GraphQLFailure] = field(default_factory=dict)

    def abandon(self) -> None:
        """Give back the connection of a value that nobody reads."""
        for value in self.values.values():
            if isinstance(value, LongValue):
                value.abandon()


@dataclass(frozen=True, slots=True)
class Around:
    """The transaction: its settings, how it is isolated, and what is called in it before anything else."""

    settings: Settings
    isolation: str | None = None
    before: Sequence[Statement] = ()
    known_missing: Container[str] = ()
    """Messages about missing names that a new look at the catalogs did not cure."""


def bind(operation: Compiled, outcome: Outcome, variables: Mapping[str, object]) -> Bound:
    """Fill the statements of an operation with the values of a request; what cannot be filled is put into the outcome."""
    bound: Bound = {}
    for place, one in enumerate(operation.fields):
        if isinstance(one.work, Prepared):
            try:
                bound[place] = one.work.statements(variables)
            except GraphQLFailure as failure:
                outcome.failures[place] = failure
    return bound


async def execute(
    operation: Compiled, bound: Bound, outcome: Outcome, around: Around, pool: ConnectionPool
) -> None:
    """Run the statements of an operation and put what comes of them into the outcome.

    Raises: StaleSchema, Disconnected, PoolTimeout; DatabaseError when the transaction itself cannot be.
    """
    if not bound or (operation.is_mutation and outcome.failures):
        return
    if operation.is_mutation:
        await _write(bound, outcome, around, pool)
    else:
        await _read(bound, outcome, around, pool)


@dataclass(frozen=True, slots=True)
class Mutation:
    """The fields of a mutation as one transaction: all of them happen, or none."""

    statements: "list[Statement]"
    places: "list[_Place]"
    around: Around

    def work(self, end: TransactionEnd = TransactionEnd.COMMIT) -> TransactionSpec:
        """Return the transaction."""
        return TransactionSpec(
            self.around.settings, self.statements, isolation=self.around.isolation, end=end
        )

    def take(self, results: Sequence[Rows], outcome: Outcome) -> None:
        """Put the values of the fields into the outcome; the last statement of a field gives its value."""
        for place, rows in zip(self.places, results, strict=True):
            if place.is_own:
                outcome.values[place.number] = _value(rows[0][0])

    def fail(self, error: DatabaseError, outcome: Outcome) -> None:
        """Put an error into the outcome, at the field that failed. Raises: StaleSchema."""
        _check_stale(error, self.around)
        outcome.failures[self.places[error.statement_index or 0].number] = failure_of(error)


def mutation_of(bound: Bound, around: Around) -> Mutation:
    """Return the transaction of a mutation's fields."""
    return Mutation(*_separated(bound, around, may_write=True), around)


async def _write(bound: Bound, outcome: Outcome, around: Around, pool: ConnectionPool) -> None:
    mutation = mutation_of(bound, around)
    try:
        results = await pool.run(mutation.work())
    except DatabaseError as error:
        mutation.fail(error, outcome)
        return
    mutation.take(results, outcome)


async def _read(bound: Bound, outcome: Outcome, around: Around, pool: ConnectionPool) -> None:
    """Run all fields in one write; a long value of the last one is read while it is sent."""
    statements, places = _separated(bound, around, may_write=False)
    may_share = not around.before
    work = TransactionSpec(
        around.settings, statements, read_only=True, isolation=around.isolation, may_share=may_share
    )
    try:
        results, long = await pool.run_long(work)
    except DatabaseError as error:
        failed = None if error.statement_index is None else places[error.statement_index]
        if failed is None or not failed.is_own:
            raise
        _check_stale(error, around)
        outcome.failures[failed.number] = failure_of(error)
        del bound[failed.number]
        if bound:
            await _read_singly(bound, outcome, around, pool)
        return
    for place, rows in zip(places, results, strict=True):
        if place.is_own:
            outcome.values[place.number] = _value(rows[0][0])
    if long is not None:
        outcome.values[list(bound)[-1]] = long


class _Place(NamedTuple):
    """Which field a statement belongs to, and whether it is the field's own or one that prepares for it."""

    number: int
    is_own: bool


def _separated(bound: Bound, around: Around, *, may_write: bool) -> tuple[list[Statement], list[_Place]]:
    """Return the statements of all fields, each field as if it were alone, and the place of each statement.

    Between two fields the session is renewed and the pre-request function called again, for it makes settings.
    """
    statements: list[Statement] = []
    places: list[_Place] = []
    again: list[Statement] | None = None
    for number, own in bound.items():
        if again is None:
            before = [*around.before]
            again = (
                [*session_reset_statements(around.settings, may_write=may_write), *before]
                if len(bound) > 1
                else []
            )
        else:
            before = again
        statements += (*before, *own)
        places += [_Place(number, is_own=False)] * len(before) + [_Place(number, is_own=True)] * len(own)
    return statements, places


async def _read_singly(bound: Bound, outcome: Outcome, around: Around, pool: ConnectionPool) -> None:
    """Run the fields one after the other, so that one that fails leaves the others, and none finds what another has set."""
    settings = [*around.settings, ("transaction_read_only", "on")]
    async with pool.transaction(settings) as transaction:
        await transaction.run(*around.before, Statement("savepoint field"))
        for place, statements in bound.items():
            try:
                rows = (await transaction.run(*statements))[-1]
            except DatabaseError as error:
                _check_stale(error, around)
                outcome.failures[place] = failure_of(error)
            else:
                outcome.values[place] = _value(rows[0][0])
            await transaction.run(*_UNDO)


def failure_of(error: DatabaseError) -> GraphQLFailure:
    """Give the failure that an error of the database is for the caller: its own words."""
    alarm = ALARM.search(error.message)
    return GraphQLFailure(alarm[1]) if alarm else GraphQLFailure(error.message, error.code)


def _check_stale(error: DatabaseError, around: Around) -> None:
    """Raises: StaleSchema if a statement of ours, not a function it calls, misses a name that may have gone just now."""
    if error.code in _MISSING and error.context is None and error.message not in around.known_missing:
        raise StaleSchema(failure_of(error))


def _value(data: bytes | None) -> bytes:
    return b"null" if data is None else data
