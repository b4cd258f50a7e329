"""Runs EXPLAIN for a statement that a person wrote, in a session of its own."""

import asyncio
from collections.abc import Sequence

import msgspec

from workers.database.errors import DatabaseError, Disconnected
from workers.management.errors import ManagementError
from workers.management.sql.errors import SqlFailed
from workers.management.sql.explain import ExplainedStatement, explained
from workers.management.sql.session import SqlSession
from workers.management.sql.sessions import SessionSpec
from workers.project.sql_splitter import ScriptStatement

_OPTIONS = "format json, verbose on, settings on"
_OPTIONS_OF_RUN = f"{_OPTIONS}, analyze on, buffers on, timing on"
_GRACE_S = 1.0


async def explain_statement(
    session: SqlSession,
    text: str,
    script: ScriptStatement,
    parameters: Sequence[str | None],
    *,
    is_analyzed: bool,
    spec: SessionSpec,
) -> ExplainedStatement:
    """Return the plan of a statement. A statement that `analyze` executes is rolled back, whatever it wrote.

    Raises: SqlFailed; ManagementError (504).
    """
    head = f"explain ({_OPTIONS_OF_RUN if is_analyzed else _OPTIONS}) "
    values = [None if value is None else value.encode() for value in parameters]
    try:
        async with asyncio.timeout(spec.timeout_s + _GRACE_S):
            if not spec.is_read_only:
                await session.command("begin")
            rows = await session.command(head + script.text, values)
            await session.command("rollback")
    except DatabaseError as error:
        if error.position is not None:
            error.position = max(1, error.position - len(head))
        raise SqlFailed(error, text, script) from None
    except Disconnected as error:
        raise SqlFailed(DatabaseError("08006", f"The session ended: {error}"), text, script) from None
    except TimeoutError:
        raise ManagementError(
            504, "timeout", f"The statement took longer than {spec.timeout_s:g} seconds; it was terminated"
        ) from None
    document = rows[0][0] if rows and rows[0] else None
    if not isinstance(document, bytes):
        raise ManagementError(422, "too_large", "The plan is too large to be shown")
    return explained(msgspec.json.decode(document))
