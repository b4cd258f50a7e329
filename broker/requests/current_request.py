"""The request that the running task serves: its caller key and its deadline, in a context variable.

`broker/requests/serve.py` sets it before it calls a handler, `workers/database/connection_pool/shares.py` reads it. So database
connections are shared fairly between callers without passing the caller to every statement. A task that a handler
starts inherits the variable. When the request is answered the key becomes the platform's and the deadline infinite:
what such a task still does is work of the platform itself.
"""

from contextvars import ContextVar
from typing import Protocol

from schemas.http import Request


class ServedRequest(Protocol):
    """A request whose handler runs."""

    caller_key: str
    deadline: float
    """Time of the event loop."""
    sql_s: float
    """Seconds that its transactions took."""
    request: Request
    """What was sent; without an id after the reply."""
    pool: str
    """Name of the pool that serves it."""

    @property
    def request_id(self) -> str:
        """Its id; empty after the reply."""


CURRENT: ContextVar[ServedRequest | None] = ContextVar("current_request", default=None)
