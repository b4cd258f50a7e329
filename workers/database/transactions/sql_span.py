"""The trace span of one write to Postgres: statement texts with `$1` in them, never a parameter.

A user's own statement text may contain anything. Such texts do not run through the connection pool but on connections of
their own (the scheduler's jobs, project files), which are not traced.
"""

from collections.abc import Awaitable, Sequence
from typing import TypeVar

from broker.observability.spans import Tracing
from workers.database.errors import DatabaseError
from workers.database.transactions.model import Statement

T = TypeVar("T")

LONGEST_TEXT = 2000
"""Characters of the statement texts that a span shows."""


async def in_sql_span(tracing: Tracing, statements: Sequence[Statement], running: Awaitable[T]) -> T:
    """Await `running` inside a span, if the current request is traced."""
    text = ";\n".join(statement.text for statement in statements)
    attributes: dict[str, str | int] = {"db.system.name": "postgresql", "db.query.text": text[:LONGEST_TEXT]}
    if len(statements) > 1:
        attributes["db.operation.batch.size"] = len(statements)
    with tracing.client_span("sql", attributes, may_begin=False) as span:
        try:
            return await running
        except DatabaseError as error:
            span.note("db.response.status_code", error.code)
            raise
