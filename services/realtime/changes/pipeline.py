"""One line in which the messages of the stream become deliveries, in their order.

Each message gets a slot. What can be judged at once is; for the rest the pool is asked, for many slots at the same time;
delivered is only from the first slot on, so nobody ever sees a later change before an earlier one. The number and the size
of the slots is bounded: who admits messages waits for `room` and leaves the others in the stream meanwhile.

A slot waits, however long it takes, until the rights of every role that subscribes to its table are known as they were at
the last change of the schema before it (`Batch.schema_lsn`), and until every question about its rows is answered.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from broker.observability.observe import observe, traceback_of
from schemas.changes import Batch, Column, Gap, Kind, Position, Tick
from schemas.realtime import Table
from services.realtime.changes import record
from services.realtime.changes.asking import Asking
from services.realtime.changes.evaluate import Judged, judge, judge_in_steps, sees_old_row, settle
from services.realtime.changes.grants import Grants
from services.realtime.changes.index import Index
from services.realtime.changes.observed import FeedFailed
from services.realtime.changes.record import Shape
from services.realtime.changes.seats import Node, Seat
from services.realtime.model import Delivery

_MOST_SLOTS = 256
MOST_BYTES = 32 * 1024 * 1024
_TURN = 6000
"""Deliveries after which others get their turn: some 10 ms. What one turn has for a socket leaves in one write."""
_LONG_JUDGING = 2000
"""Subscribers times changes of a batch from which on it is judged in steps, so that others get their turn between."""
_MOST_SHAPES = 4096
_LAST = 0xFFFFFFFF


@dataclass(slots=True, eq=False)
class _Slot:
    """A message on its way: what became of it, once that is known."""

    seq: int
    position: Position | None
    """None: that of the slot before."""
    size: int
    ready: "Judged | _Lost | _Nothing | None" = None
    next: int = 0
    """The change to be delivered next."""
    task: "asyncio.Task[None] | None" = None
    at_end: list[Callable[[], None]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Lost:
    """Changes before this slot are lost for these seats."""

    since: Position | None
    """None: after the slot before."""
    seats: list[Seat] | None = None
    """None: for all."""
    is_another: bool = False
    """The numbers of the stream begin anew behind it."""


class _Nothing:
    """There is nothing in this slot but its position."""


_NOTHING = _Nothing()


@dataclass(slots=True)
class _Shapes:
    """What was made for a table, a role and a choice of columns, as long as it holds."""

    known: dict[tuple[str, str, str, tuple[str, ...] | None, bool], tuple[list[Column], Table, Shape]] = (
        field(default_factory=dict)
    )

    def find(
        self, batch: Batch, role: str, grant: Table, select: tuple[str, ...] | None, *, is_bare: bool
    ) -> Shape:
        key = (batch.schema, batch.table, role, select, is_bare)
        found = self.known.get(key)
        if found is not None and found[1] is grant and found[0] == batch.columns:
            return found[2]
        shape = record.shape_of(batch.schema, batch.table, batch.columns, grant, select, is_bare=is_bare)
        if len(self.known) >= _MOST_SHAPES:
            self.known.clear()
        self.known[key] = (batch.columns, grant, shape)
        return shape


class Pipeline:
    """Delivers what is admitted to the seats of its index."""

    def __init__(
        self,
        asking: Asking,
        grants: Grants,
        *,
        admitted: int,
        position: Position,
        deletes_are_checked: bool,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.index = Index()
        self.admitted = admitted
        """Number of the message that was admitted last."""
        self.position = position
        """The last change that was looked at for all seats."""
        self._asking, self._grants = asking, grants
        self._deletes_are_checked = deletes_are_checked
        self._loop = asyncio.get_running_loop()
        self._slots: deque[_Slot] = deque()
        self._bytes, self._most_bytes = 0, most_bytes
        self._room = asyncio.Event()
        self._room.set()
        self._shapes = _Shapes()
        self._again: asyncio.Handle | None = None
        self._is_closed = False

    def admit(self, seq: int, message: Batch | Gap | Tick, size: int) -> None:
        """Take the next message of the stream."""
        self.admitted = seq
        slot = _Slot(seq, Position(message.lsn, message.number, _LAST), size)
        match message:
            case Batch():
                self._evaluate(slot, message)
            case Gap():
                slot.ready = _Lost(Position(message.since) if message.since else None)
            case Tick():
                slot.ready = _NOTHING
        self._enter(slot)

    def lose(self, seq: int, *, is_another: bool = False) -> None:
        """Tell everybody, in their turn, that messages up to a number were not read.

        `is_another`: the stream is another one; whatever comes from it is for all seats.
        """
        slot = _Slot(max(seq, self.admitted), None, 0)
        slot.ready = _Lost(None, is_another=is_another)
        self.admitted = seq
        self._enter(slot)

    async def room(self) -> None:
        """Wait until another message may be admitted."""
        await self._room.wait()

    def when_reached(self, told: Callable[[], None]) -> None:
        """Call back when all that was admitted so far is delivered; now, if it is."""
        if self._slots:
            self._slots[-1].at_end.append(told)
        else:
            told()

    async def reached(self) -> None:
        """Wait until all that was admitted so far is delivered."""
        is_reached = asyncio.Event()
        self.when_reached(is_reached.set)
        await is_reached.wait()

    async def close(self) -> None:
        """Deliver nothing more."""
        self._is_closed = True
        if self._again is not None:
            self._again.cancel()
        tasks = [slot.task for slot in self._slots if slot.task is not None]
        self._slots.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # Judging

    def _evaluate(self, slot: _Slot, batch: Batch) -> None:
        """Judge a batch now, or in a task where something has to be asked."""
        place = (batch.schema, batch.table)
        grants: dict[str, Table] = {}
        for role in self.index.roles(place):
            known = self._grants.known(role, place, batch.schema_lsn)
            if known is None:
                break
            grants[role] = known
        else:
            if self.index.size_of(place) * len(batch.changes) > _LONG_JUDGING:
                slot.task = self._loop.create_task(self._settle(slot, batch, None))
                return
            try:
                judged = judge(batch, grants, self.index, deletes_are_checked=self._deletes_are_checked)
            except Exception as error:  # a change of which nobody can tell who sees it
                self._give_up(slot, batch, error)
                return
            if not judged.doubts:
                slot.ready = judged
                return
            slot.task = self._loop.create_task(self._settle(slot, batch, judged))
            return
        slot.task = self._loop.create_task(self._settle(slot, batch, None))

    async def _settle(self, slot: _Slot, batch: Batch, judged: Judged | None) -> None:
        try:
            if judged is None:
                grants = await self._ask_grants(batch)
                judged = await judge_in_steps(
                    batch, grants, self.index, deletes_are_checked=self._deletes_are_checked
                )
            if judged.doubts:
                await settle(judged, self._asking)
            slot.ready = judged
        except Exception as error:  # as above
            self._give_up(slot, batch, error)
        slot.task = None
        self._deliver()

    async def _ask_grants(self, batch: Batch) -> dict[str, Table]:
        place, grants = (batch.schema, batch.table), dict[str, Table]()
        while missing := self.index.roles(place) - grants.keys():
            for role in missing:
                grants[role] = await self._grants.table(role, place, batch.schema_lsn)
        return grants

    def _give_up(self, slot: _Slot, batch: Batch, error: Exception) -> None:
        observe(FeedFailed(traceback_of(error)))
        slot.ready = _Lost(None, list(self.index.seats_of((batch.schema, batch.table))))

    # Delivering

    def _enter(self, slot: _Slot) -> None:
        self._slots.append(slot)
        self._bytes += slot.size
        if len(self._slots) >= _MOST_SLOTS or self._bytes >= self._most_bytes:
            self._room.clear()
        if slot is self._slots[0]:
            self._deliver()

    def _deliver(self) -> None:
        """Deliver from the first slot on, until one is not ready or others should have their turn."""
        if self._again is not None or self._is_closed:
            return
        left = _TURN
        while self._slots and self._slots[0].ready is not None:
            slot = self._slots[0]
            if isinstance(slot.ready, Judged):
                left = self._deliver_changes(slot, slot.ready, left)
            elif isinstance(slot.ready, _Lost):
                seats = list(self.index.seats) if slot.ready.seats is None else slot.ready.seats
                for seat in seats:
                    seat.gap(slot.ready.since or self.position, slot.seq)
                    if slot.ready.is_another:
                        seat.after = 0
                left -= len(seats)
            if left <= 0 and not self._is_over(slot):
                self._again = self._loop.call_soon(self._go_on)
                return
            self._leave(slot)
            if left <= 0 and self._slots:
                self._again = self._loop.call_soon(self._go_on)
                return

    def _go_on(self) -> None:
        self._again = None
        self._deliver()

    def _is_over(self, slot: _Slot) -> bool:
        return not isinstance(slot.ready, Judged) or slot.next >= len(slot.ready.batch.changes)

    def _leave(self, slot: _Slot) -> None:
        self._slots.popleft()
        self._bytes -= slot.size
        self.position = slot.position or self.position
        for told in slot.at_end:
            told()
        if len(self._slots) < _MOST_SLOTS and self._bytes < self._most_bytes:
            self._room.set()

    def _deliver_changes(self, slot: _Slot, judged: Judged, left: int) -> int:
        while not self._is_over(slot) and left > 0:
            number = slot.next
            slot.next += 1
            left -= 1
            if nodes := judged.matched[number]:
                try:
                    deliveries = self._compose(judged, number, nodes)
                except Exception as error:  # a change that cannot be told
                    observe(FeedFailed(traceback_of(error)))
                    for seat in {seat for node in nodes for seat in (*node.single, *node.several)}:
                        seat.gap(self.position, slot.seq)
                    continue
                for delivery, seats in deliveries:
                    for seat in seats:
                        seat.take(delivery, slot.seq)
                    left -= len(seats)
        return left

    def _compose(
        self, judged: Judged, number: int, nodes: Iterable[Node]
    ) -> list[tuple[Delivery, list[Seat]]]:
        """Give the deliveries of one change, each with its seats."""
        made = _Made(judged, number, self._shapes, self._deletes_are_checked)
        together: dict[tuple[Seat, int, bool], list[int]] = {}
        for node in nodes:
            if node.single:
                made.add((node.binding.id,), node, node.single)
            if node.several:
                shape, is_old_row_seen = made.look(node)
                for seat in node.several:
                    together.setdefault((seat, id(shape), is_old_row_seen), []).append(node.binding.id)
        for (seat, shape_id, is_old_row_seen), ids in together.items():
            made.add_seat(tuple(sorted(set(ids))), shape_id, is_old_row_seen, seat)
        return made.deliveries()


class _Made:
    """The deliveries of one change: one for each set of ids and columns, shared by all who get it."""

    def __init__(self, judged: Judged, number: int, shapes: _Shapes, are_deletes_checked: bool) -> None:
        batch = judged.batch
        self._judged, self._number, self._change = judged, number, batch.changes[number]
        self._position = Position(batch.lsn, batch.number, number)
        self._known, self._are_deletes_checked = shapes, are_deletes_checked
        self._shapes: dict[int, Shape] = {}
        self._texts: dict[tuple[int, bool], bytes] = {}
        self._seats: dict[tuple[tuple[int, ...], int, bool], list[Seat]] = {}
        self._old_row: dict[str, bytes | None] | None = None

    def look(self, node: Node) -> tuple[Shape, bool]:
        """Give what a node sees of the change."""
        judged, role = self._judged, node.group.role
        is_bare = (self._number, node) in judged.bare
        shape = self._known.find(
            judged.batch, role, judged.grants[role], node.binding.select, is_bare=is_bare
        )
        self._shapes[id(shape)] = shape
        if self._change.old is None or self._change.kind is Kind.INSERT:
            return shape, False
        if self._old_row is None:
            names = [column.name for column in judged.batch.columns]
            self._old_row = dict(zip(names, self._change.old, strict=True))
        return shape, sees_old_row(
            judged, node, self._change, self._old_row, are_deletes_checked=self._are_deletes_checked
        )

    def add(self, ids: tuple[int, ...], node: Node, seats: Iterable[Seat]) -> None:
        """Let seats of a node get the change."""
        shape, is_old_row_seen = self.look(node)
        self._seats.setdefault((ids, id(shape), is_old_row_seen), []).extend(seats)

    def add_seat(self, ids: tuple[int, ...], shape_id: int, is_old_row_seen: bool, seat: Seat) -> None:
        """Let one seat get the change, in a shape that was looked at."""
        self._seats.setdefault((ids, shape_id, is_old_row_seen), []).append(seat)

    def deliveries(self) -> list[tuple[Delivery, list[Seat]]]:
        """Give the deliveries with their seats."""
        batch = self._judged.batch
        return [
            (
                Delivery(
                    ids, self._text(shape_id, is_old_row_seen), self._position, batch.schema, batch.table
                ),
                seats,
            )
            for (ids, shape_id, is_old_row_seen), seats in self._seats.items()
        ]

    def _text(self, shape_id: int, is_old_row_seen: bool) -> bytes:
        text = self._texts.get((shape_id, is_old_row_seen))
        if text is None:
            shape = self._shapes[shape_id]
            text = self._texts[shape_id, is_old_row_seen] = record.data_of(
                shape,
                self._judged.batch,
                self._change,
                self._position,
                is_old_row_seen=is_old_row_seen,
            )
        return text
