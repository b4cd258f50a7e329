"""Check every few seconds whether the object store answers, and report a fault if it does not.

The check reads no object: a folder on a disk must exist and have free space, an object store must answer for its
bucket. One failed check may be a slow moment; two in a row are a fault (`broker/observability/faults.py`), so the
loss of a store is reported after twenty seconds at most. The readiness of the pool `storage` depends on it
(workers/storage/pool.py); other pools do not use the store.
"""

import asyncio

from broker.blobs.errors import BlobStoreDown
from broker.blobs.store import BlobStore
from broker.observability.faults import FAULTS, Faults
from broker.observability.observe import gauge

EVERY_S, AGAIN_S = 10.0, 1.0
_ANSWER_S = 3.0
_FAILURES = 2
PART = "object store"


class BlobStoreWatch:
    """Watches one store from `start` to `close`."""

    def __init__(self, store: BlobStore, faults: Faults = FAULTS) -> None:
        self._store, self._faults = store, faults
        self._failures = 0
        self._task: asyncio.Task[None] | None = None
        self.reason = ""
        self._remove_gauge = gauge(
            "headwater_object_store_up",
            "Whether the object store answers this process.",
            lambda: float(not self.reason),
        )

    def start(self) -> None:
        """Start the checks."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name="object store")

    async def close(self) -> None:
        """Stop the checks."""
        self._remove_gauge()
        self._faults.clear(PART)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def check(self) -> None:
        """Check once and record the result."""
        try:
            async with asyncio.timeout(_ANSWER_S):
                await self._store.check()
        except TimeoutError:
            self._fail(f"it gave no answer within {_ANSWER_S:g} s")
        except BlobStoreDown as error:
            self._fail(str(error))
        else:
            self._failures, self.reason = 0, ""
            self._faults.clear(PART)

    async def _run(self) -> None:
        while True:
            await self.check()
            await asyncio.sleep(AGAIN_S if self._failures else EVERY_S)

    def _fail(self, reason: str) -> None:
        self._failures += 1
        if self._failures >= _FAILURES:
            self.reason = reason
            self._faults.report(PART, reason)
