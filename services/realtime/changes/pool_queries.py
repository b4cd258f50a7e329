"""Queries of the feed to the realtime pool: rights, visible rows, rows that pass a filter.

A query about rows is repeated until the pool answers: a row is never skipped, and never delivered unchecked. Only if the pool
rejects a query for good (a table that is gone) its rows are delivered to no subscriber. Queries about the visibility of rows of
one table are merged while `_UNDERWAY` others of that table are open: a busy table causes a few queries with many rows, not
many with one.
"""

import asyncio
import secrets
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from msgspec import Struct

from broker.backoff import Backoff
from broker.codec import InvalidMessage, decoder, encode
from broker.observability.observe import observe
from broker.requests.call import Calls
from broker.subjects import REALTIME
from schemas.caller import ServiceCaller
from schemas.errors import DeadlineExceeded, Unavailable
from schemas.http import Request
from schemas.realtime import (
    CHECK,
    MATCH,
    TABLE,
    VISIBLE,
    ChangeSubscription,
    CheckAnswer,
    CheckedSubscription,
    CheckQuery,
    FilterCondition,
    MatchQuery,
    RowFlags,
    TableGrant,
    TableQuery,
    VisibilityQuery,
)
from services.realtime.changes.claims_groups import ClaimsGroup
from services.realtime.changes.observations import RowQueryRejectedByPool, RowQueryRetried

T = TypeVar("T", bound=Struct)
TableName = tuple[str, str]
"""Schema and table."""

_BUDGET_MS = 10_000
_CHECK_MS = 8_000
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.05, 2.0
_REPORTED_ATTEMPT = 5
"""The failed attempt that is reported: the first ones pass while a pool starts again."""
_UNDERWAY = 4
"""Queries about visibility of one table that are open at the same time."""
_MATCHING = 16
"""Queries about filters that are open at the same time: a thousand different filters must not block joins in the pool."""
_MOST_PAIRS = 20_000
"""Rows times groups of one query."""
_MOST_ROWS = 500
_MOST_BYTES = 128 * 1024
"""Bytes of values of one query, if it has more than one row."""
_HIDDEN = b"\0"
LoggedRow = list[bytes | None]
"""JSON texts of the values of a row's key and of the compared columns; None: the value is not in the log."""


class ComparedColumns(NamedTuple):
    """The columns of a visibility query: the key that finds a row, and the columns whose values must be unchanged."""

    key: tuple[str, ...]
    columns: tuple[str, ...]


class RowQueryRejected(Exception):
    """The pool rejected a query with this status: another try makes no sense."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@dataclass(slots=True, eq=False)
class _PendingRows:
    """Rows whose visibility is to be queried, the groups to query it for, and the answer."""

    compared: ComparedColumns
    rows: list[LoggedRow]
    groups: list[ClaimsGroup]
    answer: "asyncio.Future[list[bytes]]"


class FeedQueries:
    """Sends the queries of one feed."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._loop = asyncio.get_running_loop()
        self._matching = asyncio.Semaphore(_MATCHING)
        self._pending: defaultdict[TableName, list[_PendingRows]] = defaultdict(list)
        self._underway: defaultdict[TableName, int] = defaultdict(int)
        self._tasks: set[asyncio.Task[None]] = set()

    async def check(
        self, group: ClaimsGroup, subscriptions: list[ChangeSubscription]
    ) -> list[CheckedSubscription]:
        """Return whether subscriptions can be made, and what their filters mean. Raises: Unavailable, DeadlineExceeded."""
        query = CheckQuery(group.role, group.raw, subscriptions)
        try:
            checked = await self._query(CHECK, query, CheckAnswer, _CHECK_MS)
        except RowQueryRejected as rejected:
            raise Unavailable(f"the realtime pool refused a subscription ({rejected.status})") from None
        if len(checked.subscriptions) != len(subscriptions):
            raise Unavailable("the realtime pool answered for other subscriptions than were sent")
        return checked.subscriptions

    async def table(self, role: str, table: TableName, least_lsn: int) -> TableGrant:
        """Return what a role may see of a table; retried until there is an answer. Raises: RowQueryRejected."""
        return await self._retry(TABLE, TableQuery(role, *table, least_lsn), TableGrant)

    async def matches(self, table: TableName, filters: list[FilterCondition], rows: list[bytes]) -> bytes:
        """Return which rows pass filters, a byte for each; retried until there is an answer."""
        flags = b""
        for start in range(0, len(rows), _MOST_ROWS):
            part = rows[start : start + _MOST_ROWS]
            async with self._matching:
                flags += (await self._flags(MATCH, MatchQuery(*table, filters, part), 1, len(part)))[0]
        return flags

    async def visible(
        self, table: TableName, compared: ComparedColumns, rows: list[LoggedRow], groups: list[ClaimsGroup]
    ) -> list[bytes]:
        """Return which rows each group sees now, a byte for each row (`RowFlags`); retried until there is an answer."""
        pending = _PendingRows(compared, rows, groups, self._loop.create_future())
        self._pending[table].append(pending)
        self._send(table)
        return await pending.answer

    async def close(self) -> None:
        """Cancel all queries."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _send(self, table: TableName) -> None:
        """Send what is pending for a table, unless `_UNDERWAY` queries are open."""
        while self._pending[table] and self._underway[table] < _UNDERWAY:
            merged = _pop_mergeable(self._pending[table])
            self._underway[table] += 1
            task = self._loop.create_task(self._answer(table, merged))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if not self._pending[table] and not self._underway[table]:
            del self._pending[table], self._underway[table]

    async def _answer(self, table: TableName, merged: list[_PendingRows]) -> None:
        """Send one query for several pending ones, and set the part of the answer that belongs to each."""
        try:
            groups = list(dict.fromkeys(group for pending in merged for group in pending.groups))
            rows = [row for pending in merged for row in pending.rows]
            numbers = {group: number for number, group in enumerate(groups)}
            flags = await self._visible(table, merged[0].compared, rows, groups)
            start = 0
            for pending in merged:
                end = start + len(pending.rows)
                if not pending.answer.done():
                    pending.answer.set_result([flags[numbers[group]][start:end] for group in pending.groups])
                start = end
        except BaseException as error:
            for pending in merged:
                if not pending.answer.done():
                    if isinstance(error, Exception):
                        pending.answer.set_exception(error)
                    else:
                        pending.answer.cancel()
            raise
        finally:
            self._underway[table] -= 1
            self._send(table)

    async def _visible(
        self, table: TableName, compared: ComparedColumns, rows: list[LoggedRow], groups: list[ClaimsGroup]
    ) -> list[bytes]:
        flags_of_groups = [b""] * len(groups)
        rows_step = min(_MOST_ROWS, max(1, _MOST_PAIRS // len(groups)))
        groups_step = max(1, _MOST_PAIRS // min(rows_step, len(rows)))
        for part in _parts(rows, rows_step):
            for start in range(0, len(groups), groups_step):
                some = groups[start : start + groups_step]
                callers = [(group.role, group.raw) for group in some]
                query = VisibilityQuery(*table, list(compared.key), part, callers, list(compared.columns))
                answer = await self._flags(VISIBLE, query, len(some), len(part))
                for number, flags in enumerate(answer, start):
                    flags_of_groups[number] += flags
        return flags_of_groups

    async def _flags(self, path: str, query: Struct, groups: int, rows: int) -> list[bytes]:
        """Repeat a query until its answer has the right size. A rejection counts as 0 for every row."""
        while True:
            try:
                answer = (await self._retry(path, query, RowFlags)).groups
            except RowQueryRejected as rejected:
                observe(RowQueryRejectedByPool(path, rejected.status))
                return [_HIDDEN * rows] * groups
            if len(answer) == groups and all(len(flags) == rows for flags in answer):
                return answer
            observe(RowQueryRetried(path, "the answer has another size"))
            await asyncio.sleep(_LAST_PAUSE_S)

    async def _retry(self, path: str, query: Struct, kind: type[T]) -> T:
        backoff, attempts = Backoff(_FIRST_PAUSE_S, _LAST_PAUSE_S, jitter=0.3), 0
        while True:
            try:
                return await self._query(path, query, kind, _BUDGET_MS)
            except (Unavailable, DeadlineExceeded) as error:
                attempts += 1
                if attempts == _REPORTED_ATTEMPT:
                    observe(RowQueryRetried(path, str(error)))
            await backoff.wait()

    async def _query(self, path: str, query: Struct, kind: type[T], budget_ms: int) -> T:
        request = Request(
            secrets.token_hex(8),
            "POST",
            path,
            caller=ServiceCaller(),
            budget_ms=budget_ms,
            body=encode(query),
        )
        answer = await self._calls.call(REALTIME, request)
        body, status = answer.response.body, answer.response.status
        if answer.chunks is not None:
            body = b"".join([chunk async for chunk in answer.chunks])
        if status == 429 or status >= 500:
            raise Unavailable(f"the realtime pool answered {status}")
        if status != 200:
            raise RowQueryRejected(status)
        try:
            result: T = decoder(kind)(body)
        except InvalidMessage as error:
            raise Unavailable(f"the realtime pool answered something else than a {error.expected}") from None
        return result


def _parts(rows: list[LoggedRow], most: int) -> Iterator[list[LoggedRow]]:
    """Split rows into parts of at most `most` rows, and of at most `_MOST_BYTES` if a part has several."""
    part: list[LoggedRow] = []
    size = 0
    for row in rows:
        row_size = sum(len(value) for value in row if value is not None)
        if part and (len(part) >= most or size + row_size > _MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(row)
        size += row_size
    yield part


def _pop_mergeable(pending: list[_PendingRows]) -> list[_PendingRows]:
    """Remove from the front what fits into one query: the same columns, and at most `_MOST_PAIRS` rows times groups."""
    merged = [pending.pop(0)]
    groups, rows = set(merged[0].groups), len(merged[0].rows)
    while pending and pending[0].compared == merged[0].compared:
        more_groups, more_rows = groups | set(pending[0].groups), rows + len(pending[0].rows)
        if len(more_groups) * more_rows > _MOST_PAIRS:
            break
        groups, rows = more_groups, more_rows
        merged.append(pending.pop(0))
    return merged
