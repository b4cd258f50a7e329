"""The request that the running task serves: for whom, and until when its answer is of use.

`broker/requests/serve.py` sets it around a handler, `workers/database/pool.py` reads it: so connections are shared between callers without
an argument for the caller at every statement. A task that a handler starts inherits it. When the request is answered its key
becomes the platform's and its deadline infinite, for what goes on after that is the platform's own work.
"""

from contextvars import ContextVar
from typing import Protocol


class ServedRequest(Protocol):
    """A request at work."""

    caller_key: str
    deadline: float
    """Time of the event loop."""


CURRENT: ContextVar[ServedRequest | None] = ContextVar("current_request", default=None)
