"""One function that consumes one queue: take messages, call the function, extend the leases, store the outcomes.

One loop runs all statements of a queue, so outcomes that arrive while a statement runs are stored together by the next one. Calls run
beside it, `concurrency` at a time. A session that is lost is opened again while calls go on; what they return is stored then.

When a process of the function ends, all calls that it works on fail, and which message ended it is unknown. The last attempt of such a
message is made while no other call runs: so the one that ends processes is set aside, and no other.
"""

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Literal

from broker.backoff import Backoff
from broker.observability.observe import observe, traceback_of
from schemas.errors import ApiError, OutcomeUnknown, Unavailable
from schemas.settings.functions import FunctionQueue
from schemas.settings.types import Duration
from workers.database.errors import DatabaseError, Disconnected
from workers.http_client.retry_after import requested_pause_s
from workers.scheduler.functions import FunctionAnswer
from workers.scheduler.observations import (
    QueueConsumerCrashed,
    QueueConsumerFailing,
    QueueConsumerRecovered,
    QueueConsumerStopped,
    QueueMessageSetAside,
)
from workers.scheduler.queues.outcomes import (
    InvalidBatchAnswer,
    MessageVerdict,
    TakenMessage,
    batch_body,
    batches_of,
    failed,
    failures_of,
)
from workers.scheduler.queues.queue_figures import ConsumerFigures
from workers.scheduler.queues.queue_table import QueueTable

ConsumerWish = Literal["run", "drain", "pause"]
CallFunction = Callable[[str, bytes], Awaitable[FunctionAnswer]]
OpenQueue = Callable[[str], Awaitable[QueueTable]]

_MOST_TAKEN = 2000
"""Messages of one queue that are underway, unless one call alone gets more."""
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.02, 0.5
"""Pauses between two looks into an empty queue."""
_FIRST_RETRY_S, _LAST_RETRY_S = 0.5, 5.0
_MOST_SUSPECTS = 10_000
_AWAY_S = 2.0
"""Pause after a call that reached no worker of functions."""
_MEASURE_S = 5.0


class QueueConsumer:
    """Consumes a queue from `run` until it is cancelled or `finish` has ended."""

    def __init__(
        self,
        function: str,
        settings: FunctionQueue,
        call: CallFunction,
        open_queue: OpenQueue,
        on_drained: Callable[[], None],
        on_problem: Callable[[], None],
    ) -> None:
        self.function, self.settings = function, settings
        self._call, self._open_queue = call, open_queue
        self._on_drained, self._on_problem = on_drained, on_problem
        self._visibility_s: float = Duration(settings.visibility)
        self._backoff_s: float = Duration(settings.backoff)
        self._wish: ConsumerWish = "run"
        self._is_stopping = False
        self._woken = asyncio.Event()
        self._tasks: dict[asyncio.Task[None], list[TakenMessage]] = {}
        self._verdicts: list[MessageVerdict] = []
        self._suspects: set[int] = set()
        self._alone: deque[TakenMessage] = deque()
        self._has_one_alone = False
        self._hold_until = self._extend_at = self._measure_at = 0.0
        self._is_failing = False
        self.figures = ConsumerFigures()

    def wish(self, wish: ConsumerWish) -> None:
        """Run, drain (work until nothing can be taken, then pause) or pause from now on."""
        if wish != self._wish:
            self._wish = wish
            self._woken.set()

    async def run(self) -> None:
        """Consume; failures of the database are tried again, and stand in `figures.problem` meanwhile. Raises: LeadershipLost."""
        backoff = Backoff(_FIRST_RETRY_S, _LAST_RETRY_S)
        while True:
            try:
                table = await self._open_queue(self.settings.queue)
                try:
                    if problem := await table.check():
                        raise DatabaseError("42P01", problem)
                    await self._serve(table, backoff)
                    return
                finally:
                    await table.close()
            except (DatabaseError, Disconnected) as error:
                self._note_problem(error.message if isinstance(error, DatabaseError) else str(error))
            if self._is_stopping:
                return
            await backoff.wait()

    async def finish(self, within_s: float) -> None:
        """Take nothing more and wait `within_s` for calls; what is not done then is put back, and taken again by the next leader."""
        self._is_stopping = True
        self._woken.set()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within_s)
        await self.stop()
        self._woken.set()

    async def stop(self) -> None:
        """Cancel all calls; what waits to be sent alone is put back."""
        self._verdicts.extend(MessageVerdict(message, "returned") for message in self._alone)
        self._alone.clear()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, table: QueueTable, backoff: Backoff) -> None:
        """Work until `finish` was called and everything is stored."""
        pause = Backoff(_FIRST_PAUSE_S, _LAST_PAUSE_S, jitter=0.1)
        while True:
            self._woken.clear()
            await self._settle(table)
            await self._extend(table)
            taken = await self._take(table)
            self._note_problem("")
            backoff.reset()
            if taken:
                pause.reset()
                continue
            await self._measure(table)
            if self._is_stopping and not self._tasks and not self._verdicts:
                return
            await self._idle(pause)

    @property
    def _room(self) -> int:
        """Calls that may begin now."""
        now = asyncio.get_running_loop().time()
        if self._is_stopping or self._wish == "pause" or now < self._hold_until or self._has_one_alone:
            return 0
        return self.settings.concurrency - len(self._tasks)

    async def _take(self, table: QueueTable) -> int:
        """Begin calls as far as there is room; return for how many messages."""
        room = self._room
        if room <= 0:
            return 0
        if self._alone:
            if self._tasks:
                return 0
            self._has_one_alone = True
            self._begin([self._alone.popleft()])
            return 1
        most = min(room * self.settings.batch, max(_MOST_TAKEN - len(self._underway()), self.settings.batch))
        taken = await table.take(most, self._visibility_s)
        for batch in batches_of(self._sorted_out(taken), self.settings.batch):
            self._begin(batch)
        if not taken and self._wish == "drain" and not self._tasks and not self._verdicts:
            self._on_drained()
        return len(taken)

    def _sorted_out(self, taken: Sequence[TakenMessage]) -> list[TakenMessage]:
        """Return the messages that are sent with others; set aside what cannot be sent, and keep back what is sent alone."""
        sent: list[TakenMessage] = []
        for message in taken:
            if message.body is None:
                self._verdicts.append(MessageVerdict(message, "dead", 0.0, "it is longer than 4 MiB"))
            elif (
                message.attempt > self.settings.retries + 1
            ):  # earlier attempts ended with the process that made them
                self._verdicts.append(MessageVerdict(message, "dead", 0.0, "no attempt came to an end"))
            elif message.id in self._suspects and message.attempt == self.settings.retries + 1:
                self._alone.append(message)
            else:
                sent.append(message)
        return sent

    def _begin(self, batch: list[TakenMessage]) -> None:
        task = asyncio.get_running_loop().create_task(self._handle(batch))
        self._tasks[task] = batch
        task.add_done_callback(self._end)

    def _underway(self) -> list[TakenMessage]:
        return [*(message for batch in self._tasks.values() for message in batch), *self._alone]

    def _end(self, task: "asyncio.Task[None]") -> None:
        self._tasks.pop(task, None)
        self._has_one_alone = False
        self._woken.set()

    async def _handle(self, batch: list[TakenMessage]) -> None:
        """Call the function for a batch and note the outcomes."""
        try:
            verdicts = await self._verdicts_of(batch)
        except asyncio.CancelledError:
            self._verdicts.extend(MessageVerdict(message, "returned") for message in batch)
            raise
        except Exception as error:  # else its messages would be underway for as long as this process leads
            observe(QueueConsumerCrashed(traceback_of(error)))
            verdicts = self._all_failed(batch, "the platform failed to send it")
        self._verdicts.extend(verdicts)

    async def _verdicts_of(self, batch: list[TakenMessage]) -> list[MessageVerdict]:
        try:
            answer = await self._call(self.function, batch_body(self.settings.queue, batch))
        except OutcomeUnknown as error:
            return self._all_failed(batch, str(error))
        except Unavailable:  # no worker of functions took it: no attempt
            self._hold_until = asyncio.get_running_loop().time() + _AWAY_S
            return [MessageVerdict(message, "returned", _AWAY_S) for message in batch]
        except ApiError as error:
            return self._all_failed(batch, str(error))
        if answer.has_ended and len(self._suspects) < _MOST_SUSPECTS:
            self._suspects.update(message.id for message in batch)
        if not 200 <= answer.status < 300:
            least_s = requested_pause_s(answer.status, answer.retry_after)
            return self._all_failed(batch, f"it answered with status {answer.status}", least_s)
        try:
            failures = failures_of(answer.body, [message.id for message in batch])
        except InvalidBatchAnswer as error:
            return self._all_failed(batch, str(error))
        if not failures:
            self._note_success()
        return [
            self._failed(message, "named in batchItemFailures", asked_s=failures[message.id])
            if message.id in failures
            else MessageVerdict(message, "done")
            for message in batch
        ]

    def _all_failed(
        self, batch: Sequence[TakenMessage], error: str, least_s: float = 0.0
    ) -> list[MessageVerdict]:
        if not self._is_failing:
            self._is_failing = True
            observe(QueueConsumerFailing(self.function, self.settings.queue, error))
        return [self._failed(message, error, least_s=least_s) for message in batch]

    def _failed(
        self, message: TakenMessage, error: str, *, asked_s: float | None = None, least_s: float = 0.0
    ) -> MessageVerdict:
        return failed(
            message,
            error,
            retries=self.settings.retries,
            backoff_s=self._backoff_s,
            chance=random.random(),
            asked_s=asked_s,
            least_s=least_s,
        )

    def _note_success(self) -> None:
        if self._is_failing:
            self._is_failing = False
            observe(QueueConsumerRecovered(self.function, self.settings.queue))

    def _note_problem(self, problem: str) -> None:
        if problem == self.figures.problem:
            return
        self.figures.problem = problem
        if problem:
            observe(QueueConsumerStopped(self.function, self.settings.queue, problem))
        self._on_problem()

    async def _settle(self, table: QueueTable) -> None:
        verdicts, self._verdicts = self._verdicts, []  # calls that end meanwhile add to the new list
        if not verdicts:
            return
        try:
            await table.settle(verdicts)
        except (DatabaseError, Disconnected):
            self._verdicts[:0] = verdicts  # written when the queue is open again
            raise
        self.figures.count(verdicts)
        self._suspects -= {verdict.message.id for verdict in verdicts if verdict.kind in ("done", "dead")}
        for verdict in verdicts:
            if verdict.kind == "dead":
                observe(
                    QueueMessageSetAside(
                        self.function, self.settings.queue, verdict.message.id, verdict.error
                    )
                )

    async def _extend(self, table: QueueTable) -> None:
        """Extend the leases of what is underway when a third of them is over."""
        now = asyncio.get_running_loop().time()
        if now < self._extend_at:
            return
        self._extend_at = now + self._visibility_s / 3
        if messages := self._underway():
            await table.extend(messages, self._visibility_s)

    async def _measure(self, table: QueueTable) -> None:
        now = asyncio.get_running_loop().time()
        self.figures.underway = len(self._underway())
        if now < self._measure_at:
            return
        self._measure_at = now + _MEASURE_S
        self.figures.measure(await table.figures(), now, is_taking=self._wish != "pause")

    async def _idle(self, pause: Backoff) -> None:
        """Sleep until a call ends, the wish changes, or something is due."""
        now = asyncio.get_running_loop().time()
        moments = [self._measure_at]
        if self._tasks or self._alone:
            moments.append(self._extend_at)
        if self._room > 0:
            moments.append(now + pause.next_s())
        elif now < self._hold_until:
            moments.append(self._hold_until)
        with suppress(TimeoutError):
            async with asyncio.timeout(max(min(moments) - now, 0.0)):
                await self._woken.wait()
