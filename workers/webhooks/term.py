"""One term of leadership: the list of webhooks, the reader of changes, the sender, and what is done from time to time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from broker.backoff import Backoff
from broker.nats.connection import NatsConnection
from broker.observability.observe import observe
from schemas.settings.tree import Settings
from schemas.webhooks import CHANNEL, target_sealer
from workers.database.errors import DatabaseError
from workers.database.passing_errors import is_passing
from workers.database.sessions.leadership import Leadership
from workers.http_client.client import HttpClient
from workers.webhooks.intake import ChangeIntake
from workers.webhooks.observations import WebhooksLost
from workers.webhooks.sender import WebhookSender
from workers.webhooks.statements import SQL
from workers.webhooks.webhook_list import WebhookList

_MEASURE_S, _SWEEP_S, _SWEEP_PAUSE_S = 10.0, 3600.0, 0.1
_LOOK_S = 60.0
"""The longest time until the webhooks are read again: tables may be others."""
_SHARE_OF_DRAIN = 0.5
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.2, 10.0
"""Pauses before work goes on that the database refused for a moment."""


class WebhookTerm:
    """The work of a leader; `stop` ends it gracefully."""

    def __init__(
        self, leadership: Leadership, connection: NatsConnection, outgoing: HttpClient, settings: Settings
    ) -> None:
        self._leadership, self._settings = leadership, settings
        self.webhooks = WebhookList(leadership, target_sealer(settings.auth))
        self._intake = ChangeIntake(connection, leadership, self.webhooks)
        self._sender = WebhookSender(leadership, outgoing, self.webhooks, settings.webhooks)
        self._notified = asyncio.Event()
        self._stopping = asyncio.Event()

    @property
    def sending(self) -> float:
        """Return how many deliveries are underway."""
        return self._sender.sending

    def stop(self) -> None:
        """Take nothing more; `run` returns when the requests underway have ended, or half of the drain time is over."""
        self._stopping.set()

    async def run(self) -> None:
        """Work until stopped. Raises: LeadershipLost, DatabaseError."""
        await self._leadership.listen(CHANNEL, self._notified.set)
        await self._leadership.ask(SQL["switch_triggers"])
        await self.webhooks.read()
        try:
            lasting = (
                self._read_again,
                self._intake.run,
                self._sender.take_all,
                self._sender.write_results,
                self._watch,
                self._sweep,
            )
            await self._leadership.work(
                self._wait_for_stop, self._wake_sender, *(partial(_again, work) for work in lasting)
            )
        finally:
            await self._sender.stop()

    async def _wait_for_stop(self) -> None:
        await self._stopping.wait()
        await self._sender.finish(float(self._settings.pools.drain_timeout) * _SHARE_OF_DRAIN)

    async def _read_again(self) -> None:
        """Read the webhooks when they were changed, or a delivery was stored."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_S if self.webhooks.stored else None):
                    await self._notified.wait()
            self._notified.clear()
            try:
                await self.webhooks.read()
            except DatabaseError:
                self._notified.set()
                raise
            self._intake.change()
            self._sender.wake()

    async def _wake_sender(self) -> None:
        while True:
            await self._intake.stored()
            self._sender.wake()

    async def _watch(self) -> None:
        """Note webhooks of which too much waits, and pause those that have failed for too long."""
        while True:
            await asyncio.sleep(_MEASURE_S)
            if not self.webhooks.stored:
                continue
            most = int(self._settings.webhooks.max_waiting)
            if most and await self._leadership.ask(SQL["measure"], most):
                self._notified.set()
            pause_after = float(self._settings.webhooks.pause_after)
            for id, webhook in list(self.webhooks.stored.items()):
                if pause_after and not webhook.is_paused and (webhook.failing_s or 0.0) > pause_after:
                    await self.webhooks.pause(
                        id, "nothing was taken for as long as webhooks.pause_after says"
                    )
                    self._notified.set()

    async def _sweep(self) -> None:
        while True:
            keep_s = float(self._settings.webhooks.keep)
            has_more = bool(self.webhooks.stored) and bool(await self._leadership.ask(SQL["sweep"], keep_s))
            await asyncio.sleep(_SWEEP_PAUSE_S if has_more else _SWEEP_S)


async def _again(work: Callable[[], Awaitable[None]]) -> None:
    """Do work, and again when the database cannot store something for a moment, because its disk is full, say.

    A new term instead would send again what receivers have taken. Raises: DatabaseError for what never passes, LeadershipLost.
    """
    backoff = Backoff(_FIRST_PAUSE_S, _LAST_PAUSE_S)
    while True:
        began = time.monotonic()
        try:
            return await work()
        except DatabaseError as error:
            if not is_passing(error):
                raise
            observe(WebhooksLost(f"SQLSTATE {error.code}"))
        if time.monotonic() - began > _LAST_PAUSE_S:
            backoff.reset()
        await backoff.wait()
