"""Runs EXPLAIN for a statement that a person wrote, in a session of its own."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from workers.database.errors import DatabaseError, Disconnected
from workers.management.areas.sql.errors import SqlFailed
from workers.management.areas.sql.explain import ExplainedStatement, explained
from workers.management.areas.sql.messages import ValueRow
from workers.management.areas.sql.session import SqlSession
from workers.management.areas.sql.sessions import SessionSpec
from workers.management.interface.errors import ManagementError
from workers.project.sql_splitter import ScriptStatement

_OPTIONS = "format json, verbose on, settings on"
_OPTIONS_OF_RUN = f"{_OPTIONS}, analyze on, buffers on, timing on"
_PREPARED = "headwater_plan"
_EXECUTE = (
    "select pg_catalog.format('execute %I%s', prepared.name, case when pg_catalog.cardinality(prepared.parameter_types) operator(pg_catalog.>) 0"
    " then pg_catalog.format(' (%s)', pg_catalog.array_to_string(pg_catalog.array_fill('null'::pg_catalog.text,"
    " array[pg_catalog.cardinality(prepared.parameter_types)]), ', ')) end)"
    " from pg_catalog.pg_prepared_statements as prepared where prepared.name operator(pg_catalog.=) $1"
)
"""The statement that executes a prepared one with a null for each parameter."""
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
    async with _failures(text, script, len(head), spec):
        if not spec.is_read_only:
            await session.command("begin")
        rows = await session.command(head + script.text, values)
        await session.command("rollback")
    return explained(_document(rows))


async def explain_generic(
    session: SqlSession, text: str, script: ScriptStatement, spec: SessionSpec
) -> ExplainedStatement:
    """Return the tree of `generic_plan`. Raises: as `explain_statement`."""
    return explained(await _generic_document(session, text, script, spec))


async def generic_plan(
    session: SqlSession, text: str, script: ScriptStatement, spec: SessionSpec
) -> dict[str, Any]:
    """Return the plan of a query for any values of its parameters, as the server wrote it. The query is not run.

    The session must have begun a transaction. EXPLAIN would need values for $1, $2... and plan for them; a prepared statement has a
    plan without them. (The option GENERIC_PLAN exists since Postgres 16, and not in the extended protocol.)
    Raises: as `explain_statement`.
    """
    plan: dict[str, Any] = (await _generic_document(session, text, script, spec))[0]["Plan"]
    return plan


async def _generic_document(
    session: SqlSession, text: str, script: ScriptStatement, spec: SessionSpec
) -> list[dict[str, Any]]:
    head = f"prepare {_PREPARED} as "
    async with _failures(text, script, len(head), spec):
        await session.command("set local plan_cache_mode = force_generic_plan")
        await session.command("deallocate all")  # an earlier statement of the session
        await session.command(head + script.text)
        [[execute]] = await session.command(_EXECUTE, [_PREPARED.encode()])
        assert isinstance(execute, bytes)
        rows = await session.command(f"explain ({_OPTIONS}) {execute.decode()}")
    return _document(rows)


@asynccontextmanager
async def _failures(text: str, script: ScriptStatement, head: int, spec: SessionSpec) -> AsyncIterator[None]:
    """Turn failures of a statement into those of the text. `head`: characters of ours before it. Raises: as `explain_statement`."""
    try:
        async with asyncio.timeout(spec.timeout_s + _GRACE_S):
            yield
    except DatabaseError as error:
        if error.position is not None:
            error.position = max(1, error.position - head)
        raise SqlFailed(error, text, script) from None
    except Disconnected as error:
        raise SqlFailed(DatabaseError("08006", f"The session ended: {error}"), text, script) from None
    except TimeoutError:
        raise ManagementError(
            504, "timeout", f"The statement took longer than {spec.timeout_s:g} seconds; it was terminated"
        ) from None


def _document(rows: list[ValueRow]) -> list[dict[str, Any]]:
    document = rows[0][0] if rows and rows[0] else None
    if not isinstance(document, bytes):
        raise ManagementError(422, "too_large", "The plan is too large to be shown")
    return msgspec.json.decode(document, type=list[dict[str, Any]])
