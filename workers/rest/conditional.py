"""Writes under a condition: the rows are read, compared with what the caller knows, and changed in one transaction.

The transaction sees one snapshot, so a row that somebody else changes in between fails the write instead of being
overwritten. The read happens behind a savepoint and is rolled back: what a function that it calls has set, made or written
(a computed column, for example) must not reach the write. The pre-request function is called before the savepoint, because
its settings are meant for the whole request. Source: RFC 9110, 13.1.1 and 13.1.2; docs/rest-additions.md, "Entity tags".
"""

from collections.abc import Sequence

from schemas.http import Headers, header
from workers.database.errors import DatabaseError
from workers.database.session import End, Rows, Sessions, Statement, Work
from workers.rest.errors import PreconditionFailed
from workers.rest.etags import holds
from workers.rest.execute import Around, Surroundings, Task, settings_of
from workers.rest.model import Action, ApiRequest, Result

_CHANGES = frozenset({Action.UPDATE, Action.UPSERT, Action.DELETE})
_COLLISION = "40001"
_SAVE = Statement("savepoint hw_condition")
_UNDO = Statement("rollback to savepoint hw_condition")


def is_conditional(asked: ApiRequest, headers: Headers) -> bool:
    """Tell whether a write has a condition on the rows that are there."""
    return asked.action in _CHANGES and (
        header(headers, "if-match") is not None or header(headers, "if-none-match") is not None
    )


async def execute_if(read: Task, write: Task, around: Around, sessions: Sessions) -> Result:
    """Do a write if what `read` gives meets the request's conditions.

    Raises: PreconditionFailed; DatabaseError and its siblings; what `Task.result` raises.
    """
    guarded = GuardedWrite(read, write, around)
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

    def __init__(self, read: Task, write: Task, around: Around) -> None:
        self._read, self._write, self._around = read, write, around
        self._is_checked = False
        self._before = 0
        self.result: Result | None = None

    def work(self) -> Work:
        """Return the transaction with the statements of the read."""
        is_serializable = self._around.role.isolation == "serializable"
        return Work(
            settings=settings_of(self._write.plan, self._around),
            statements=self._reads(),
            isolation="serializable" if is_serializable else "repeatable read",
            end=End.DECIDE,
        )

    def _reads(self) -> list[Statement]:
        """Return the statements of the read: the pre-request function, then the others behind a savepoint."""
        whole, own = self._read.statements(self._around.surroundings), self._read.statements(Surroundings())
        before = whole[: len(whole) - len(own)]
        self._before = len(before) + 1
        return [*before, _SAVE, *own, _UNDO]

    def __call__(self, results: list[Rows]) -> bool | Sequence[Statement]:
        if self._is_checked:
            self.result = self._write.result(results)
            return self._write.plan.end is not End.ROLLBACK
        found = self._read.result(results[self._before : -1])
        assert isinstance(found.body, bytes)  # long values come without a decision only
        if not holds(self._around.request.headers, found.body, found.page_total):
            raise PreconditionFailed
        self._is_checked = True
        return self._write.statements(Surroundings())  # the pre-request function has been called
