"""Requests of operations to the other pools: what another pool does already (accounts, objects, functions) is done by it, not twice.

operation --Request of the service role--> pool auth, storage or functions --> Response, its body read up to a limit
"""

import msgspec

from broker.requests.call import Calls, PoolReply
from broker.subjects import Subject
from schemas.caller import ServiceCaller
from schemas.http import Headers, Request, Response
from workers.management.errors import ManagementError

MAX_ANSWER_BYTES = 16 * 1024 * 1024
_BUDGET_MS = 30_000


class PlatformPools:
    """Sends requests to pools. Without `calls` (the command line of the machine has no broker) each request is refused."""

    def __init__(self, calls: Calls | None) -> None:
        self._calls = calls

    async def request(
        self,
        subject: Subject,
        method: str,
        path: str,
        *,
        request_id: str,
        query: str = "",
        headers: Headers | None = None,
        body: bytes = b"",
        budget_ms: int = _BUDGET_MS,
    ) -> Response:
        """Send a request as the service role and return the whole response, whatever its status.

        `path` is the one below the interface's prefix. Raises: ManagementError (503 without a broker, 502 for an answer over
        `MAX_ANSWER_BYTES`); Unavailable, DeadlineExceeded, OutcomeUnknown.
        """
        if self._calls is None:
            raise ManagementError(
                503, "unavailable", "This needs the running platform, not the command line alone"
            )
        request = Request(
            request_id,
            method,
            path,
            query=query,
            headers=headers or [],
            body=body,
            caller=ServiceCaller(),
            budget_ms=budget_ms,
        )
        reply = await self._calls.call(subject, request)
        return msgspec.structs.replace(reply.response, body=await _whole_body(reply), stream=None)


async def _whole_body(reply: PoolReply) -> bytes:
    if reply.chunks is None:
        return reply.response.body
    parts, size = [], 0
    try:
        async for chunk in reply.chunks:
            parts.append(chunk)
            size += len(chunk)
            if size > MAX_ANSWER_BYTES:
                raise ManagementError(502, "too_large", f"The answer is larger than {MAX_ANSWER_BYTES} bytes")
    finally:
        await reply.close()
    return b"".join(parts)
