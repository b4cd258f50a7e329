"""Operations on indexes that statements lack: find them in the plans of the costliest statements, try one on a copy of rows."""

import asyncio
import dataclasses
import time
from typing import Annotated, Any

import msgspec
from msgspec import Struct

from schemas.platform_names import PLATFORM_SCHEMAS
from workers.database.errors import DatabaseError
from workers.management.areas.index_trials.candidates import IndexCandidate, candidates_of
from workers.management.areas.index_trials.trial import (
    IndexToTry,
    TrialResult,
    cost_of,
    is_failure_of_trial,
    lookup_text,
    try_index,
)
from workers.management.areas.sql.errors import SqlFailed
from workers.management.areas.sql.explain import PlanNode, plan_tree
from workers.management.areas.sql.explain_run import generic_plan
from workers.management.areas.sql.run import split_text
from workers.management.areas.sql.session import SqlSession
from workers.management.areas.sql.sessions import SessionSpec, open_session, session_spec
from workers.management.areas.statistics.reading import check_name, read_text
from workers.management.areas.statistics.texts import is_query, without_constants
from workers.management.interface import argument_limits as limits
from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.identity.store import decode_rows
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import NoArguments
from workers.management.operations.statements import (
    MOST_PLAN,
    MOST_PLANNED,
    StatementStatistics,
    recorded_statements,
)
from workers.sql.files import read_statements

_SQL = read_statements("workers.management.operations", "index_trials.sql")
_MOST_READ, _MOST_TRIED = 300, 40
"""Statements that are read, the costliest first, and those of them that are planned."""
_MOST_COLUMNS = 8
_LEAST_BYTES = 256 * 1024
"""Of a table for which an index is proposed: a smaller one is read whole as quickly."""
_OWN_ROLES = ("headwater_", "supabase_", "pg_")
"""How the names of roles begin whose statements are the platform's."""
_SEARCH_PATH = ("public", "extensions")


class IndexedTable(Struct, frozen=True):
    """A table that an index may help. `rows` and bytes are those of the last ANALYZE or VACUUM."""

    schema: str
    table: str
    columns: list[str]
    definition: str
    rows: int
    table_bytes: int


class IndexProposal(IndexedTable, frozen=True, kw_only=True):
    """An index that statements ask for, and these statements by id, the costliest first; `text` is that of the first.

    `total_ms` and `calls` are the sums of the statements. Whether the index helps shows `statistics.try_index`.
    """

    statements: list[str]
    text: str
    calls: int
    total_ms: float


class IndexProposals(Struct, frozen=True):
    """Proposals, the one of the costliest statements first. `planned`: how many statements were looked at, of those recorded."""

    proposals: list[IndexProposal]
    planned: int


class IndexTrialQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """An index to try for a statement by its id; without a statement for a lookup by all its columns, as of a foreign key."""

    schema: str
    table: str
    columns: Annotated[list[str], limits.entries(_MOST_COLUMNS)]
    statement: str | None = None
    search_path: tuple[str, ...] = _SEARCH_PATH


class IndexTrial(Struct, frozen=True):
    """What an index changes. Costs are the planner's, of the copied rows; `gain` is the share of the cost that it saves, 0 to 1.

    `is_used`: whether the plan uses it. `sampled`: the share of the table that was copied. `index_bytes` is an estimate for the whole table.
    """

    definition: str
    cost_before: float
    cost_after: float
    gain: float
    is_used: bool
    sampled: float
    rows: int
    table_bytes: int
    index_bytes: int
    before: PlanNode
    after: PlanNode


async def propose(context: OperationContext, arguments: NoArguments) -> IndexProposals:
    """Plan the costliest statements and return the indexes that tables which are read whole ask for. Nothing is run."""
    del arguments
    recorded = await recorded_statements(context, "total_time", None, _MOST_READ, None, MOST_PLANNED)
    chosen = [
        row
        for row in recorded
        if row.role is not None and not row.role.startswith(_OWN_ROLES) and is_query(row.text)
    ][:_MOST_TRIED]
    statements_of: dict[IndexCandidate, list[StatementStatistics]] = {}
    spec = await _spec(context, is_read_only=True)
    async with open_session(context.database, spec) as session:
        until = time.monotonic() + spec.timeout_s
        planned = 0
        for row in chosen:
            if time.monotonic() > until:
                break
            planned += 1
            for candidate in await _candidates(session, row.text, spec):
                statements_of.setdefault(candidate, []).append(row)
    tables = await _indexable(context, list(statements_of))
    proposals = [
        _proposal(table, statements_of[candidate])
        for candidate, table in tables.items()
        if table.table_bytes >= _LEAST_BYTES
    ]
    proposals.sort(key=lambda proposal: -proposal.total_ms)
    return IndexProposals(proposals[: context.settings.max_rows], planned)


async def try_out(context: OperationContext, arguments: IndexTrialQuery) -> IndexTrial:
    """Compare the plans of a statement without and with an index, on a copy of rows that is rolled back."""
    for name in (arguments.schema, arguments.table, *arguments.columns, *arguments.search_path):
        check_name(name, "schema, table, columns and search_path")
    if not 1 <= len(arguments.columns) <= _MOST_COLUMNS or len(arguments.search_path) > _MOST_COLUMNS:
        raise invalid_arguments(
            f"`columns` has 1 to {_MOST_COLUMNS} names, `search_path` at most {_MOST_COLUMNS}"
        )
    candidate = IndexCandidate(arguments.schema, arguments.table, tuple(arguments.columns))
    table = (await _indexable(context, [candidate])).get(candidate)
    if table is None:
        raise not_found(
            "ordinary table of the project with these columns and without an index that begins with them"
        )
    text = await _text(context, arguments, candidate)
    spec = await _spec(context, is_read_only=False)
    index = IndexToTry(candidate.schema, candidate.table, candidate.columns, text)
    try:
        async with asyncio.timeout(spec.timeout_s), open_session(context.database, spec) as session:
            return _trial(table, await try_index(session, index, spec, arguments.search_path))
    except TimeoutError:
        raise _no_trial(f"it took longer than {spec.timeout_s:g} seconds, and was ended") from None
    except SqlFailed as error:
        raise _no_trial(str(error)) from None
    except DatabaseError as error:
        if not is_failure_of_trial(error):
            raise
        raise _no_trial(error.message) from None


async def _candidates(session: SqlSession, text: str, spec: SessionSpec) -> list[IndexCandidate]:
    """Return what a statement asks for; nothing for one that role postgres cannot plan."""
    await session.command("savepoint planned")
    try:
        [script] = split_text(text)
        return candidates_of(await generic_plan(session, text, script, spec))
    except (SqlFailed, ManagementError, ValueError):  # its rights, its names, or no single statement
        return []
    finally:
        if session.lost is None and not session.is_running:
            await session.command("rollback to savepoint planned")


async def _text(context: OperationContext, arguments: IndexTrialQuery, candidate: IndexCandidate) -> str:
    if arguments.statement is None:
        return lookup_text(candidate.schema, candidate.table, candidate.columns)
    rows = await recorded_statements(context, "total_time", None, 1, arguments.statement, MOST_PLANNED)
    if not rows:
        raise not_found("statement of this id; statistics.statements lists them")
    return rows[0].text


async def _indexable(
    context: OperationContext, candidates: list[IndexCandidate]
) -> dict[IndexCandidate, IndexedTable]:
    if not candidates:
        return {}
    listed = msgspec.json.encode([dataclasses.asdict(candidate) for candidate in candidates]).decode()
    left_out = msgspec.json.encode(sorted(PLATFORM_SCHEMAS)).decode()
    rows = decode_rows(await read_text(context, _SQL["indexable"], listed, left_out), IndexedTable)
    return {IndexCandidate(row.schema, row.table, tuple(row.columns)): row for row in rows}


async def _spec(context: OperationContext, *, is_read_only: bool) -> SessionSpec:
    return await session_spec(
        context,
        view_as=None,
        is_read_only=is_read_only,
        timeout_s=context.settings.statement_timeout_s / 2,
        longest_message=MOST_PLAN,
    )


def _proposal(table: IndexedTable, rows: list[StatementStatistics]) -> IndexProposal:
    ids = list(dict.fromkeys(row.id for row in rows))
    members: dict[str, Any] = msgspec.structs.asdict(table)
    return IndexProposal(
        **members,
        statements=ids,
        text=without_constants(rows[0].text),
        calls=sum(row.calls for row in rows),
        total_ms=sum(row.total_ms for row in rows),
    )


def _trial(table: IndexedTable, result: TrialResult) -> IndexTrial:
    before, after = cost_of(result.before), cost_of(result.after)
    return IndexTrial(
        table.definition,
        before,
        after,
        max(0.0, 1 - after / before) if before > 0 else 0.0,
        result.is_used,
        result.share,
        result.rows,
        result.table_bytes,
        result.index_bytes,
        plan_tree(result.before),
        plan_tree(result.after),
    )


def _no_trial(message: str) -> ManagementError:
    return ManagementError(
        409,
        "no_trial",
        f"The index cannot be tried: {message}",
        hint="A trial reads the table and plans the statement as role postgres. Names without a schema are looked up along `search_path`.",
    )


def operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        Operation("statistics.index_proposals", "Find indexes that statements lack", NoArguments, IndexProposals, Right.DEVELOPER, propose),
        Operation("statistics.try_index", "Try an index on a copy of rows", IndexTrialQuery, IndexTrial, Right.DEVELOPER, try_out),
    ]  # fmt: skip
