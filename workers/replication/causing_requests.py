"""Which request made a change: the causes of a draft that are believed, for webhooks and sockets, which have no keys. Pure but for its memory.

    message headwater.cause of the log --signature, age, nonce (schemas/causes.py)--> ChangeBatch.requests

The leader reads the whole log in order, so it sees each nonce first where it was first committed. A new leader does not know the nonces of
the one before: causes that were signed before its term are not believed, and changes of that moment have no request.
"""

import time
from collections.abc import Sequence

from schemas.believed_causes import BelievedCauses
from schemas.causes import read_cause
from schemas.changes import CausingRequest
from workers.replication.transactions import TableDraft


class CausingRequests:
    """Verifies the causes of one term with `keys`. `since_ms`: when the term began, in milliseconds since 1970."""

    def __init__(self, keys: Sequence[bytes], since_ms: int | None = None) -> None:
        self._keys = keys
        self._believed = BelievedCauses(
            since_ms=time.time_ns() // 1_000_000 if since_ms is None else since_ms
        )

    def of(self, draft: TableDraft) -> list[tuple[int, CausingRequest | None]]:
        """Return the requests of a draft, each from its index on; none if no cause is believed."""
        requests = [(index, self._request(content, draft)) for index, content in draft.causes]
        return requests if any(request for _, request in requests) else []

    def _request(self, content: bytes, draft: TableDraft) -> CausingRequest | None:
        cause = read_cause(self._keys, content)
        if cause is None or cause.signed is None:
            return None
        signed = cause.signed
        if not self._believed.believe(signed, draft.lsn, draft.committed_at):
            return None
        return CausingRequest(signed.request_id, signed.role, signed.sub)
