"""Gives up the connections of a pool whose server is silent: a hung machine, or a link on which packets vanish, breaks none.

Without it a request waits until its whole time is over, and each new one takes the next silent connection. That a statement
takes long shows nothing by itself, so the watch asks another way: while an exchange has been unanswered for five seconds, it
opens a plain connection of its own. The server is silent if that is not answered within five seconds and no connection of the
pool has received a byte meanwhile. An error is an answer: a server that is full, starts up or refuses the login is not silent.

Then all connections are given up, because those that look idle are silent, too. Reads fail with `ServerSilent` (503), and writes
whose transaction may have reached the server with `OutcomeUnknown` (504; transactions/unknown_outcome.py). Until an attempt to
connect succeeds, further requests fail at once.
"""

import asyncio
from typing import ClassVar, Protocol

import asyncpg

from broker.observability.observations import Observation
from broker.observability.observe import observe
from workers.database.errors import ServerSilent

_EVERY_S, _UNANSWERED_S, _ATTEMPT_S = 1.0, 5.0, 5.0


class DatabaseSilent(Observation, frozen=True):
    """The database answered neither a pool's exchanges nor a new connection; the pool gave up its connections."""

    level: ClassVar[str] = "error"
    login: str
    after_s: float
    connections: int


class SilentPool(Protocol):
    """What the watch reads of a pool, and does to it."""

    @property
    def name(self) -> str:
        """The login role."""
        ...

    @property
    def unanswered_since(self) -> float | None:
        """Since when the oldest exchange under way is unanswered, by the event loop's clock; None without one."""
        ...

    def expect_answers(self) -> None:
        """Begin to note whether any connection receives something."""
        ...

    @property
    def was_answered(self) -> bool:
        """Whether any connection received something since then."""
        ...

    def give_up_connections(self, error: ServerSilent) -> int:
        """End all connections with an error; return how many there were."""
        ...


class SilenceWatch:
    """Watches one pool until `run` is cancelled."""

    def __init__(
        self,
        pool: SilentPool,
        url: str,
        *,
        every_s: float = _EVERY_S,
        unanswered_s: float = _UNANSWERED_S,
        attempt_s: float = _ATTEMPT_S,
    ) -> None:
        self._pool, self._url = pool, url
        self._every_s, self._unanswered_s, self._attempt_s = every_s, unanswered_s, attempt_s
        self.attempts = 0
        """How often the watch tried to connect by itself."""

    async def run(self) -> None:
        """Look at the pool again and again."""
        loop = asyncio.get_running_loop()
        answered_at = float("-inf")
        while True:
            await asyncio.sleep(self._every_s)
            since = self._pool.unanswered_since
            if since is None or loop.time() - max(since, answered_at) < self._unanswered_s:
                continue
            self._pool.expect_answers()
            if await self._server_answers() or self._pool.was_answered:
                answered_at = loop.time()
                continue
            if (since := self._pool.unanswered_since) is not None:
                after_s = round(loop.time() - since, 1)
                error = ServerSilent(f"the database has answered nothing for {after_s:.0f} seconds")
                observe(DatabaseSilent(self._pool.name, after_s, self._pool.give_up_connections(error)))

    async def _server_answers(self) -> bool:
        self.attempts += 1
        try:
            connection = await asyncpg.connect(self._url, timeout=self._attempt_s)
        except (asyncpg.PostgresError, asyncpg.InterfaceError):
            return True
        except (OSError, TimeoutError):
            return False
        connection.terminate()
        return True
