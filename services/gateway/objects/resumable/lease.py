"""The lease to append to a resumable upload: it expires after 10 s, is renewed every 2 s, and released when another client asks for it.

So an upload has one writer among all edges, and after the crash of an edge another one can write within 10 s. The pool stores the times
(workers/storage/tus/rows.py). Here they are counted from before the request was sent, so that the lease ends here first.
"""

import asyncio

import msgspec

from broker.requests.call import Calls
from broker.subjects import STORAGE
from schemas.blobs import StoredBody
from schemas.errors import DeadlineExceeded, Unavailable
from schemas.http import Request

LEASE_S = 10.0
"""What the pool grants."""
RENEW_S = 2.0
_ANSWER_MS = 2000
_MARGIN_S = 1.0


class UploadLease:
    """One writer's hold of one upload, since `begun_at` of the loop's clock."""

    def __init__(self, calls: Calls, message: Request, ticket: bytes, begun_at: float) -> None:
        self._calls = calls
        stored = StoredBody(ticket, 0, is_complete=False, is_under_way=True)
        self._question = msgspec.structs.replace(message, stored=stored, budget_ms=_ANSWER_MS)
        self._until = begun_at + LEASE_S

    async def keep(self, *, gives_way: bool = True) -> None:
        """Renew the lease; return when another writer has it or waits for it, or when the pool cannot be reached before it expires.

        With `gives_way=False` (all bytes have arrived and become one blob) the lease is not released to a waiting client: it
        would have to do the same work.
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
