"""What a live query is to the engine that runs it: where its results come from, and who receives them."""

from typing import Protocol

from schemas.subscriptions import LiveQueryPlan
from services.subscriptions.pool_queries import OperationRejected


class LiveSource(Protocol):
    """A query of one caller. Sources with the same `key` are one query."""

    @property
    def key(self) -> bytes:
        """Return a digest of the query, its caller, and all else that its result depends on."""
        ...

    async def plan(self) -> LiveQueryPlan:
        """Return the tables to follow. Raises: OperationRejected, Unavailable, DeadlineExceeded."""
        ...

    async def run(self) -> bytes:
        """Return the present result. Raises: as `plan`."""
        ...


class LiveQueryListener(Protocol):
    """Receives the results of a live query. Must not block."""

    def result(self, result: bytes) -> None:
        """Receive a result, in the form in which `LiveSource.run` returns it."""
        ...

    def failed(self, rejected: OperationRejected) -> None:
        """Handle that the query ended with an error."""
        ...
