"""Writes under a condition: the rows are read, compared with what the caller knows, and changed in one transaction.

The transaction sees one snapshot (repeatable read), so a row that another transaction changes in between makes the write fail (40001)
instead of being overwritten. The read happens behind a savepoint and is rolled back: what a function that it calls has set, made or written
(a computed column, for example) must not reach the write. The pre-request function is called before the savepoint, because
its settings are meant for the whole request. Source: RFC 9110, 13.1.1 and 13.1.2; docs/rest-additions.md, "Entity tags".
"""

from collections.abc import Sequence

from schemas.http import Headers, header
from workers.database.errors import DatabaseError
from workers.database.protocol.rows import Rows
from workers.database.transactions.model import Statement, TransactionEnd, TransactionRunner, TransactionSpec
from workers.rest.errors.execute import PreconditionFailed
from workers.rest.etags import are_met, names_tags
from workers.rest.execute import RestContext, RestTask, TransactionDefaults, settings_of
from workers.rest.model import ApiRequest, RestResult

_CHANGES = frozenset({"PATCH", "PUT", "DELETE"})
_COLLISION = "40001"
_SAVE = Statement("savepoint hw_condition")
_UNDO = Statement("rollback to savepoint hw_condition")


def is_conditional(parsed: ApiRequest, headers: Headers) -> bool:
    """Return whether a write has a condition on the existing rows."""
    return parsed.method in _CHANGES and (
        header(headers, "if-match") is not None or header(headers, "if-none-match") is not None
    )


async def execute_if(
    read: RestTask, write: RestTask, context: RestContext, sessions: TransactionRunner
) -> RestResult:
    """Do a write if what `read` gives meets the request's conditions.

    Raises: PreconditionFailed; DatabaseError and its siblings; what `Task.result` raises.
    """
    guarded = GuardedWrite(read, write, context)
    try:
        await sessions.run(guarded.work(), guarded)
    except DatabaseError as error:
        raise error_of(error) from None
    assert guarded.result is not None  # else it raised
    return guarded.result


def error_of(error: DatabaseError) -> DatabaseError | PreconditionFailed:
    """Return the error that a client sees: rows that changed meanwhile are not those of its condition."""
    return PreconditionFailed() if error.code == _COLLISION else error


class GuardedWrite:
    """Decides: first on the rows that are there, then on what the write did."""

    def __init__(self, read: RestTask, write: RestTask, context: RestContext) -> None:
        self._read, self._write, self._context = read, write, context
        self._is_checked = False
        self._before = self._seen = 0
        self.result: RestResult | None = None

    def work(self) -> TransactionSpec:
        """Return the transaction with the statements of the read."""
        is_serializable = self._context.role.isolation == "serializable"
        return TransactionSpec(
            settings=settings_of(self._write.plan, self._context),
            statements=self._reads(),
            isolation="serializable" if is_serializable else "repeatable read",
            end=TransactionEnd.DECIDE,
        )

    def _reads(self) -> list[Statement]:
        """Return the statements of the read: the pre-request function, then the others behind a savepoint."""
        all_statements, statements = (
            self._read.statements(self._context.defaults),
            self._read.statements(TransactionDefaults()),
        )
        before = all_statements[: len(all_statements) - len(statements)]
        self._before = len(before) + 1
        return [*before, _SAVE, *statements, _UNDO]

    def __call__(self, results: list[Rows]) -> bool | Sequence[Statement]:
        if self._is_checked:
            self.result = self._write.result(results)
            self._check_all(self.result.page_total)
            return self._write.plan.end is not TransactionEnd.ROLLBACK
        current = self._read.result(results[self._before : -1])
        assert isinstance(current.body, bytes)  # long values come without a decision only
        if not are_met(self._context.request.headers, current.body, current.page_total):
            raise PreconditionFailed(current.body)
        self._seen = current.page_total
        self._check_all(current.total or 0)
        self._is_checked = True
        return self._write.statements(TransactionDefaults())  # the pre-request function has been called

    def _check_all(self, changed: int) -> None:
        """See that a tag is of all rows that the write changes: a limit, or a filter of related rows, is for the read alone.

        Raises: PreconditionFailed.
        """
        if changed > self._seen and names_tags(self._context.request.headers):
            raise PreconditionFailed(changed=changed)
