"""The keys of foreign issuers, kept up to date: read at the start, every ten minutes, and when a token names a new one.

What could not be read leaves the keys as they were. Nobody can make us ask often: an unknown `kid` leads to one
reading in 30 seconds for each issuer, which all requests that wait for it share.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from broker.observability.observations import Observation
from broker.observability.observe import observe
from schemas.keys.token_keys import Issuer, KeySet
from services.keys.issuers import Foreign
from services.keys.published import NotRead

LASTS_S = 600.0
"""Seconds until keys are read again."""
PAUSE_S = 30.0
"""Least seconds between two readings that unknown keys lead to, and until what failed is tried again."""
PATIENCE_S = 3.0
"""Most seconds that the start, or a request with an unknown key, waits for a reading."""


class IssuerKeysRead(Observation, frozen=True):
    """The keys of a foreign issuer were read, and are others than before."""

    issuer: str
    keys: int


class IssuerKeysNotRead(Observation, frozen=True):
    """The keys of a foreign issuer could not be read; those read before go on holding."""

    level: ClassVar[str] = "warning"
    issuer: str
    reason: str


@dataclass(slots=True)
class _Known:
    """What is known of an issuer."""

    foreign: Foreign
    issuer: Issuer
    asked_at: float = float("-inf")
    """When an unknown key last led to a reading."""
    reading: "asyncio.Task[bool] | None" = None


class ForeignKeys:
    """The keys of issuers by their `iss`. `changed` is told all of them whenever any are others than before."""

    def __init__(
        self,
        issuers: Sequence[Foreign],
        read: Callable[[Foreign], Awaitable[KeySet]],
        changed: Callable[[Mapping[str, Issuer]], object],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._known = {each.url: _Known(each, Issuer(audience=each.audience)) for each in issuers}
        self._read = read
        self._changed = changed
        self._clock = clock
        self._repeating: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Read all keys, and again and again from now on. Who does not answer in time is not waited for."""
        if not self._known:
            return
        self._tell()
        first = {self._reading(known): known for known in self._known.values()}
        self._repeating = [
            asyncio.get_running_loop().create_task(self._repeat(known)) for known in self._known.values()
        ]
        _, late = await asyncio.wait(first, timeout=PATIENCE_S)
        for reading in late:
            observe(IssuerKeysNotRead(first[reading].foreign.name, f"no answer within {PATIENCE_S:g} s"))

    async def refresh(self, url: str) -> bool:
        """Read the keys of an issuer now, or wait for a reading that has begun; tell whether it succeeded."""
        return await asyncio.shield(self._reading(self._known[url]))

    async def learn(self, url: str) -> bool:
        """Read the keys of an issuer if that has not been done just now; tell whether they are others then."""
        known = self._known.get(url)
        if known is None:
            return False
        before = known.issuer
        if known.reading is None or known.reading.done():
            if self._clock() - known.asked_at < PAUSE_S:
                return False
            known.asked_at = self._clock()
        await asyncio.wait([self._reading(known)], timeout=PATIENCE_S)
        return known.issuer is not before

    async def close(self) -> None:
        """Read nothing more."""
        tasks = [*self._repeating, *(known.reading for known in self._known.values() if known.reading)]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _repeat(self, known: _Known) -> None:
        while True:
            is_read = await asyncio.shield(self._reading(known))
            await asyncio.sleep(LASTS_S if is_read else PAUSE_S)

    def _reading(self, known: _Known) -> "asyncio.Task[bool]":
        """Give the reading that is going on, or begin one."""
        if known.reading is None or known.reading.done():
            known.reading = asyncio.get_running_loop().create_task(self._renew(known))
        return known.reading

    async def _renew(self, known: _Known) -> bool:
        try:
            keys = await self._read(known.foreign)
        except NotRead as error:
            observe(IssuerKeysNotRead(known.foreign.name, str(error)))
            return False
        if keys != known.issuer.keys:
            known.issuer = Issuer(keys, known.foreign.audience)
            observe(IssuerKeysRead(known.foreign.name, len(keys.keys)))
            self._tell()
        return True

    def _tell(self) -> None:
        self._changed({url: known.issuer for url, known in self._known.items()})
