"""All functions that consume queues, during one term of leadership: which there are, what administrators want of them, how they do.

One leader consumes, for `concurrency` and `pause` are of the queue and not of a process. That no message is held twice does not depend
on it: a message is taken by one statement that locks it and moves its lease, and a leader that is cut off loses its sessions.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress

from broker.observability.observe import gauge, observe, traceback_of
from schemas.settings.functions import FunctionQueue
from workers.database.errors import DatabaseError
from workers.database.sessions.leadership import Leadership, LeadershipLost
from workers.scheduler.observations import QueueConsumerCrashed
from workers.scheduler.queues.consumer import CallFunction, QueueConsumer
from workers.scheduler.queues.queue_logins import QueueLogins
from workers.scheduler.queues.queue_table import QueueTable
from workers.scheduler.statements import QUEUES

CHANNEL = "headwater_queues"
_WRITE_S = 5.0
_AFTER_CRASH_S = 5.0


class QueueConsumers:
    """The consumers of a term; `on_due` is called when `due_at` may have changed."""

    def __init__(
        self, leadership: Leadership, url: str, call: CallFunction, on_due: Callable[[], None]
    ) -> None:
        self._leadership, self._call, self._on_due = leadership, call, on_due
        self._logins = QueueLogins(leadership, url)
        self._configured: Mapping[str, FunctionQueue] = {}
        self._problems: Mapping[str, str] = {}
        self._running: dict[str, tuple[QueueConsumer, asyncio.Task[None]]] = {}
        self._gauges: dict[str, list[Callable[[], None]]] = {}
        self._changed = asyncio.Event()
        self._drained: set[str] = set()
        self._has_taken_over = self._is_stopping = False
        self._due_at: float | None = None

    @property
    def due_at(self) -> float | None:
        """Return when the platform has to run for a message, in seconds since 1970; None if no message waits."""
        return self._due_at

    def update(self, configured: Mapping[str, FunctionQueue]) -> None:
        """Replace which functions consume which queues."""
        if configured != self._configured:
            self._configured = configured
            self._changed.set()

    def wake(self) -> None:
        """Read soon what administrators want."""
        self._changed.set()

    async def run(self) -> None:
        """Keep consumers as they are configured and wanted. Raises: DatabaseError, LeadershipLost."""
        self._changed.set()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_WRITE_S if self._running else None):
                    await self._changed.wait()
            self._changed.clear()
            if not self._is_stopping:
                await self._sync()
            await self._write()

    async def finish(self, within_s: float) -> None:
        """End gracefully: what is underway gets `within_s`, outcomes are stored."""
        self._is_stopping = True
        await asyncio.gather(*(self._finish(name, within_s) for name in list(self._running)))
        with suppress(DatabaseError):
            await self._write()

    async def stop(self) -> None:
        """Cancel everything; leases end by themselves."""
        for consumer, task in self._running.values():
            await consumer.stop()
            task.cancel()
        await asyncio.gather(*(task for _, task in self._running.values()), return_exceptions=True)
        for name in list(self._gauges):
            self._hide(name)

    async def _sync(self) -> None:
        wanted, self._problems = _by_queue(self._configured)
        if self._configured and not self._has_taken_over:
            await self._leadership.ask(QUEUES["take_over"])
            self._has_taken_over = True
        for name, (consumer, _) in list(self._running.items()):
            if wanted.get(name) != consumer.settings:
                await self._finish(name, 0.0)
        names = list(self._configured)
        settings = list(self._configured.values())
        rows = await self._leadership.ask(
            QUEUES["sync"], names, [each.queue for each in settings], [each.dead_letter for each in settings]
        )
        wishes = {row["function"]: row["wanted"] for row in rows}
        for name, queue in wanted.items():
            if name not in self._running:
                self._begin(name, queue)
            self._running[name][0].wish(wishes.get(name, "run"))

    def _begin(self, name: str, queue: FunctionQueue) -> None:
        async def open_queue(_: str) -> QueueTable:
            return await self._logins.open(queue.queue, queue.dead_letter, archives=queue.archive)

        def drained() -> None:
            self._drained.add(name)
            self._changed.set()

        consumer = QueueConsumer(name, queue, self._call, open_queue, drained, self._changed.set)
        task = asyncio.get_running_loop().create_task(_keep_running(consumer), name=f"queue {queue.queue}")
        self._running[name] = consumer, task
        self._show(name, consumer)

    async def _finish(self, name: str, within_s: float) -> None:
        consumer, task = self._running.pop(name)
        self._hide(name)
        await consumer.finish(within_s)
        await asyncio.wait((task,), timeout=_WRITE_S)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await self._write_one(name, consumer)

    async def _write(self) -> None:
        """Store figures, and that a queue is drained."""
        for name, problem in self._problems.items():
            await self._leadership.ask(QUEUES["problem"], name, problem)
        for name, (consumer, _) in list(self._running.items()):
            await self._write_one(name, consumer)
        for name in list(self._drained):
            await self._leadership.ask(QUEUES["drained"], name)
            if name in self._running:
                self._running[name][0].wish("pause")
            self._drained.discard(name)
        moments = [
            each.figures.due_at for each, _ in self._running.values() if each.figures.due_at is not None
        ]
        due_at = min(moments, default=None)
        if due_at != self._due_at:
            self._due_at = due_at
            self._on_due()

    async def _write_one(self, name: str, consumer: QueueConsumer) -> None:
        figures = consumer.figures
        done, failed, set_aside, error = figures.take_counts()
        queue = figures.queue
        await self._leadership.ask(
            QUEUES["figures"], name, figures.problem, figures.underway, done, failed, set_aside, figures.done_per_s,
            figures.failed_per_s, error, *((None, None, None) if queue is None else queue[:3]),
        )  # fmt: skip

    def _show(self, name: str, consumer: QueueConsumer) -> None:
        figures, labels = consumer.figures, {"queue": consumer.settings.queue, "function": name}
        self._gauges[name] = [
            gauge(
                "headwater_queue_messages",
                "Messages in a queue that a function consumes, 100001 for more.",
                lambda: figures.queue.messages if figures.queue else 0.0,
                **labels,
            ),
            gauge(
                "headwater_queue_oldest_seconds",
                "Age of the oldest message of a queue that a function consumes.",
                lambda: (figures.queue.oldest_s if figures.queue else 0.0) or 0.0,
                **labels,
            ),
            gauge(
                "headwater_queue_underway",
                "Messages that a function works on.",
                lambda: figures.underway,
                **labels,
            ),
            gauge(
                "headwater_queue_done",
                "Messages that a function has done since this process leads.",
                lambda: figures.all_done,
                **labels,
            ),
        ]

    def _hide(self, name: str) -> None:
        for remove in self._gauges.pop(name, ()):
            remove()


async def _keep_running(consumer: QueueConsumer) -> None:
    """Run a consumer; an error of our own code is reported, and it runs again. The end of the lead ends it."""
    while True:
        try:
            await consumer.run()
            return
        except LeadershipLost:
            return
        except Exception as error:  # without this task nothing is consumed
            observe(QueueConsumerCrashed(traceback_of(error)))
        await asyncio.sleep(_AFTER_CRASH_S)


def _by_queue(configured: Mapping[str, FunctionQueue]) -> tuple[dict[str, FunctionQueue], dict[str, str]]:
    """Return the consumers, and why others are none: a queue has one consumer, the first by name."""
    consumers: dict[str, FunctionQueue] = {}
    problems: dict[str, str] = {}
    taken: dict[str, str] = {}
    for name in sorted(configured):
        queue = configured[name].queue.lower()
        if queue in taken:
            problems[name] = f"the function {taken[queue]} consumes the queue {queue} already"
        else:
            taken[queue], consumers[name] = name, configured[name]
    return consumers, problems
