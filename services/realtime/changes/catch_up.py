"""Resuming: a subscriber first receives what was committed after its position, then new changes, without a gap or a repetition.

Theory. Subscribers that resume at the same time share a catch-up: a reader of the stream and a pipeline of their own, from the
earliest of their positions on. A catch-up moves its subscribers to the live pipeline in two steps. First it reads to the end of
the stream. Then each subscriber is added to the live pipeline above a number N with its deliveries held back, while the
catch-up reads on to N: messages up to N come from the catch-up, those above from the live pipeline, and none from both.

A client is never sent more than it reads. A subscriber whose client falls behind pauses: it leaves the catch-up, and joins a
later one at the same place when its client has read what it was sent. So it neither fills its own queue nor delays the others.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from broker.backoff import Backoff
from broker.jetstream.ordered_reader import MessagesLost, StreamReader
from broker.jetstream.ordered_reader import StoredMessage as StoredMessage
from broker.nats.connection import NatsConnection
from broker.observability.observe import observe, traceback_of
from broker.subjects import CHANGES_STREAM
from schemas.changes import Position
from schemas.errors import Unavailable
from services.realtime.changes.intake import Intake, admit
from services.realtime.changes.interface import PacedSubscriber
from services.realtime.changes.observations import FeedFailed
from services.realtime.changes.pipeline import DeliveryPipeline
from services.realtime.changes.stream_subjects import subjects_for
from services.realtime.changes.subscribers import PipelineSubscriber

MOST_BYTES = 128 * 1024
"""Bytes of the log in the pipeline of a catch-up: their frames are about ten times as long."""
_PACE_BYTES = 64 * 1024
"""Bytes of the log after which the catch-up checks which clients have fallen behind."""
_MOST_RUNNING = 4
_PAUSE_S, _LAST_PAUSE_S = 0.05, 1.0


class ResumingSubscriber:
    """A subscriber that resumes: its place in the catch-up, and a future for its place in the live pipeline."""

    def __init__(self, place: PipelineSubscriber, joined: "asyncio.Future[PipelineSubscriber]") -> None:
        self.place = place
        self.joined = joined
        self._paced = place.subscriber if isinstance(place.subscriber, PacedSubscriber) else None

    @property
    def is_behind(self) -> bool:
        """Whether its client reads more slowly than changes are sent."""
        return self._paced is not None and not self.place.is_closed and self._paced.is_behind

    async def caught_up(self) -> None:
        """Wait until its client has read what it was sent."""
        if self._paced is not None:
            await self._paced.caught_up()

    def continue_after(self, after: int) -> None:
        """End its place at a number, and take a new one for what is above."""
        place = self.place
        place.until = min(place.until, after)
        self.place = PipelineSubscriber(
            place.subscriber,
            place.group,
            place.subscriptions,
            place.until,
            place.since,
            is_closed=place.is_closed,
        )


@dataclass(slots=True)
class _CatchUp:
    """The subscribers of one catch-up, its reader and its pipeline."""

    resuming: list[ResumingSubscriber]
    reader: StreamReader
    pipeline: DeliveryPipeline
    paused: "list[asyncio.Future[None]]" = field(default_factory=list)
    """For each subscriber that paused: done when everything that was underway to it is delivered."""


class CatchUps:
    """The catch-ups of a feed."""

    def __init__(
        self,
        connection: NatsConnection,
        live: DeliveryPipeline,
        intake: Intake,
        pipeline: Callable[[int, Position], DeliveryPipeline],
    ) -> None:
        self._connection, self._live, self._intake = connection, live, intake
        self._pipeline = pipeline
        self._loop = asyncio.get_running_loop()
        self._waiting: list[ResumingSubscriber] = []
        self._running: set[asyncio.Task[None]] = set()
        self._pauses: set[asyncio.Task[None]] = set()

    async def resume(self, place: PipelineSubscriber) -> PipelineSubscriber:
        """Deliver what is above `place.after` and `place.since`, then return the place in the live pipeline."""
        resuming = ResumingSubscriber(place, self._loop.create_future())
        self._waiting.append(resuming)
        self._start()
        try:
            return await resuming.joined
        except asyncio.CancelledError:
            if resuming.joined.done() and not resuming.joined.cancelled():
                self._live.index.remove(resuming.joined.result())
            resuming.place.is_closed = True
            raise

    async def close(self) -> None:
        """Stop all catch-ups."""
        _fail(self._waiting)
        tasks = [*self._running, *self._pauses]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self) -> None:
        if self._waiting and len(self._running) < _MOST_RUNNING:
            resuming, self._waiting = self._waiting, []
            task = self._loop.create_task(self._run(resuming))
            self._running.add(task)
            task.add_done_callback(self._end)

    def _end(self, task: "asyncio.Task[None]") -> None:
        self._running.discard(task)
        if not task.cancelled():
            self._start()

    async def _run(self, resuming: list[ResumingSubscriber]) -> None:
        after = min(one.place.after for one in resuming)
        since = min(one.place.since or Position(0) for one in resuming)
        pipeline = self._pipeline(after, since)
        for one in resuming:
            pipeline.index.add(one.place)
        reader = StreamReader(self._connection, CHANGES_STREAM, subjects_for(pipeline.index.patterns), after)
        catch_up = _CatchUp(resuming, reader, pipeline)
        try:
            await self._read_to_end(catch_up)
            await self._join_live(catch_up)
        except asyncio.CancelledError:
            _fail(resuming)
            raise
        except Exception as error:  # no other task would report it
            if not isinstance(error, Unavailable):
                observe(FeedFailed(traceback_of(error)))
            _fail(resuming)
        finally:
            for delivered in catch_up.paused:
                delivered.cancel()
            await reader.close()
            await pipeline.close()

    async def _join_live(self, catch_up: _CatchUp) -> None:
        """Move subscribers from the catch-up to the live pipeline, at one number for all."""
        seam = max(self._intake.reached, catch_up.reader.after)
        live_places: dict[ResumingSubscriber, PipelineSubscriber] = {}
        for resuming in catch_up.resuming:
            place = resuming.place
            if not place.is_closed:
                place.until = seam
                live_places[resuming] = PipelineSubscriber(
                    place.subscriber, place.group, place.subscriptions, seam, held=[]
                )
                self._live.index.add(live_places[resuming])
        self._intake.grow()
        try:
            await self._read_to_end(catch_up)
        except BaseException:
            for place in live_places.values():
                self._live.index.remove(place)
            raise
        for resuming, place in live_places.items():
            self._hand_over(resuming, place, is_here=resuming in catch_up.resuming)

    def _hand_over(self, resuming: ResumingSubscriber, live: PipelineSubscriber, *, is_here: bool) -> None:
        if not is_here or resuming.place.is_closed or resuming.joined.done():
            self._live.index.remove(live)
        elif live.is_overfull:  # too many new changes: another catch-up from the seam on
            self._live.index.remove(live)
            resuming.continue_after(live.after)
            self._waiting.append(resuming)
        else:
            live.release()
            resuming.joined.set_result(live)

    async def _read_to_end(self, catch_up: _CatchUp) -> None:
        """Read what is in the stream now, and wait until it is delivered."""
        backoff = Backoff(_PAUSE_S, _LAST_PAUSE_S, jitter=0.3)
        while not all(resuming.place.is_closed for resuming in catch_up.resuming):
            try:
                messages = await catch_up.reader.rest()
            except MessagesLost as lost:
                if lost.is_another:
                    raise Unavailable("the stream of changes was made anew") from None
                catch_up.pipeline.lose(catch_up.reader.after)
                continue
            except Unavailable:  # the broker is away: try again
                await backoff.wait()
                await self._connection.connected()
                continue
            if not messages:
                break
            await self._admit(catch_up, messages)
        await catch_up.pipeline.reached()

    async def _admit(self, catch_up: _CatchUp, messages: list[StoredMessage]) -> None:
        size = _PACE_BYTES
        for message in messages:
            await catch_up.pipeline.wait_for_space()
            if size >= _PACE_BYTES:
                size = 0
                self._pause_slow(catch_up)
            admit(catch_up.pipeline, message.seq, message.payload)
            size += len(message.payload)

    def _pause_slow(self, catch_up: _CatchUp) -> None:
        """Remove subscribers whose clients are behind; they join a later catch-up when these have read everything."""
        for resuming in [resuming for resuming in catch_up.resuming if resuming.is_behind]:
            catch_up.resuming.remove(resuming)
            resuming.continue_after(catch_up.pipeline.admitted)
            delivered: asyncio.Future[None] = self._loop.create_future()
            catch_up.paused.append(delivered)
            catch_up.pipeline.when_reached(partial(_set_done, delivered))
            task = self._loop.create_task(self._pause(resuming, delivered))
            self._pauses.add(task)
            task.add_done_callback(self._pauses.discard)

    async def _pause(self, resuming: ResumingSubscriber, delivered: "asyncio.Future[None]") -> None:
        """Wait until what was underway is delivered and read, then join another catch-up."""
        try:
            await delivered
            await resuming.caught_up()
        except asyncio.CancelledError:
            _fail([resuming])
            raise
        if not resuming.joined.done():
            self._waiting.append(resuming)
            self._start()


def _set_done(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


def _fail(resuming: list[ResumingSubscriber]) -> None:
    """Fail the subscribers that have not joined the live pipeline."""
    for one in resuming:
        if not one.joined.done():
            one.joined.set_exception(Unavailable("row changes cannot be replayed now"))
