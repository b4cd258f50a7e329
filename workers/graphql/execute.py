"""Step four, the only one with I/O: one transaction as the caller, a statement for each root field.

The fields of a query that fail are left out, so a query that fails is done once more, field by field behind savepoints;
a mutation is done whole or not at all. Source: reference page "graphql", sections 1 and 2.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from workers.database.errors import DatabaseError
from workers.database.long_value import LongValue
from workers.database.pool import Pool
from workers.database.session import Statement, Work
from workers.graphql.compiled import Compiled, Prepared, Ready
from workers.graphql.errors import GraphQLFailure, StaleSchema
from workers.graphql.query.writes import ALARM

_MISSING = frozenset({"42P01", "42703", "42883", "42704", "3F000"})
"""No such relation, column, function, type, schema."""
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


async def execute(operation: Compiled, bound: Bound, outcome: Outcome, around: Around, pool: Pool) -> None:
    """Run the statements of an operation and put what comes of them into the outcome.

    Raises: StaleSchema, Disconnected, PoolTimeout; DatabaseError when the transaction itself cannot be.
    """
    if not bound or (operation.is_mutation and outcome.failures):
        return
    if operation.is_mutation:
        await _write(bound, outcome, around, pool)
    else:
        await _read(bound, outcome, around, pool)


async def _write(bound: Bound, outcome: Outcome, around: Around, pool: Pool) -> None:
    places = [place for place, group in bound.items() for _ in group]
    statements = [*around.before, *chain.from_iterable(bound.values())]
    try:
        results = await pool.run(Work(around.settings, statements, isolation=around.isolation))
    except DatabaseError as error:
        _check_stale(error, around)
        index = (error.statement_index or 0) - len(around.before)
        outcome.failures[places[max(index, 0)]] = failure_of(error)
        return
    for place, rows in zip(places, results[len(around.before) :], strict=True):
        outcome.values[place] = _value(rows[0][0])  # the last one of a field stays


async def _read(bound: Bound, outcome: Outcome, around: Around, pool: Pool) -> None:
    """Run all fields in one write; a long value of the last one is read while it is sent."""
    statements = [*around.before, *chain.from_iterable(bound.values())]
    may_share = not around.before
    work = Work(around.settings, statements, read_only=True, isolation=around.isolation, may_share=may_share)
    try:
        results, long = await pool.run_long(work)
    except DatabaseError as error:
        failed = (-1 if error.statement_index is None else error.statement_index) - len(around.before)
        if failed < 0:
            raise
        _check_stale(error, around)
        place = list(bound)[failed]
        outcome.failures[place] = failure_of(error)
        del bound[place]
        if bound:
            await _read_singly(bound, outcome, around, pool)
        return
    for place, rows in zip(bound, results[len(around.before) :], strict=True):
        outcome.values[place] = _value(rows[0][0])
    if long is not None:
        outcome.values[list(bound)[-1]] = long


async def _read_singly(bound: Bound, outcome: Outcome, around: Around, pool: Pool) -> None:
    """Run the fields one after the other, so that one that fails leaves the others."""
    settings = [*around.settings, ("transaction_read_only", "on")]
    async with pool.transaction(settings) as transaction:
        await transaction.run(*around.before, Statement("savepoint field"))
        for place, statements in bound.items():
            try:
                rows = (await transaction.run(*statements))[-1]
            except DatabaseError as error:
                _check_stale(error, around)
                outcome.failures[place] = failure_of(error)
                await transaction.run(Statement("rollback to savepoint field"))
            else:
                outcome.values[place] = _value(rows[0][0])


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
