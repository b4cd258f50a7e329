"""The keys of third-party issuers: read at the start, every ten minutes, and when a token names an unknown key.

After a failed reading the earlier keys stay valid. Clients cannot cause frequent readings: an unknown `kid` leads to at most one
reading in 30 seconds for each issuer, and all requests that wait for it share it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from broker.observability.observations import Observation
from broker.observability.observe import observe
from schemas.keys.token_keys import Issuer, KeySet
from services.keys.issuers import ThirdPartyIssuer
from services.keys.key_fetch import KeysNotRead

PERIOD_S = 600.0
"""Seconds until keys are read again."""
PAUSE_S = 30.0
"""Least seconds between two readings caused by unknown keys, and between retries of a failed reading."""
WAIT_S = 3.0
"""Longest wait of the start, or of a request with an unknown key, for a reading."""


class IssuerKeysRead(Observation, frozen=True):
    """The keys of a third-party issuer were read and have changed."""

    issuer: str
    keys: int


class IssuerKeysNotRead(Observation, frozen=True):
    """The keys of a third-party issuer could not be read; the earlier ones stay valid."""

    level: ClassVar[str] = "warning"
    issuer: str
    reason: str


@dataclass(slots=True)
class _IssuerState:
    """Keys of an issuer and the state of their reading."""

    source: ThirdPartyIssuer
    issuer: Issuer
    requested_at: float = float("-inf")
    """When an unknown key last caused a reading."""
    reading: "asyncio.Task[bool] | None" = None


class ThirdPartyKeys:
    """The keys of issuers by their `iss`. `changed` is called with all of them whenever any have changed."""

    def __init__(
        self,
        issuers: Sequence[ThirdPartyIssuer],
        read: Callable[[ThirdPartyIssuer], Awaitable[KeySet]],
        changed: Callable[[Mapping[str, Issuer]], object],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._states = {
            source.url: _IssuerState(source, Issuer(audience=source.audience)) for source in issuers
        }
        self._read = read
        self._changed = changed
        self._clock = clock
        self._repeating: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Read all keys now and then every ten minutes; wait at most three seconds for the first reading."""
        if not self._states:
            return
        self._report_change()
        first = {self._reading(state): state for state in self._states.values()}
        self._repeating = [
            asyncio.get_running_loop().create_task(self._repeat(state)) for state in self._states.values()
        ]
        _, late = await asyncio.wait(first, timeout=WAIT_S)
        for reading in late:
            observe(IssuerKeysNotRead(first[reading].source.name, f"no answer within {WAIT_S:g} s"))

    async def refresh(self, url: str) -> bool:
        """Read the keys of an issuer now, or wait for a reading that has begun; return whether it succeeded."""
        return await asyncio.shield(self._reading(self._states[url]))

    async def learn(self, url: str) -> bool:
        """Read the keys of an issuer unless that was done in the last 30 s; return whether they have changed."""
        state = self._states.get(url)
        if state is None:
            return False
        before = state.issuer
        if state.reading is None or state.reading.done():
            if self._clock() - state.requested_at < PAUSE_S:
                return False
            state.requested_at = self._clock()
        await asyncio.wait([self._reading(state)], timeout=WAIT_S)
        return state.issuer is not before

    async def close(self) -> None:
        """Stop reading."""
        tasks = [*self._repeating, *(state.reading for state in self._states.values() if state.reading)]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _repeat(self, state: _IssuerState) -> None:
        while True:
            is_read = await asyncio.shield(self._reading(state))
            await asyncio.sleep(PERIOD_S if is_read else PAUSE_S)

    def _reading(self, state: _IssuerState) -> "asyncio.Task[bool]":
        """Return the reading in progress, or start one."""
        if state.reading is None or state.reading.done():
            state.reading = asyncio.get_running_loop().create_task(self._read_keys(state))
        return state.reading

    async def _read_keys(self, state: _IssuerState) -> bool:
        try:
            keys = await self._read(state.source)
        except KeysNotRead as error:
            observe(IssuerKeysNotRead(state.source.name, str(error)))
            return False
        if keys != state.issuer.keys:
            state.issuer = Issuer(keys, state.source.audience)
            observe(IssuerKeysRead(state.source.name, len(keys.keys)))
            self._report_change()
        return True

    def _report_change(self) -> None:
        self._changed({url: state.issuer for url, state in self._states.items()})
