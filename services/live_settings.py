"""The settings of an edge that administrators change while it runs: limits, origins, rates.

An edge cannot reach the database, so a worker sends it the stored values (`EDGE_SETTINGS`): when the edge starts, when the workers announce a
change, after the broker was away, and once a minute, for an event may be lost. Until the first answer the file's values apply; then
no worker answers requests either. A request that is under way finishes with the objects that it began with. A request with an unknown
API key makes the edge look at once: the key may have been created a moment ago.
"""

import asyncio
import secrets
import time
from collections.abc import Callable
from contextlib import suppress

import msgspec

from broker.events import EventSubscription, subscribe_events
from broker.nats.connection import NatsConnection
from broker.observability.observe import observe, traceback_of
from broker.requests.call import Calls
from broker.subjects import EDGE_SETTINGS, SETTINGS_CHANGED
from schemas.edge_settings import EdgeSettings
from schemas.errors import ApiError, Unavailable
from schemas.events import SettingsChanged
from schemas.http import Request
from schemas.settings.overlay import SettingsBase, effective_settings
from schemas.settings.tree import Settings
from services.observations import EdgeSettingsApplied, EdgeSettingsFailed

_PERIOD_S = 60.0
_FIRST_PERIOD_S = 0.5
_BUDGET_MS = 2000
_LEAST_BETWEEN_S = 1.0
"""Between two looks that clients cause."""


class EdgeSettingsFollower:
    """Applies the stored settings of an edge process. Call `start`, and `close` at the end."""

    def __init__(self, base: SettingsBase, calls: Calls, apply: Callable[[Settings], None]) -> None:
        self._base, self._calls, self._apply = base, calls, apply
        self._values: dict[str, object] = {}
        self._has_answer = False
        self._looked_at = 0.0
        self._lock = asyncio.Lock()
        self._wake = asyncio.Event()
        self._subscription: EventSubscription | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self, connection: NatsConnection) -> None:
        """Follow the workers' announcements, and request the values in the background. Raises: Unavailable."""
        self._subscription = await subscribe_events(
            connection, SETTINGS_CHANGED, SettingsChanged, self._on_change
        )
        connection.on_back.append(self._wake.set)
        self._task = asyncio.create_task(self._follow(), name="live settings of edges")

    async def close(self) -> None:
        """Stop following."""
        if self._subscription is not None:
            await self._subscription.close()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def refresh(self) -> bool:
        """Request the values now, unless that was done within the last second; return whether others apply than before.

        Raises: Unavailable while no worker has answered since this edge started.
        """
        before = self._values
        async with self._lock:  # those who waited here find what the first one fetched
            if self._values is before and time.monotonic() - self._looked_at >= _LEAST_BETWEEN_S:
                self._looked_at = time.monotonic()
                await self._request()
        if not self._has_answer:
            raise Unavailable("The API keys are not known yet")
        return self._values is not before

    async def _on_change(self, _: SettingsChanged) -> None:
        self._wake.set()

    async def _follow(self) -> None:
        while True:
            try:
                await self._request()
            except Exception as error:  # without this task no changed setting would be applied any more
                observe(EdgeSettingsFailed(traceback_of(error)))
            with suppress(TimeoutError):
                async with asyncio.timeout(_PERIOD_S if self._has_answer else _FIRST_PERIOD_S):
                    await self._wake.wait()
            self._wake.clear()

    async def _request(self) -> None:
        """Request the values from a worker, and apply them if they are new. Without an answer everything stays as it is."""
        request = Request(f"settings-{secrets.token_hex(8)}", "GET", "/", budget_ms=_BUDGET_MS)
        try:
            reply = await self._calls.call(EDGE_SETTINGS, request)
            stored = msgspec.json.decode(reply.response.body, type=EdgeSettings)
        except (ApiError, msgspec.MsgspecError):
            return
        self._has_answer = True
        if stored.values != self._values:
            self._apply(effective_settings(self._base, stored.values).settings)
            self._values = stored.values
            observe(EdgeSettingsApplied(stored.version, len(stored.values)))
