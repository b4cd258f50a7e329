"""Step four, the only one with I/O: run one transaction as the caller, with a statement for each root field.

A mutation runs whole or not at all. In a query only the fields that fail are left out of the answer. Fields are usually
few and successful, so all of them are first sent at once in one read-only transaction. If one fails, Postgres has
aborted that transaction: the failed field is recorded, and the others run again one after the other, each behind a
savepoint (`_read_singly`).

Root fields must not see each other's side effects: settings, temporary tables, cursors and locks that a field leaves in
the session are undone before the next one starts (`workers/database/transactions/session_reset.py`).
Source: docs/reference/graphql.md, sections 1 and 2.
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
from workers.database.transactions.settings_statement import TRANSACTION_ID, UNLOCK
from workers.graphql.compilation import CompiledField, CompiledOperation, StatementTemplate
from workers.graphql.errors import GraphQLFailure, StaleSchema
from workers.graphql.query.writes import RAISED_ERROR

_MISSING = frozenset({"42P01", "42703", "42883", "42704", "3F000"})
"""SQLSTATE of a missing relation, column, function, type, schema."""
_UNDO_FIELD = (
    Statement("rollback to savepoint field"),
    Statement(f"select {UNLOCK}"),
)
"""Undo what a reading field has left: the savepoint undoes settings and cursors; session locks are released explicitly."""
_TRANSACTION_ID = Statement(f"select {TRANSACTION_ID}")
Settings = Sequence[tuple[str, str]]
Value = bytes | LongValue
BoundStatements = dict[int, tuple[Statement, ...]]
"""Statements by the index of their field. The last one of a field answers; a field of a query has exactly one."""


@dataclass(slots=True)
class OperationOutcome:
    """Result of an operation: values and failures, both by the index of their root field."""

    fields: Sequence[CompiledField]
    values: dict[int, Value] = field(default_factory=dict)
    failures: dict[int, GraphQLFailure] = field(default_factory=dict)
    transaction_id: bytes | None = None
    """Of a mutation that wrote: 32 bits in decimal."""

    def reported_failures(self, *, is_mutation: bool) -> list[GraphQLFailure]:
        """Return the failures to report for an operation that cannot be executed; none for one that can, if only in part.

        A mutation is executed whole or not at all, and reports its first failure.
        """
        failures = [self.failures[index] for index in sorted(self.failures)]
        if is_mutation:
            return failures[:1]
        return failures if len(failures) == len(self.fields) else []

    def abandon(self) -> None:
        """Release the database connection of a long value that will not be read."""
        for value in self.values.values():
            if isinstance(value, LongValue):
                value.abandon()


@dataclass(frozen=True, slots=True)
class TransactionContext:
    """How a transaction is opened: session settings, isolation level, and statements that run first."""

    settings: Settings
    isolation: str | None = None
    preceding: Sequence[Statement] = ()
    missing_names: Container[str] = ()
    """Error messages about missing names that a reload of the catalogs has not resolved. They do not cause another reload."""


def bind_statements(
    operation: CompiledOperation, outcome: OperationOutcome, variables: Mapping[str, object]
) -> BoundStatements:
    """Fill the statements of an operation with the variables of a request; record fields that cannot be filled as failed."""
    statements: BoundStatements = {}
    for index, root_field in enumerate(operation.fields):
        if isinstance(root_field.work, StatementTemplate):
            try:
                statements[index] = root_field.work.statements(variables)
            except GraphQLFailure as failure:
                outcome.failures[index] = failure
    return statements


async def execute(
    operation: CompiledOperation,
    bound: BoundStatements,
    outcome: OperationOutcome,
    context: TransactionContext,
    pool: ConnectionPool,
) -> None:
    """Run the statements of an operation and record values and failures in the outcome.

    Raises: StaleSchema, Disconnected, PoolTimeout; DatabaseError for an error of no field (`_failed_field`).
    """
    if not bound or (operation.is_mutation and outcome.failures):
        return
    if operation.is_mutation:
        await _write(bound, outcome, context, pool)
    else:
        await _read(bound, outcome, context, pool)


@dataclass(frozen=True, slots=True)
class Mutation:
    """The fields of a mutation as one transaction: either all of them are committed, or none. The last statement returns the transaction's id."""

    statements: "list[Statement]"
    owners: "list[_StatementOwner]"
    context: TransactionContext

    def work(self, end: TransactionEnd = TransactionEnd.COMMIT) -> TransactionSpec:
        """Return the transaction."""
        return TransactionSpec(
            self.context.settings,
            self.statements,
            isolation=self.context.isolation,
            end=end,
            writes=end is not TransactionEnd.ROLLBACK,
        )

    def take(self, results: Sequence[Rows], outcome: OperationOutcome) -> None:
        """Record the values of the fields; the last statement of a field returns its value."""
        *answers, identified = results
        for owner, rows in zip(self.owners, answers, strict=True):
            if owner.is_of_field:
                outcome.values[owner.number] = _value_or_null(rows[0][0])
        outcome.transaction_id = identified[0][0]

    def fail(self, error: DatabaseError, outcome: OperationOutcome) -> None:
        """Record an error at the field that failed.

        Raises: StaleSchema; the error itself if it is of no field: of a setting, of the pre-request function, or of the commit.
        """
        owner = _failed_field(error, self.owners)
        check_stale(error, self.context)
        outcome.failures[owner.number] = failure_from(error)


def mutation_from(bound: BoundStatements, context: TransactionContext) -> Mutation:
    """Return the transaction of a mutation's fields."""
    statements, owners = _isolated_statements(bound, context, may_write=True)
    return Mutation([*statements, _TRANSACTION_ID], owners, context)


async def _write(
    bound: BoundStatements, outcome: OperationOutcome, context: TransactionContext, pool: ConnectionPool
) -> None:
    mutation = mutation_from(bound, context)
    try:
        results = await pool.run(mutation.work())
    except DatabaseError as error:
        mutation.fail(error, outcome)
        return
    mutation.take(results, outcome)


async def _read(
    bound: BoundStatements, outcome: OperationOutcome, context: TransactionContext, pool: ConnectionPool
) -> None:
    """Send all fields to the database at once. A long value of the last field is streamed to the client.

    Removes a field that fails from `bound`.
    """
    statements, owners = _isolated_statements(bound, context, may_write=False)
    may_share = not context.preceding
    work = TransactionSpec(
        context.settings,
        statements,
        read_only=True,
        isolation=context.isolation,
        may_share=may_share,
        may_run_on_replica=True,
    )
    try:
        results, long = await pool.run_long(work)
    except DatabaseError as error:
        failed = _failed_field(error, owners)
        check_stale(error, context)
        outcome.failures[failed.number] = failure_from(error)
        del bound[failed.number]
        if bound:
            await _read_singly(
                bound, outcome, context, pool
            )  # the transaction is aborted: run the others again
        return
    for owner, rows in zip(owners, results, strict=True):
        if owner.is_of_field:
            outcome.values[owner.number] = _value_or_null(rows[0][0])
    if long is not None:
        outcome.values[list(bound)[-1]] = long


class _StatementOwner(NamedTuple):
    """Index of the field that a statement runs for, and whether it is one of the field's statements or only prepares for it."""

    number: int
    is_of_field: bool


def _failed_field(error: DatabaseError, owners: Sequence[_StatementOwner]) -> _StatementOwner:
    """Return the owner of the statement that failed. Raises: the error itself if that is no statement of a field."""
    index = error.statement_index
    if index is None or index >= len(owners) or not owners[index].is_of_field:
        raise error
    return owners[index]


def _isolated_statements(
    bound: BoundStatements, context: TransactionContext, *, may_write: bool
) -> tuple[list[Statement], list[_StatementOwner]]:
    """Return the statements of all fields, and for each statement the field it belongs to.

    Each field runs as if it were alone: before every field but the first, the session is reset and the pre-request
    function called again, because its settings were reset too.
    """
    statements: list[Statement] = []
    owners: list[_StatementOwner] = []
    preparation: list[Statement] | None = None
    for number, field_statements in bound.items():
        if preparation is None:
            before = [*context.preceding]
            preparation = (
                [*session_reset_statements(context.settings, may_write=may_write), *before]
                if len(bound) > 1
                else []
            )
        else:
            before = preparation
        statements += (*before, *field_statements)
        owners += [_StatementOwner(number, is_of_field=False)] * len(before) + [
            _StatementOwner(number, is_of_field=True)
        ] * len(field_statements)
    return statements, owners


async def _read_singly(
    bound: BoundStatements, outcome: OperationOutcome, context: TransactionContext, pool: ConnectionPool
) -> None:
    """Run the fields one after the other, each undone by a savepoint, so that a failing field does not affect the others."""
    settings = [*context.settings, ("transaction_read_only", "on")]
    async with pool.transaction(settings, isolation=context.isolation) as transaction:
        await transaction.run(*context.preceding, Statement("savepoint field"))
        for index, statements in bound.items():
            try:
                rows = (await transaction.run(*statements))[-1]
            except DatabaseError as error:
                check_stale(error, context)
                outcome.failures[index] = failure_from(error)
            else:
                outcome.values[index] = _value_or_null(rows[0][0])
            await transaction.run(*_UNDO_FIELD)


def failure_from(error: DatabaseError) -> GraphQLFailure:
    """Return a database error as an entry of `errors`, with the database's message or that of our failing cast."""
    raised = RAISED_ERROR.search(error.message)
    return GraphQLFailure(raised[1]) if raised else GraphQLFailure(error.message, error.code)


def check_stale(error: DatabaseError, context: TransactionContext) -> None:
    """Check whether an error means that the schema cache is outdated.

    Raises: StaleSchema if our statement (an error inside a function has a context) names something that does not exist,
    and a reload has not already failed to resolve it.
    """
    if error.code in _MISSING and error.context is None and error.message not in context.missing_names:
        raise StaleSchema(failure_from(error))


def _value_or_null(data: bytes | None) -> bytes:
    return b"null" if data is None else data
