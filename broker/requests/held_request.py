"""A request that a member of a pool holds, from its arrival to its reply."""

import asyncio

from msgspec import Struct

from broker.requests.fair_queue import PLATFORM, WaitingRequest
from schemas.http import Request


class HeldRequest(Struct, eq=False):
    """A request that this member holds: it waits in the queue, or runs when it has a task."""

    request: Request
    reply: str
    since: float
    deadline: float
    caller_key: str = PLATFORM
    """The caller whose share it uses; the platform's key after the reply (`broker/requests/current_request.py`)."""
    task: asyncio.Task[None] | None = None
    cancel_reason: str = ""
    """Why it is cancelled; empty while it is not."""
    is_started: bool = False
    is_sending: bool = False
    """Whether it has moved from the running requests to those whose stored answer is being sent."""
    failure: str = ""
    """Why it was answered with a status of 500 or more, for the log."""
    started_at: float = 0.0
    entry: WaitingRequest["HeldRequest"] | None = None
    """Its entry in the queue while it waits."""
    sql_s: float = 0.0
    pool: str = ""

    @property
    def request_id(self) -> str:
        """The id of the request; empty after the reply."""
        return self.request.id
