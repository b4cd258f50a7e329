"""Quick reads of one moment share a connection: sent in one write, answered one after the other.

Each keeps what it is: an exchange with settings of its own and a Sync of its own, so a transaction of its own; an error
of one is nothing to the others. What is saved are wake-ups and cold caches: few processes of the server do the work of
many, each finding the next read among what it has received already.

    callers of one turn of the event loop --> group (at most `MOST`) --> a connection --> answers, in order

- Only works that may share, whose statement was quick of late (`_QUICK_S`), and only while other connections are busy:
  whoever comes first goes alone, so that the server can work in parallel.
- A group takes a connection of the share of one of its callers. Where none may have one now, each caller's reads wait as a group
  of their own, which more reads of that caller may join. When its connection comes, reads of others that wait go along, if their
  callers hold no more connections than this one.
- What a connection does not know yet (Parse), and what it knows wrongly, is done alone.
- Nobody waits long for another's read that turns out slow, by a lock for example: if nothing is answered for a while
  (`_LOOK_S`), all behind it go alone, on other connections. The server comes to their first copies later, and nobody
  hears of those: they only read.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol

from broker.requests.fair_queue import PLATFORM
from workers.database.errors import Disconnected, PoolBusy, PoolTimeout
from workers.database.pipeline import Part, Pipeline, Reply
from workers.database.session import Found, Work
from workers.database.transaction import found_among_others, messages_among_others

MOST = 4
"""Reads that share a connection at a time."""

_QUICK_S = 0.005
"""A statement that takes less, as seen from here, is quick."""
_RISE, _FALL = 1 / 16, 1 / 4
"""How fast the time held of a statement follows a longer one, and a shorter one: time in which only we were busy counts
little, and one execution of a second keeps its statement alone for a while."""
_STATEMENTS = 1000
"""Statements whose times are held."""
_LOOK_S = 0.025
"""A read that has kept others waiting at two looks in a row is slow."""


class _GoAlone(Exception):
    """A member is to do its work on a connection of its own."""


class Lender(Protocol):
    """Lends connections: the pool."""

    def lend(self, caller_key: str) -> Pipeline | None:
        """Give a connection that is free now, if this caller may have one."""
        ...

    async def lend_later(self, caller_key: str) -> Pipeline:
        """Wait for one of this caller's share. Raises: PoolTimeout, Disconnected."""
        ...

    def held(self, caller_key: str) -> int:
        """Return how many connections a caller has."""
        ...

    def take_back(self, pipeline: Pipeline) -> None:
        """Take a connection back."""
        ...


class _Member:
    """A work in a group. The connection answers with `reply`; `before` results stand before its own."""

    __slots__ = ("before", "caller_key", "group", "reply", "work")

    def __init__(self, work: Work, caller_key: str, reply: asyncio.Future[Reply]) -> None:
        self.work = work
        self.caller_key = caller_key
        self.group: _Group | None = None
        self.reply = reply
        self.before = 0


class _Group:
    """Works that share a connection, in their order."""

    __slots__ = ("began", "left", "members", "pipeline")

    def __init__(self) -> None:
        self.members: list[_Member] = []
        self.pipeline: Pipeline | None = None
        self.began = 0.0
        self.left = -1
        """How many answers were missing at the last look."""


class Groups:
    """The groups of one pool."""

    def __init__(self, lender: Lender) -> None:
        self._lender = lender
        self._loop = asyncio.get_running_loop()
        self._open: _Group | None = None
        """Takes in the reads of this loop iteration."""
        self._waiting: dict[str, tuple[_Group, asyncio.Task[None]]] = {}
        """Groups that wait for a connection and have room, by their caller."""
        self._lines: set[asyncio.Task[None]] = set()
        self._under_way: set[_Group] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._seen: dict[str, float] = {}

    def is_quick(self, work: Work) -> bool:
        """Tell whether a work may share, and was quick of late."""
        is_plain = work.may_share and work.isolation is None
        return is_plain and self._seen.get(work.statements[-1].text, _QUICK_S) < _QUICK_S

    def note(self, work: Work, seconds: float) -> None:
        """Learn how long a work took."""
        text = work.statements[-1].text
        held = self._seen.get(text)
        if held is None:
            if len(self._seen) >= _STATEMENTS:
                del self._seen[next(iter(self._seen))]
            self._seen[text] = seconds
        else:
            self._seen[text] = held + (seconds - held) * (_RISE if seconds > held else _FALL)

    async def run(self, work: Work, caller_key: str = PLATFORM) -> Found | None:
        """Run a work together with others; None if it is to be done on a connection of its own.

        Raises: DatabaseError, Disconnected, PoolTimeout.
        """
        member = _Member(work, caller_key, self._loop.create_future())
        self._join(member)
        try:
            reply = await member.reply
        except _GoAlone:
            return None
        except asyncio.CancelledError:
            _abandon(member.reply)
            raise
        found = found_among_others(work, reply, member.before)
        if found is None and member.group is not None and member.group.pipeline is not None:
            member.group.pipeline.is_suspect = True
        return found

    def _join(self, member: _Member) -> None:
        """Put a member into the group of its caller that waits, or into that of this loop iteration."""
        if self._waiting and (waiting := self._waiting.get(member.caller_key)) is not None:
            group = waiting[0]
            group.members.append(member)
            if len(group.members) >= MOST:
                del self._waiting[member.caller_key]
            return
        if (opened := self._open) is None:
            opened = self._open = _Group()
            self._loop.call_soon(self._depart, opened)
        opened.members.append(member)
        if len(opened.members) >= MOST:
            self._open = None

    def _depart(self, group: _Group) -> None:
        """Go, if there is a connection for one of the callers; else let each caller's reads wait."""
        if self._open is group:
            self._open = None
        first = group.members[0].caller_key
        pipeline = self._lender.lend(first)
        if pipeline is not None:
            self._start(group, pipeline)
            return
        by_caller: dict[str, _Group] = {}
        for member in group.members:
            by_caller.setdefault(member.caller_key, _Group()).members.append(member)
        for caller_key in by_caller.keys() - {first}:
            pipeline = self._lender.lend(caller_key)
            if pipeline is not None:
                self._start(group, pipeline)
                return
        for caller_key, own in by_caller.items():
            task = self._loop.create_task(self._wait(own, caller_key))
            self._lines.add(task)
            task.add_done_callback(self._lines.discard)
            if len(own.members) < MOST:
                self._waiting[caller_key] = own, task

    async def _wait(self, group: _Group, caller_key: str) -> None:
        try:
            pipeline = await self._lender.lend_later(caller_key)
        except (PoolTimeout, Disconnected) as error:
            self._close(group, caller_key)
            for member in group.members:
                if not member.reply.done():
                    member.reply.set_exception(_again(error))
        else:
            self._close(group, caller_key)
            self._take_along(group, self._lender.held(caller_key))
            self._start(group, pipeline)

    def _close(self, group: _Group, caller_key: str) -> None:
        waiting = self._waiting.get(caller_key)
        if waiting is not None and waiting[0] is group:
            del self._waiting[caller_key]

    def _take_along(self, group: _Group, held: int) -> None:
        """Fill a group with reads of others that wait and hold no more connections."""
        for caller_key, (other, task) in list(self._waiting.items()):
            room = MOST - len(group.members)
            if room <= 0:
                return
            if self._lender.held(caller_key) > held:
                continue
            group.members += other.members[:room]
            del other.members[:room]
            if not other.members:
                del self._waiting[caller_key]
                task.cancel()

    def _start(self, group: _Group, pipeline: Pipeline) -> None:
        """Send all that the connection knows; the others go alone."""
        parts: list[Part] = []
        members: list[_Member] = []
        for member in group.members:
            if member.reply.done():
                continue
            work = member.work
            try:
                made = messages_among_others(pipeline, work)
            except Exception as error:  # what cannot be sent is told to its caller, and keeps nobody waiting
                member.reply.set_exception(error)
                continue
            if made is None:
                member.reply.set_exception(_GoAlone())
                continue
            messages, member.before = made
            last, separator = member.before + len(work.statements) - 1, work.statements[-1].separator
            member.group = group
            parts.append(Part(messages, last, member.reply, separator))
            members.append(member)
        group.members = members
        if not parts:
            self._lender.take_back(pipeline)
            return
        group.pipeline, group.began = pipeline, self._loop.time()
        try:
            pipeline.exchange_each(parts, partial(self._end, group))
        except Disconnected:  # it broke a moment ago
            _send_away(members)
            self._lender.take_back(pipeline)
            return
        self._under_way.add(group)
        if self._timer is None:
            self._timer = self._loop.call_later(_LOOK_S, self._look)

    def _end(self, group: _Group) -> None:
        """All is answered, or the connection is gone."""
        self._under_way.discard(group)
        share = (self._loop.time() - group.began) / len(group.members)
        for member in group.members:
            self.note(member.work, share)
        if group.pipeline is not None:
            self._lender.take_back(group.pipeline)

    def _look(self) -> None:
        """Send away who waits for another's slow read, and stop what nobody waits for."""
        self._timer = None
        for group in list(self._under_way):
            pipeline = group.pipeline
            if pipeline is None:
                continue
            left = pipeline.unanswered
            if left != group.left:
                group.left = left
                continue
            _send_away(group.members[len(group.members) - left + 1 :])
            if not pipeline.gives_long and group.members[-left].reply.done():
                pipeline.forget()
                self._end(group)
        if self._under_way:
            self._timer = self._loop.call_later(_LOOK_S, self._look)


def _send_away(members: Sequence[_Member]) -> None:
    for member in members:
        if not member.reply.done():
            member.reply.set_exception(_GoAlone())


def _abandon(reply: asyncio.Future[Reply]) -> None:
    """Give up an answer that may have come in the moment when its caller went away."""
    if reply.done() and not reply.cancelled():
        with suppress(Exception):  # looked at, so that asyncio does not complain of it
            if (long := reply.result().long) is not None:
                long.abandon()


def _again(error: PoolTimeout | Disconnected) -> Exception:
    """Give an error once more: one object raised in many places gathers their tracebacks."""
    match error:
        case PoolBusy():
            return PoolBusy(error.reason, error.retry_after_s)
        case PoolTimeout():
            return PoolTimeout()
        case _:
            return Disconnected(error.message, error.code)
