"""Resuming: what was committed after a position comes first, out of the stream, then what is new, without a seam.

Those who resume at the same time ride together in a lane: a reader and a pipeline of its own, from the earliest of their
positions on. A lane joins the live pipeline in two steps. First it reads to the end of the stream. Then each rider gets a
seat in the live pipeline above a number N, which holds its deliveries back, while the lane reads on to N: what is up to N
comes from the lane, what is above from the live pipeline, and nothing from both.

Nobody is sent more than is read: a rider whose client falls behind gets off, and rides on from there in a later lane when
the client has caught up. So it neither fills its own queue nor makes the others of its lane wait.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from broker.jetstream.ordered_reader import Kept, MessagesLost, StreamReader
from broker.nats.connection import Connection
from broker.observability.observe import observe, traceback_of
from broker.subjects import CHANGES_STREAM
from schemas.changes import Position
from schemas.errors import Unavailable
from services.realtime.changes.intake import Intake, admit
from services.realtime.changes.interest import subjects_for
from services.realtime.changes.observed import FeedFailed
from services.realtime.changes.pipeline import Pipeline
from services.realtime.changes.seats import Seat
from services.realtime.model import Paced

MOST_BYTES = 128 * 1024
"""Bytes of the log that may be underway in a lane: their frames are some ten times as long."""
_LOOK_BYTES = 64 * 1024
"""After so many bytes of the log it is seen to who has fallen behind."""
_MOST_LANES = 4
_PAUSE_S, _LAST_PAUSE_S = 0.05, 1.0


class Rider:
    """A subscription that resumes: its seat in the lane, and what it waits for: its seat in the live pipeline."""

    def __init__(self, seat: Seat, joined: "asyncio.Future[Seat]") -> None:
        self.seat = seat
        self.joined = joined
        self._paced = seat.subscriber if isinstance(seat.subscriber, Paced) else None

    @property
    def is_behind(self) -> bool:
        """Whether its client reads more slowly than it is sent to."""
        return self._paced is not None and not self.seat.is_closed and self._paced.is_behind

    async def caught_up(self) -> None:
        """Wait until its client has read what it was sent."""
        if self._paced is not None:
            await self._paced.caught_up()

    def go_on(self, after: int) -> None:
        """Take a seat for another lane, for what is above a number."""
        own = self.seat
        own.until = min(own.until, after)
        self.seat = Seat(
            own.subscriber, own.group, own.bindings, own.until, own.since, is_closed=own.is_closed
        )


@dataclass(slots=True)
class _Lane:
    """Riders, and what brings changes to them."""

    riders: list[Rider]
    reader: StreamReader
    pipeline: Pipeline
    underway: "list[asyncio.Future[None]]" = field(default_factory=list)
    """For each of those who got off: done when all that was underway to them is delivered."""


class Replays:
    """The lanes of a feed."""

    def __init__(
        self,
        connection: Connection,
        live: Pipeline,
        intake: Intake,
        pipeline: Callable[[int, Position], Pipeline],
    ) -> None:
        self._connection, self._live, self._intake = connection, live, intake
        self._pipeline = pipeline
        self._loop = asyncio.get_running_loop()
        self._waiting: list[Rider] = []
        self._lanes: set[asyncio.Task[None]] = set()
        self._resting: set[asyncio.Task[None]] = set()

    async def ride(self, seat: Seat) -> Seat:
        """Deliver what is above `seat.after` and `seat.since`, then give a seat in the live pipeline."""
        rider = Rider(seat, self._loop.create_future())
        self._waiting.append(rider)
        self._start()
        try:
            return await rider.joined
        except asyncio.CancelledError:
            if rider.joined.done() and not rider.joined.cancelled():
                self._live.index.remove(rider.joined.result())
            rider.seat.is_closed = True
            raise

    async def close(self) -> None:
        """End all lanes."""
        _fail(self._waiting)
        tasks = [*self._lanes, *self._resting]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self) -> None:
        if self._waiting and len(self._lanes) < _MOST_LANES:
            riders, self._waiting = self._waiting, []
            task = self._loop.create_task(self._run(riders))
            self._lanes.add(task)
            task.add_done_callback(self._end)

    def _end(self, lane: "asyncio.Task[None]") -> None:
        self._lanes.discard(lane)
        if not lane.cancelled():
            self._start()

    async def _run(self, riders: list[Rider]) -> None:
        after = min(rider.seat.after for rider in riders)
        since = min(rider.seat.since or Position(0) for rider in riders)
        pipeline = self._pipeline(after, since)
        for rider in riders:
            pipeline.index.add(rider.seat)
        reader = StreamReader(self._connection, CHANGES_STREAM, subjects_for(pipeline.index.patterns), after)
        lane = _Lane(riders, reader, pipeline)
        try:
            await self._read_to_end(lane)
            await self._join(lane)
        except asyncio.CancelledError:
            _fail(riders)
            raise
        except Exception as error:  # the rim of a task that nobody else watches
            if not isinstance(error, Unavailable):
                observe(FeedFailed(traceback_of(error)))
            _fail(riders)
        finally:
            for told in lane.underway:
                told.cancel()
            await reader.close()
            await pipeline.close()

    async def _join(self, lane: _Lane) -> None:
        """Bring riders from the lane into the live pipeline, at one number for all."""
        seam = max(self._intake.reached, lane.reader.after)
        seats: dict[Rider, Seat] = {}
        for rider in lane.riders:
            own = rider.seat
            if not own.is_closed:
                own.until = seam
                seats[rider] = Seat(own.subscriber, own.group, own.bindings, seam, held=[])
                self._live.index.add(seats[rider])
        self._intake.grow()
        try:
            await self._read_to_end(lane)
        except BaseException:
            for seat in seats.values():
                self._live.index.remove(seat)
            raise
        for rider, seat in seats.items():
            self._hand_over(rider, seat, is_there=rider in lane.riders)

    def _hand_over(self, rider: Rider, seat: Seat, *, is_there: bool) -> None:
        if not is_there or rider.seat.is_closed or rider.joined.done():
            self._live.index.remove(seat)
        elif seat.is_overfull:  # too much was new: once more, from the seam on
            self._live.index.remove(seat)
            rider.go_on(seat.after)
            self._waiting.append(rider)
        else:
            seat.release()
            rider.joined.set_result(seat)

    async def _read_to_end(self, lane: _Lane) -> None:
        """Read what stands in the stream now, and wait until it is delivered."""
        pause_s = _PAUSE_S
        while not all(rider.seat.is_closed for rider in lane.riders):
            try:
                taken = await lane.reader.rest()
            except MessagesLost as lost:
                if lost.is_another:
                    raise Unavailable("the stream of changes was made anew") from None
                lane.pipeline.lose(lane.reader.after)
                continue
            except Unavailable:  # of the broker: it comes back
                await asyncio.sleep(pause_s * random.uniform(0.7, 1.0))
                pause_s = min(2 * pause_s, _LAST_PAUSE_S)
                await self._connection.connected()
                continue
            if not taken:
                break
            await self._admit(lane, taken)
        await lane.pipeline.reached()

    async def _admit(self, lane: _Lane, taken: list[Kept]) -> None:
        size = _LOOK_BYTES
        for kept in taken:
            await lane.pipeline.room()
            if size >= _LOOK_BYTES:
                size = 0
                self._get_off(lane)
            admit(lane.pipeline, kept.seq, kept.payload)
            size += len(kept.payload)

    def _get_off(self, lane: _Lane) -> None:
        """Let those get off who are behind; they ride again when they have caught up."""
        for rider in [rider for rider in lane.riders if rider.is_behind]:
            lane.riders.remove(rider)
            rider.go_on(lane.pipeline.admitted)
            told: asyncio.Future[None] = self._loop.create_future()
            lane.underway.append(told)
            lane.pipeline.when_reached(partial(_tell, told))
            task = self._loop.create_task(self._rest(rider, told))
            self._resting.add(task)
            task.add_done_callback(self._resting.discard)

    async def _rest(self, rider: Rider, told: "asyncio.Future[None]") -> None:
        """Wait until what was underway is delivered and read, then ride on."""
        try:
            await told
            await rider.caught_up()
        except asyncio.CancelledError:
            _fail([rider])
            raise
        if not rider.joined.done():
            self._waiting.append(rider)
            self._start()


def _tell(told: "asyncio.Future[None]") -> None:
    if not told.done():
        told.set_result(None)


def _fail(riders: list[Rider]) -> None:
    """Tell riders that have not arrived that they will not."""
    for rider in riders:
        if not rider.joined.done():
            rider.joined.set_exception(Unavailable("row changes cannot be replayed now"))
