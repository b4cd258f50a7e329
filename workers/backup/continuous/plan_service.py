"""Answers, in the process `archive`, what a restore to a moment would read and give: it alone can read the archive.

Operations of administrators ask by the broker (`archive.plan`): a `PlanTask` as JSON, answered with a `PlanAnswer`. A plan reads the names of all
files of the store, so one is made at a time, and a request that finds others waiting is refused.
"""

import asyncio

import msgspec

from broker.archive.sealing import SealBroken
from broker.archive.store import ArchiveFileMissing, ArchiveStore, ArchiveStoreDown
from broker.nats.connection import NatsConnection
from broker.nats.protocol import NatsMessage
from broker.subjects import ARCHIVE_PLAN
from schemas.recovery import PlanAnswer, PlanTask
from workers.backup.continuous.moments import MomentRejected
from workers.backup.continuous.recovery_plan import plan_recovery

PLAN_S = 20.0
"""Longest time of one plan."""
_MOST_WAITING = 4
_BUSY = "Other dry runs are under way: try again in a moment."


class PlanService:
    """Answers plans on a connection, until `close`."""

    def __init__(self, connection: NatsConnection, store: ArchiveStore, keys: list[bytes]) -> None:
        self._connection, self._store, self._keys = connection, store, keys
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._subscription = connection.subscribe(ARCHIVE_PLAN.name, self._receive, queue=ARCHIVE_PLAN.pool)

    async def close(self) -> None:
        """Stop to answer."""
        self._subscription.unsubscribe()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _receive(self, message: NatsMessage) -> None:
        if not message.reply:
            return
        if len(self._tasks) >= _MOST_WAITING:
            self._send(message.reply, PlanAnswer(error=_BUSY))
            return
        task = asyncio.ensure_future(self._answer(message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, message: NatsMessage) -> None:
        async with self._lock:
            self._send(message.reply, await make_plan(self._store, self._keys, message.payload))

    def _send(self, inbox: str, answer: PlanAnswer) -> None:
        self._connection.try_publish(inbox, msgspec.json.encode(answer))


async def make_plan(store: ArchiveStore, keys: list[bytes], request: bytes) -> PlanAnswer:
    """Return the plan of a request, or why there is none."""
    try:
        task = msgspec.json.decode(request, type=PlanTask)
        async with asyncio.timeout(PLAN_S):
            files = await plan_recovery(store, keys, task.moment, task.archive)
    except msgspec.MsgspecError as error:
        return PlanAnswer(error=f"The request cannot be read: {error}")
    except MomentRejected as error:
        return PlanAnswer(error=str(error), is_rejected=True)
    except ArchiveFileMissing as error:
        return PlanAnswer(error=f"The archive is damaged: {error} is missing.", is_rejected=True)
    except SealBroken as error:
        return PlanAnswer(error=f"The archive cannot be used: {error}.", is_rejected=True)
    except ArchiveStoreDown as error:
        return PlanAnswer(error=f"The store cannot be read: {error}")
    except TimeoutError:
        return PlanAnswer(error=f"The store took longer than {PLAN_S:.0f} s.")
    return PlanAnswer(plan=files.plan)
