"""The span of what is sent to Postgres in one write: texts with `$1` in them, never a parameter.

A statement that is the user's own text may hold anything; such ones do not come through the pools of connections, but
through connections of their own (the scheduler's jobs, project files), which are not traced.
"""

from collections.abc import Awaitable, Sequence
from typing import TypeVar

from broker.observability.tracing import Tracing
from workers.database.errors import DatabaseError
from workers.database.session import Statement

T = TypeVar("T")

LONGEST_TEXT = 2000
"""Characters of the texts that a span shows."""


async def traced(tracing: Tracing, statements: Sequence[Statement], doing: Awaitable[T]) -> T:
    """Do it inside of a span, if a request that is traced asks for it."""
    text = ";\n".join(statement.text for statement in statements)
    noted: dict[str, str | int] = {"db.system.name": "postgresql", "db.query.text": text[:LONGEST_TEXT]}
    if len(statements) > 1:
        noted["db.operation.batch.size"] = len(statements)
    with tracing.ask("sql", noted, may_begin=False) as span:
        try:
            return await doing
        except DatabaseError as error:
            span.note("db.response.status_code", error.code)
            raise
