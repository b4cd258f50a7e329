"""Log lines of transactions: those that failed and those that took long, with the id of the request that they belong to.

The text of statements is shown for pools whose statements are the platform's: values are parameters there. SQL that a person
wrote (administrators, jobs) may contain values, so of those only the SQLSTATE and the time are shown.
"""

from collections.abc import Sequence
from typing import ClassVar

from broker.observability.observations import Observation
from broker.observability.observe import log_buffer, observe
from broker.requests.current_request import CURRENT
from workers.database.errors import DatabaseError
from workers.database.transactions.model import Statement

_LONGEST_TEXT = 2000


class StatementFailed(Observation, frozen=True):
    """A statement was rejected by the database."""

    level: ClassVar[str] = "debug"
    is_stored: ClassVar[bool] = True
    request_id: str
    login: str
    sqlstate: str
    duration_ms: float
    statement: str = ""
    schema: str = ""
    table: str = ""
    constraint: str = ""


class TransactionSlow(Observation, frozen=True):
    """A transaction took longer than log.store.slow_statement."""

    level: ClassVar[str] = "debug"
    is_stored: ClassVar[bool] = True
    request_id: str
    login: str
    duration_ms: float
    statement: str = ""


class StatementLines:
    """Notes the transactions of one connection pool. `shows_text`: its statements contain no values."""

    def __init__(self, login: str, *, shows_text: bool) -> None:
        self._login, self._shows_text = login, shows_text

    def ended(self, statements: Sequence[Statement], duration_s: float) -> None:
        """Note a transaction that succeeded."""
        request = CURRENT.get()
        if request is not None:
            request.sql_s += duration_s
        lines = log_buffer()
        if lines is not None and duration_s >= lines.slow_statement_s:
            id = "" if request is None else request.request_id
            text = ";\n".join(statement.text for statement in statements)
            observe(TransactionSlow(id, self._login, _milliseconds(duration_s), self._shown(text)))

    def failed(self, statements: Sequence[Statement], duration_s: float, error: DatabaseError) -> None:
        """Note a transaction that the database rejected."""
        if log_buffer() is None:
            return
        request = CURRENT.get()
        index = error.statement_index
        text = statements[index].text if index is not None and 0 <= index < len(statements) else ""
        observe(
            StatementFailed(
                "" if request is None else request.request_id,
                self._login,
                error.code,
                _milliseconds(duration_s),
                self._shown(text),
                *(
                    (error.schema or "", error.table or "", error.constraint or "")
                    if self._shows_text
                    else ()
                ),
            )
        )

    def _shown(self, text: str) -> str:
        return text[:_LONGEST_TEXT] if self._shows_text else ""


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 2)
