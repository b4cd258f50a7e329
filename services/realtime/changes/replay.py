"""Resuming: what was committed after a position comes first, out of the stream, then what is new, without a seam.

Those who resume at the same time ride together in a lane: a reader and a pipeline of its own, from the earliest of their
positions on. A lane joins the live pipeline in two steps. First it reads to the end of the stream. Then each rider gets a
seat in the live pipeline above a number N, which holds its deliveries back, while the lane reads on to N: what is up to N
comes from the lane, what is above from the live pipeline, and nothing from both.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass

from broker.connection import Connection
from broker.observe import observe, traceback_of
from broker.stream_reading import MessagesLost, StreamReader
from broker.subjects import CHANGES_STREAM
from schemas.changes import Position
from schemas.errors import Unavailable
from services.realtime.changes.intake import Intake, admit
from services.realtime.changes.interest import subjects_for
from services.realtime.changes.observed import FeedFailed
from services.realtime.changes.pipeline import Pipeline
from services.realtime.changes.seats import Seat

_MOST_LANES = 4
_PAUSE_S, _LAST_PAUSE_S = 0.05, 1.0


@dataclass(slots=True, eq=False)
class Rider:
    """A subscription that resumes: its seat in the lane, and what it waits for: its seat in the live pipeline."""

    seat: Seat
    joined: "asyncio.Future[Seat]"


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
            seat.is_closed = True
            raise

    async def close(self) -> None:
        """End all lanes."""
        _fail(self._waiting)
        for lane in self._lanes:
            lane.cancel()
        await asyncio.gather(*self._lanes, return_exceptions=True)

    def _start(self) -> None:
        if self._waiting and len(self._lanes) < _MOST_LANES:
            riders, self._waiting = self._waiting, []
            lane = self._loop.create_task(self._run(riders))
            self._lanes.add(lane)
            lane.add_done_callback(self._end)

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
        try:
            await self._read_to_end(reader, pipeline, riders)
            await self._join(reader, pipeline, [rider for rider in riders if not rider.seat.is_closed])
        except asyncio.CancelledError:
            _fail(riders)
            raise
        except Exception as error:  # the rim of a task that nobody else watches
            if not isinstance(error, Unavailable):
                observe(FeedFailed(traceback_of(error)))
            _fail(riders)
        finally:
            await reader.close()
            await pipeline.close()

    async def _join(self, reader: StreamReader, pipeline: Pipeline, riders: list[Rider]) -> None:
        """Bring riders from the lane into the live pipeline, at one number for all."""
        seam = max(self._intake.reached, reader.after)
        seats = []
        for rider in riders:
            own = rider.seat
            own.until = seam
            seats.append(Seat(own.subscriber, own.group, own.bindings, seam, held=[]))
            self._live.index.add(seats[-1])
        self._intake.grow()
        try:
            await self._read_to_end(reader, pipeline, riders)
        except BaseException:
            for seat in seats:
                self._live.index.remove(seat)
            raise
        for rider, seat in zip(riders, seats, strict=True):
            self._hand_over(rider, seat, pipeline.position)

    def _hand_over(self, rider: Rider, seat: Seat, position: Position) -> None:
        if rider.seat.is_closed or rider.joined.done():
            self._live.index.remove(seat)
        elif seat.is_overfull:  # too much was new: once more, from the seam on
            self._live.index.remove(seat)
            own = rider.seat
            again = Seat(own.subscriber, own.group, own.bindings, seat.after)
            self._waiting.append(Rider(again, rider.joined))
        else:
            seat.release()
            rider.joined.set_result(seat)

    async def _read_to_end(self, reader: StreamReader, pipeline: Pipeline, riders: list[Rider]) -> None:
        """Read what stands in the stream now, and wait until it is delivered."""
        pause_s = _PAUSE_S
        while not all(rider.seat.is_closed for rider in riders):
            try:
                taken = await reader.rest()
            except MessagesLost as lost:
                if lost.is_another:
                    raise Unavailable("the stream of changes was made anew") from None
                pipeline.lose(reader.after)
                continue
            except Unavailable:  # of the broker: it comes back
                await asyncio.sleep(pause_s * random.uniform(0.7, 1.0))
                pause_s = min(2 * pause_s, _LAST_PAUSE_S)
                await self._connection.connected()
                continue
            if not taken:
                break
            for kept in taken:
                await pipeline.room()
                admit(pipeline, kept.seq, kept.payload)
        await pipeline.reached()


def _fail(riders: list[Rider]) -> None:
    """Tell riders that have not arrived that they will not."""
    for rider in riders:
        if not rider.joined.done():
            rider.joined.set_exception(Unavailable("row changes cannot be replayed now"))
