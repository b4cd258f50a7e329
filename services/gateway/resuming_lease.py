"""The right to append to a resumable upload: it lapses by itself, is renewed while bytes come, and given up when asked for.

So an upload has one writer among all edges, and one whose edge died is free again soon. The pool keeps the times
(workers/storage/tus/rows.py); here they are counted from before the question left, so that ours is over first.
"""

import asyncio

import msgspec

from broker.requests.call import Calls
from broker.subjects import STORAGE
from schemas.blobs import Stored
from schemas.errors import DeadlineExceeded, Unavailable
from schemas.http import Request

LEASE_S = 10.0
"""What the pool grants."""
RENEW_S = 2.0
_ANSWER_MS = 2000
_MARGIN_S = 1.0


class Lease:
    """One writer's hold of one upload, since `begun_at` of the loop's clock."""

    def __init__(self, calls: Calls, asked: Request, ticket: bytes, begun_at: float) -> None:
        self._calls = calls
        stored = Stored(ticket, 0, is_complete=False, is_under_way=True)
        self._question = msgspec.structs.replace(asked, stored=stored, budget_ms=_ANSWER_MS)
        self._until = begun_at + LEASE_S

    async def keep(self, *, gives_way: bool = True) -> None:
        """Renew the lease until somebody else has it or waits for it, or nobody can be asked any more; then return.

        Who has all bytes and but makes them one blob does not give way: whoever waits would have to do the same.
        """
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(RENEW_S)
            asked_at = loop.time()
            try:
                async with asyncio.timeout_at(self._until - _MARGIN_S):
                    answer = await self._calls.call(STORAGE, self._question)
            except TimeoutError:
                return
            except (Unavailable, DeadlineExceeded):
                continue  # a worker that died; others may answer in time
            if answer.response.status == 503 and loop.time() < self._until - _MARGIN_S:
                continue  # the database does not answer
            if answer.response.status != 204 and gives_way:
                return
            self._until = asked_at + LEASE_S
