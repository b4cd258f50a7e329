"""What views, and functions that return rows without arguments, return to a caller: their rows have no key, so whole rows are compared."""

from collections.abc import Sequence

import asyncpg
from msgspec import Struct

from workers.project.access.affected import changed_functions, changed_views
from workers.project.access.callers import Caller
from workers.project.access.catalog import AccessCatalog, request_path
from workers.project.access.model import AccessQuestion, ChangedRow, RowAccessChange
from workers.project.access.verdicts import become, reading_only
from workers.sql import compose

_MOST_CALLERS = 20
"""Callers of each view: each reads all of it."""
_MOST_ROWS = 20_000
_MOST_EXAMPLES = 3


class _Source(Struct, frozen=True):
    """A view with the columns of both states, or a call of a function; `roles` may read it in each state."""

    title: str
    schema: str
    sql: str
    columns: list[str]
    roles: dict[str, set[str]]


class _Result(Struct, frozen=True):
    """The rows that a caller got: how many in all, and the first of them by hash; `error` instead of rows."""

    total: int = 0
    rows: dict[str, str] = {}
    error: str = ""


class PlainReads:
    """Views and functions that a change may concern, read in both states by the same callers."""

    def __init__(
        self,
        before: AccessCatalog,
        after: AccessCatalog,
        callers: Sequence[Caller],
        question: AccessQuestion,
        *,
        rows_changed: bool,
    ) -> None:
        """Decide what is read, and by whom: one caller of each role, and some users."""
        self._question = question
        self._sources = [
            *_views(before, after, rows_changed=rows_changed),
            *_functions(before, after, rows_changed=rows_changed),
        ]
        self._callers = [*callers[:_MOST_CALLERS]]
        self._results: dict[str, list[list[_Result]]] = {}
        self._slow: set[str] = set()
        """Titles of sources that a caller could not read in time: no other caller reads them, or one slow view would take all the time there is."""
        self.notes: list[str] = []
        if self._sources and len(callers) > _MOST_CALLERS:
            self.notes.append(f"Views and functions were read by {_MOST_CALLERS} of {len(callers):,} callers")

    async def read(self, connection: asyncpg.Connection, side: str) -> None:
        """Read everything in one state. Raises: the driver's errors, but those of a read."""
        self._results[side] = [
            [
                await self._read_as(connection, source, caller)
                if caller.role in source.roles[side] and source.title not in self._slow
                else _Result()
                for caller in self._callers
            ]
            for source in self._sources
        ]

    def changes(self) -> list[RowAccessChange]:
        """Return what callers gain and lose."""
        changes = []
        for number, source in enumerate(self._sources):
            if source.title in self._slow:
                limit = self._question.statement_timeout_s
                self.notes.append(
                    f"{source.title} was not compared: a caller needs longer than {limit:g} s to read it"
                )
                continue
            pairs = zip(
                self._callers, self._results["before"][number], self._results["after"][number], strict=True
            )
            by_role: dict[str, list[tuple[Caller, _Result, _Result]]] = {}
            for caller, was, now in pairs:
                by_role.setdefault(caller.role, []).append((caller, was, now))
                self.notes += [
                    f"{source.title} fails for {caller.label}: {item.error}"
                    for item in (was, now)
                    if item.error
                ][:1]
            changes += [
                change for role, items in by_role.items() if (change := _change(source.title, role, items))
            ]
        return changes

    async def _read_as(self, connection: asyncpg.Connection, source: _Source, caller: Caller) -> _Result:
        path = request_path(source.schema, self._question.search_path)
        async with reading_only(connection, self._question.statement_timeout_s):
            try:
                await become(connection, [("search_path", path), *caller.settings])
                return await _rows_of(connection, source)
            except asyncpg.QueryCanceledError:
                self._slow.add(source.title)
                return _Result()
            except asyncpg.PostgresError as error:
                return _Result(error=str(error)[:300])


async def _rows_of(connection: asyncpg.Connection, source: _Source) -> _Result:
    columns = ", ".join(compose.quoted(name) for name in source.columns) or "*"
    rows = await connection.fetch(
        "select pg_catalog.md5(text_), pg_catalog.min(pg_catalog.left(text_, 200)), pg_catalog.sum(pg_catalog.count(*)) over ()"  # noqa: S608 - quoted names of the catalog, read as the caller
        f" from (select rows_::pg_catalog.text as text_ from (select {columns} from {source.sql}) as rows_) as texts_"
        f" group by 1 order by 1 limit {_MOST_ROWS + 1}"
    )
    return _Result(int(rows[0][2]) if rows else 0, {row[0]: row[1] for row in rows})


def _change(
    title: str, role: str, items: Sequence[tuple[Caller, _Result, _Result]]
) -> RowAccessChange | None:
    gaining = losing = gained = lost = 0
    examples: dict[bool, list[ChangedRow]] = {True: [], False: []}
    for caller, was, now in items:
        if was.error or now.error:
            continue
        more, fewer = now.rows.keys() - was.rows.keys(), was.rows.keys() - now.rows.keys()
        if (
            max(len(was.rows), len(now.rows)) > _MOST_ROWS
        ):  # the first rows of both are not the same part: totals alone tell
            more, fewer = (
                (more if now.total > was.total else set()),
                (fewer if now.total < was.total else set()),
            )
            count_more, count_fewer = max(now.total - was.total, 0), max(was.total - now.total, 0)
        else:
            count_more, count_fewer = len(more), len(fewer)
        gaining, losing = gaining + bool(count_more), losing + bool(count_fewer)
        gained, lost = max(gained, count_more), max(lost, count_fewer)
        examples[True] += [ChangedRow(now.rows[key], caller.label) for key in sorted(more)[:_MOST_EXAMPLES]]
        examples[False] += [ChangedRow(was.rows[key], caller.label) for key in sorted(fewer)[:_MOST_EXAMPLES]]
    if not (gaining or losing):
        return None
    return RowAccessChange(
        title,
        "select",
        role,
        gained,
        lost,
        len(items),
        gaining,
        losing,
        examples[True][:_MOST_EXAMPLES],
        examples[False][:_MOST_EXAMPLES],
    )


def _views(before: AccessCatalog, after: AccessCatalog, *, rows_changed: bool) -> list[_Source]:
    sources = []
    for title in changed_views(before, after, rows_changed=rows_changed):
        was, now = before.relations[title], after.relations[title]
        shared = {column.name for column in was.columns}
        columns = [column.name for column in now.columns if column.name in shared]
        roles = {
            side: {role for role, rights in view.rights.items() if rights.select}
            for side, view in (("before", was), ("after", now))
        }
        name = f"{compose.quoted(now.schema)}.{compose.quoted(now.name)}"
        sources.append(_Source(title, now.schema, name, columns, roles))
    return sources


def _functions(before: AccessCatalog, after: AccessCatalog, *, rows_changed: bool) -> list[_Source]:
    sources = []
    for title in changed_functions(before, after, rows_changed=rows_changed):
        was, now = before.functions[title], after.functions[title]
        call = f"{compose.quoted(now.schema)}.{compose.quoted(now.name)}()"
        roles = {"before": set(was.roles), "after": set(now.roles)}
        sources.append(_Source(title, now.schema, call, [], roles))
    return sources
