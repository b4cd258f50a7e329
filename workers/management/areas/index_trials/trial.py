"""Tries an index on a copy of rows, in a transaction that is rolled back.

    begin; create temp table (like the table, with its indexes); insert a sample; analyze
    explain the statement -> cost before; create index on the copy; explain -> cost after; rollback

Why a copy: `create index` on the table itself stops its writers, also in a transaction that is rolled back, and `concurrently` cannot be
rolled back. The table is only read, under the lock of every SELECT. The copy is a temporary table: its pages are in no log of the
server, so no replica, slot or archive gets them. What it costs is bounded: MOST_COPIED_BYTES of the table (a sample of its pages if it
is larger), the time limit, and LOCK_TIMEOUT to wait for a lock. The session is of role `postgres`, never of a superuser.

What the figures are: the planner's costs for any values of the parameters, of the copy, without policies. Its statistics are those of an
ANALYZE of the copy. With a sample both costs are of the sample; their ratio is what counts.
Source: PostgreSQL, "CREATE INDEX" (locks), "TABLESAMPLE", "CREATE TABLE" (LIKE, TEMPORARY).
"""

from dataclasses import dataclass
from typing import Any

from workers.database.errors import DatabaseError
from workers.management.areas.index_trials.candidates import reads_table, uses_index
from workers.management.areas.index_trials.copied_names import with_copied_table
from workers.management.areas.sql.explain_run import generic_plan
from workers.management.areas.sql.messages import ValueRow
from workers.management.areas.sql.run import split_text
from workers.management.areas.sql.session import SqlSession
from workers.management.areas.sql.sessions import SessionSpec
from workers.management.interface.errors import ManagementError
from workers.sql.compose import quoted

MOST_COPIED_BYTES = 32 * 1024 * 1024
"""Bytes of a table, with its values out of line, that a trial copies at most; of a larger table a sample of its pages."""
_LOCK_TIMEOUT = "500ms"
_INDEX = "headwater_trial"
_TEMPORARY = "pg_temp"
_SETTINGS = (
    "select pg_catalog.set_config('lock_timeout', $1, true), pg_catalog.set_config('search_path', $2, true),"
    " pg_catalog.set_config('max_parallel_workers_per_gather', '0', true)"
)
"""A temporary table is read by no parallel worker, so the plan before must not have been made with them."""
_SIZE = (
    "select pg_catalog.pg_table_size(relation.oid)::pg_catalog.text, relation.reltuples::pg_catalog.text"
    " from pg_catalog.pg_class as relation where relation.oid operator(pg_catalog.=) $1::pg_catalog.regclass"
)
_COPIED = (
    "select pg_catalog.pg_relation_size($1::pg_catalog.regclass)::pg_catalog.text, relation.reltuples::pg_catalog.text"
    " from pg_catalog.pg_class as relation where relation.oid operator(pg_catalog.=) $2::pg_catalog.regclass"
)


@dataclass(frozen=True, slots=True)
class IndexToTry:
    """A table, the columns of the index, and the statement that it should help."""

    schema: str
    table: str
    columns: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class TrialResult:
    """Plans (members "Plan" of EXPLAIN) before and after, and the sizes. `share`: of the table's bytes, that were copied."""

    before: dict[str, Any]
    after: dict[str, Any]
    is_used: bool
    rows: int
    table_bytes: int
    share: float
    index_bytes: int
    """Estimated for the whole table."""


async def try_index(
    session: SqlSession, index: IndexToTry, spec: SessionSpec, search_path: tuple[str, ...]
) -> TrialResult:
    """Run a trial and roll it back. Raises: SqlFailed, DatabaseError; ManagementError (409) if no plan can show a difference."""
    await session.command("begin")
    try:
        return await _tried(session, index, spec, search_path)
    finally:
        if session.lost is None and not session.is_running:
            await session.command("rollback")


async def _tried(
    session: SqlSession, index: IndexToTry, spec: SessionSpec, search_path: tuple[str, ...]
) -> TrialResult:
    path = ", ".join(quoted(name) for name in search_path)
    await session.command(_SETTINGS, [_LOCK_TIMEOUT.encode(), path.encode()])
    source, copy = (f"{schema}.{quoted(index.table)}" for schema in (quoted(index.schema), _TEMPORARY))
    table_bytes, known_rows = _numbers(await session.command(_SIZE, [source.encode()]))
    share = min(1.0, MOST_COPIED_BYTES / max(1.0, table_bytes))
    await session.command(
        f"create temporary table {quoted(index.table)} (like {source} including indexes) on commit drop"
    )
    sample = "" if share == 1.0 else f" tablesample system ({share * 100:.6f})"
    await session.command(f"insert into {copy} select * from {source}{sample}")  # noqa: S608 - quoted names of the catalog, and a number
    await session.command(f"analyze {copy}")
    text = with_copied_table(index.text, index.schema, index.table)
    [script] = split_text(text)
    before = await generic_plan(session, text, script, spec)
    if not reads_table(before, index.table, "pg_temp"):
        raise ManagementError(
            409, "no_trial", "The statement reads the table through a view, a function or a partition, which no copy can stand in for",
            hint="Run the statement behind it in the page SQL, and look for that one here.",
        )  # fmt: skip
    columns = ", ".join(quoted(name) for name in index.columns)
    await session.command(f"create index {_INDEX} on {copy} ({columns})")
    after = await generic_plan(session, text, script, spec)
    names = [f"{_TEMPORARY}.{_INDEX}".encode(), copy.encode()]
    index_bytes, copied_rows = _numbers(await session.command(_COPIED, names))
    rows = max(known_rows, copied_rows)
    return TrialResult(
        before,
        after,
        uses_index(after, _INDEX),
        round(rows),
        round(table_bytes),
        share,
        round(index_bytes * rows / max(1.0, copied_rows)) if share < 1.0 else round(index_bytes),
    )


def _numbers(rows: list[ValueRow]) -> tuple[float, float]:
    [[first, second]] = rows
    assert isinstance(first, bytes), "the statement returns two texts"
    assert isinstance(second, bytes), "the statement returns two texts"
    return float(first), float(second)


def lookup_text(schema: str, table: str, columns: tuple[str, ...]) -> str:
    """Return the statement that looks up rows by all columns, as a foreign key does when a row that it refers to changes."""
    conditions = " and ".join(f"{quoted(name)} = ${number}" for number, name in enumerate(columns, 1))
    return f"select 1 from {quoted(schema)}.{quoted(table)} where {conditions}"  # noqa: S608 - quoted names of the catalog


def cost_of(plan: dict[str, Any]) -> float:
    """Return the total cost of a plan, in the planner's units."""
    return float(plan["Total Cost"])


def is_failure_of_trial(error: DatabaseError) -> bool:
    """Return whether the server refused the trial for a reason of the table: rights, a lock, a type without an order."""
    return error.code in ("42501", "55P03", "57014", "42704", "0A000", "54000", "42P17")
