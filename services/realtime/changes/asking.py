"""What the feed asks the realtime pool: rights, visible rows, rows that pass a filter.

While rows wait for an answer the question is asked again and again: a row is never skipped, and never shown unchecked.
Only where the pool refuses a question for good (a table that is gone) nobody is shown the rows.
Questions about the visibility of rows of one table are put together while others of that table are underway: a busy table
costs a few questions with many rows, not many with one.
"""

import asyncio
import random
import secrets
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from msgspec import Struct

from broker.codec import Undecodable, decoder, encode
from broker.observability.observe import observe
from broker.requests.call import Calls
from broker.subjects import REALTIME
from schemas.caller import Service
from schemas.errors import DeadlineExceeded, Unavailable
from schemas.http import Request
from schemas.realtime import (
    CHECK,
    MATCH,
    TABLE,
    VISIBLE,
    Check,
    Checked,
    CheckedEntry,
    Entry,
    Filter,
    Flags,
    MatchAsked,
    Table,
    TableAsked,
    VisibleAsked,
)
from services.realtime.changes.groups import Group
from services.realtime.changes.observed import QuestionRefused, QuestionRepeated

T = TypeVar("T", bound=Struct)
Place = tuple[str, str]
"""Schema and table."""

_BUDGET_MS = 10_000
_CHECK_MS = 8_000
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.05, 2.0
_UNDERWAY = 4
_MATCHING = 16
"""Questions about filters that are underway at a time: a thousand odd filters must not keep the pool from the joins of others."""
_MOST_PAIRS = 20_000
"""Rows times groups of one question."""
_MOST_ROWS = 500
_MOST_BYTES = 128 * 1024
"""Bytes of values of one question, if it has more than one row."""
_HIDDEN = b"\0"
LoggedRow = list[bytes | None]
"""JSON texts of the values of a row's key and of the columns that are compared; None: the log does not have the value."""


class Compared(NamedTuple):
    """What a question about visible rows names of a table: the key that finds a row, and the columns that must be the same."""

    key: tuple[str, ...]
    columns: tuple[str, ...]


class Refused(Exception):
    """The pool answered a question with this status: asking again makes no sense."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@dataclass(slots=True, eq=False)
class _Waiting:
    """Rows that wait to be asked for, and for whom."""

    key: "Compared"
    rows: list[LoggedRow]
    groups: list[Group]
    answer: "asyncio.Future[list[bytes]]"


class Asking:
    """Asks the pool. One for a feed."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._loop = asyncio.get_running_loop()
        self._matching = asyncio.Semaphore(_MATCHING)
        self._waiting: defaultdict[Place, list[_Waiting]] = defaultdict(list)
        self._underway: defaultdict[Place, int] = defaultdict(int)
        self._tasks: set[asyncio.Task[None]] = set()

    async def check(self, group: Group, entries: list[Entry]) -> list[CheckedEntry]:
        """Ask what becomes of entries. Raises: Unavailable, DeadlineExceeded."""
        try:
            checked = await self._ask(CHECK, Check(group.role, group.raw, entries), Checked, _CHECK_MS)
        except Refused as refused:
            raise Unavailable(f"the realtime pool refused a subscription ({refused.status})") from None
        if len(checked.entries) != len(entries):
            raise Unavailable("the realtime pool answered for other entries than were asked")
        return checked.entries

    async def table(self, role: str, place: Place, at_least: int) -> Table:
        """Ask what a role may see of a table, until it is answered. Raises: Refused."""
        return await self._insist(TABLE, TableAsked(role, *place, at_least), Table)

    async def matches(self, place: Place, filters: list[Filter], rows: list[bytes]) -> bytes:
        """Ask which rows pass filters, until it is answered: a byte for each."""
        flags = b""
        for start in range(0, len(rows), _MOST_ROWS):
            part = rows[start : start + _MOST_ROWS]
            async with self._matching:
                flags += (await self._flags(MATCH, MatchAsked(*place, filters, part), 1, len(part)))[0]
        return flags

    async def visible(
        self, place: Place, key: Compared, rows: list[LoggedRow], groups: list[Group]
    ) -> list[bytes]:
        """Ask which rows groups may see now, until it is answered: for each group a byte for each row (`Flags`)."""
        waiting = _Waiting(key, rows, groups, self._loop.create_future())
        self._waiting[place].append(waiting)
        self._send(place)
        return await waiting.answer

    async def close(self) -> None:
        """Ask nothing more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _send(self, place: Place) -> None:
        """Send what waits for a table, unless enough is underway."""
        while self._waiting[place] and self._underway[place] < _UNDERWAY:
            together = _taken(self._waiting[place])
            self._underway[place] += 1
            task = self._loop.create_task(self._settle(place, together))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if not self._waiting[place] and not self._underway[place]:
            del self._waiting[place], self._underway[place]

    async def _settle(self, place: Place, together: list[_Waiting]) -> None:
        """Ask one question for several that wait, and tell each its part."""
        try:
            groups = list(dict.fromkeys(group for each in together for group in each.groups))
            rows = [row for each in together for row in each.rows]
            numbers = {group: number for number, group in enumerate(groups)}
            flags = await self._visible(place, together[0].key, rows, groups)
            at = 0
            for each in together:
                end = at + len(each.rows)
                if not each.answer.done():
                    each.answer.set_result([flags[numbers[group]][at:end] for group in each.groups])
                at = end
        except BaseException as error:
            for each in together:
                if not each.answer.done():
                    each.answer.set_exception(error) if isinstance(error, Exception) else each.answer.cancel()
            raise
        finally:
            self._underway[place] -= 1
            self._send(place)

    async def _visible(
        self, place: Place, key: Compared, rows: list[LoggedRow], groups: list[Group]
    ) -> list[bytes]:
        found = [b""] * len(groups)
        rows_step = min(_MOST_ROWS, max(1, _MOST_PAIRS // len(groups)))
        groups_step = max(1, _MOST_PAIRS // min(rows_step, len(rows)))
        for part in _parts(rows, rows_step):
            for group in range(0, len(groups), groups_step):
                some = groups[group : group + groups_step]
                callers = [(each.role, each.raw) for each in some]
                asked = VisibleAsked(*place, list(key.key), part, callers, list(key.columns))
                flags = await self._flags(VISIBLE, asked, len(some), len(part))
                for number, each in enumerate(flags, group):
                    found[number] += each
        return found

    async def _flags(self, path: str, asked: Struct, groups: int, rows: int) -> list[bytes]:
        """Ask until there is an answer of the right size; a refusal is a no for all."""
        while True:
            try:
                flags = (await self._insist(path, asked, Flags)).groups
            except Refused as refused:
                observe(QuestionRefused(path, refused.status))
                return [_HIDDEN * rows] * groups
            if len(flags) == groups and all(len(each) == rows for each in flags):
                return flags
            observe(QuestionRepeated(path, "the answer has another size"))
            await asyncio.sleep(_LAST_PAUSE_S)

    async def _insist(self, path: str, asked: Struct, kind: type[T]) -> T:
        pause_s, is_told = _FIRST_PAUSE_S, False
        while True:
            try:
                return await self._ask(path, asked, kind, _BUDGET_MS)
            except (Unavailable, DeadlineExceeded) as error:
                if not is_told and pause_s > 10 * _FIRST_PAUSE_S:
                    observe(QuestionRepeated(path, str(error)))
                    is_told = True
            await asyncio.sleep(pause_s * random.uniform(0.7, 1.0))
            pause_s = min(2 * pause_s, _LAST_PAUSE_S)

    async def _ask(self, path: str, asked: Struct, kind: type[T], budget_ms: int) -> T:
        request = Request(
            secrets.token_hex(8), "POST", path, caller=Service(), budget_ms=budget_ms, body=encode(asked)
        )
        answer = await self._calls.call(REALTIME, request)
        body, status = answer.response.body, answer.response.status
        if answer.chunks is not None:
            body = b"".join([chunk async for chunk in answer.chunks])
        if status == 429 or status >= 500:
            raise Unavailable(f"the realtime pool answered {status}")
        if status != 200:
            raise Refused(status)
        try:
            found: T = decoder(kind)(body)
        except Undecodable as error:
            raise Unavailable(f"the realtime pool answered something else than a {error.expected}") from None
        return found


def _parts(rows: list[LoggedRow], most: int) -> Iterator[list[LoggedRow]]:
    """Split rows into parts of at most `most` rows, and of at most `_MOST_BYTES` where a part has several."""
    part: list[LoggedRow] = []
    size = 0
    for row in rows:
        own = sum(len(value) for value in row if value is not None)
        if part and (len(part) >= most or size + own > _MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(row)
        size += own
    yield part


def _taken(waiting: list[_Waiting]) -> list[_Waiting]:
    """Take from the front what can be asked together: rows with the same key, not too many for all groups."""
    taken = [waiting.pop(0)]
    groups, rows = set(taken[0].groups), len(taken[0].rows)
    while waiting and waiting[0].key == taken[0].key:
        more, count = groups | set(waiting[0].groups), rows + len(waiting[0].rows)
        if len(more) * count > _MOST_PAIRS:
            break
        groups, rows = more, count
        taken.append(waiting.pop(0))
    return taken
