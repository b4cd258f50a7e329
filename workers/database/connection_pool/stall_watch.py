"""Watches a connection pool that opens no connection although Postgres takes connections.

That is a defect of this process, not of the database: connect_state.py excludes the known one. Callers would get 503 until
the process is replaced, so it is replaced: the watch reports the fault and calls `on_stalled`, which stops the process, and
the supervisor starts it again.

While callers need a connection and none is open, the watch opens a plain connection of its own every two seconds with the
same URL. The pool is stalled once these attempts have succeeded for ten seconds in which it had no session. An attempt that
fails starts the ten seconds again: the server is away, refuses the login, or takes no more connections.
"""

import asyncio
from collections.abc import Callable
from typing import ClassVar, Protocol

import asyncpg

from broker.observability.faults import FAULTS
from broker.observability.observations import Observation
from broker.observability.observe import observe

_EVERY_S, _STALLED_AFTER_S = 2.0, 10.0
_ATTEMPT_S = 5.0


class PoolStalled(Observation, frozen=True):
    """A connection pool opens no connection although Postgres takes connections; the process stops and is started again."""

    level: ClassVar[str] = "error"
    login: str
    after_s: float
    state: str


class WatchedPool(Protocol):
    """What the watch reads of a pool."""

    @property
    def name(self) -> str:
        """The login role."""
        ...

    @property
    def is_starved(self) -> bool:
        """Whether callers need a connection and none is open."""
        ...

    @property
    def connect_state(self) -> str:
        """The state of its connecting, for the log."""
        ...


class StallWatch:
    """Watches one pool until it is stalled, or until `run` is cancelled."""

    def __init__(
        self,
        pool: WatchedPool,
        url: str,
        on_stalled: Callable[[str], None],
        *,
        every_s: float = _EVERY_S,
        stalled_after_s: float = _STALLED_AFTER_S,
    ) -> None:
        self._pool, self._url, self._on_stalled = pool, url, on_stalled
        self._every_s, self._stalled_after_s = every_s, stalled_after_s
        self.attempts = 0
        """How often the watch tried to connect by itself."""

    async def run(self) -> None:
        """Look at the pool again and again; report once when it is stalled, and return."""
        loop = asyncio.get_running_loop()
        since: float | None = None
        while True:
            await asyncio.sleep(self._every_s)
            is_failing = (
                self._pool.is_starved and await self._server_takes_connections() and self._pool.is_starved
            )
            if not is_failing:
                since = None
            elif since is None:
                since = loop.time()
            elif loop.time() - since >= self._stalled_after_s:
                self._report(loop.time() - since)
                return

    async def _server_takes_connections(self) -> bool:
        self.attempts += 1
        try:
            connection = await asyncpg.connect(self._url, timeout=_ATTEMPT_S)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError):
            return False
        connection.terminate()
        return True

    def _report(self, after_s: float) -> None:
        login = self._pool.name
        observe(PoolStalled(login, round(after_s, 1), self._pool.connect_state))
        reason = "it opens no connection although Postgres takes connections; its process is started again"
        FAULTS.report(f"database pool {login}", reason)
        self._on_stalled(f"the connection pool of {login} is stalled")
