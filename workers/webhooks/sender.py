"""Takes deliveries that are due, sends them, and stores what became of them.

Each webhook has room for a number of requests at a time, so a receiver that hangs delays no other. A delivery stays `waiting` until
its outcome is stored: one whose request was answered when the process died is sent again, with the same id. Outcomes that arrive
together are stored in one statement.
"""

import asyncio
import random
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from broker.observability.observe import log_buffer, observe, traceback_of
from schemas.settings.webhooks import WebhookSettings
from schemas.webhooks import SECRET_PREFIX
from workers.credentials.webhook_signatures import signer_of
from workers.database.errors import DatabaseError
from workers.database.sessions.leadership import Leadership
from workers.http_client.client import FetchedResponse, FetchFailed, HttpClient
from workers.webhooks.observations import (
    RequestReachedWebhook,
    WebhookAttemptFailed,
    WebhookDelivered,
    WebhookFailing,
    WebhookGaveUp,
    WebhookRecovered,
    WebhooksCrashed,
)
from workers.webhooks.retries import AttemptOutcome, outcome_of
from workers.webhooks.statements import SQL
from workers.webhooks.webhook_list import WebhookList

_MOST_TAKEN = 1024
"""Deliveries of all webhooks that are underway or about to be."""
_AHEAD = 4
"""How many times `webhooks.concurrency` a webhook takes at once, so that a receiver does not wait for the database."""
_LONGEST_ANSWER, _KEPT_ANSWER = 64 * 1024, 2048
_LONGEST_SLEEP_S = 30.0
_AFTER_CRASH_S = 60.0


class DueDelivery(NamedTuple):
    """A delivery that is sent."""

    id: int
    webhook: str
    event: str
    body: str
    attempts: int
    age_s: float
    request_id: str | None


class AttemptResult(NamedTuple):
    """The row of an outcome."""

    id: int
    state: str
    wait_s: float
    status: int | None
    error: str | None
    answer: str | None
    took_ms: int


class WebhookSender:
    """Sends during one term of leadership."""

    def __init__(
        self, leadership: Leadership, outgoing: HttpClient, webhooks: WebhookList, settings: WebhookSettings
    ) -> None:
        self._leadership, self._outgoing, self._webhooks, self._settings = (
            leadership,
            outgoing,
            webhooks,
            settings,
        )
        self._woken = asyncio.Event()
        self._woken.set()
        self._has_results = asyncio.Event()
        self._results: list[AttemptResult] = []
        self._sending: dict[int, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._slots = defaultdict[str, asyncio.Semaphore](
            lambda: asyncio.Semaphore(int(settings.concurrency))
        )
        self._failing: set[str] = set()
        self._gone: list[str] = []
        self._writing = asyncio.Lock()
        self._is_stopping = False

    @property
    def sending(self) -> float:
        """Return how many deliveries are underway."""
        return len(self._sending)

    def wake(self) -> None:
        """Look for deliveries soon."""
        self._woken.set()

    async def take_all(self) -> None:
        """Take deliveries whenever some are due. Raises: DatabaseError, LeadershipLost."""
        while True:
            self._woken.clear()
            rooms = self._rooms()
            taken = 0 if self._is_stopping or not rooms else await self._take(rooms)
            if taken:
                continue
            await self._sleep(rooms)

    async def write_results(self) -> None:
        """Store outcomes when they arrive, many in one statement. Raises: DatabaseError, LeadershipLost."""
        while True:
            await self._has_results.wait()
            await self._write()

    async def finish(self, within_s: float) -> None:
        """Take nothing more, wait `within_s` for requests underway, store their outcomes. Raises: as `write_results`."""
        self._is_stopping = True
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within_s)
        await self.stop()
        await self._write()

    async def stop(self) -> None:
        """Cancel what is underway; it is sent again by the next leader."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _rooms(self) -> Mapping[str, int]:
        """Return how many more deliveries each webhook may take now."""
        used, free = Counter(self._sending.values()), _MOST_TAKEN - len(self._sending)
        rooms: dict[str, int] = {}
        for id, webhook in self._webhooks.stored.items():
            room = min(int(self._settings.concurrency) * _AHEAD - used[id], free)
            if room > 0 and not webhook.is_paused:
                rooms[id] = room
        return rooms

    async def _take(self, rooms: Mapping[str, int]) -> int:
        rows = await self._leadership.ask(SQL["take"], list(rooms), list(rooms.values()), list(self._sending))
        for row in rows:
            delivery = DueDelivery(*row)
            self._sending[delivery.id] = delivery.webhook
            task = asyncio.get_running_loop().create_task(self._send_in_turn(delivery))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return len(rows)

    async def _sleep(self, rooms: Mapping[str, int]) -> None:
        """Sleep until something is due, a request ends or the sender is woken."""
        pause_s: float | None = None
        if rooms:
            next_s = (await self._leadership.ask(SQL["next_due"], list(rooms)))[0][0]
            pause_s = None if next_s is None else min(max(next_s, 0.001), _LONGEST_SLEEP_S)
        with suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                await self._woken.wait()

    async def _send_in_turn(self, delivery: DueDelivery) -> None:
        async with self._slots[delivery.webhook]:
            try:
                await self._send(delivery)
            except Exception as error:  # else it would count as underway for as long as this process leads
                observe(WebhooksCrashed(traceback_of(error)))
                failure = AttemptResult(
                    delivery.id, "waiting", _AFTER_CRASH_S, None, "the platform failed to send it", None, 0
                )
                self._results.append(failure)
                self._has_results.set()

    async def _send(self, delivery: DueDelivery) -> None:
        began = time.monotonic()
        error: str | None = None
        response: FetchedResponse | None = None
        try:
            response = await self._post(delivery)
        except FetchFailed as failure:
            error = str(failure)
        status = None if response is None else response.status
        retry_after = "" if response is None else response.headers.get("retry-after", "")
        outcome = outcome_of(
            status,
            retry_after,
            delivery.attempts,
            delivery.age_s,
            float(self._settings.retry_for),
            random.random(),
        )
        took_s = time.monotonic() - began
        reason = error or f"it answered with status {status}"
        self._tell(delivery, outcome, reason, took_s)
        self._trace(delivery, reason, took_s)
        answer = None if response is None else _kept(response)
        self._results.append(
            AttemptResult(
                delivery.id, outcome.state, outcome.wait_s, status, error, answer, int(took_s * 1000)
            )
        )
        self._has_results.set()

    async def _post(self, delivery: DueDelivery) -> FetchedResponse:
        """Send a delivery once. Raises: FetchFailed."""
        target = (
            self._webhooks.target(delivery.webhook) if delivery.webhook in self._webhooks.stored else None
        )
        if target is None:
            raise FetchFailed("its address cannot be decrypted: the sealing key is not configured")
        now = datetime.now(UTC)
        secrets = self._webhooks.secrets(delivery.webhook)
        signer = signer_of(secret.removeprefix(SECRET_PREFIX) for secret in secrets)
        headers = {
            **target.headers,
            "content-type": "application/json",
            **signer.headers(delivery.event, now, delivery.body),
        }
        return await self._outgoing.fetch(
            "POST",
            target.url,
            headers=headers,
            body=delivery.body.encode(),
            timeout_s=float(self._settings.timeout),
            most_bytes=_LONGEST_ANSWER,
            only_public=True,
        )

    def _tell(self, delivery: DueDelivery, outcome: AttemptOutcome, reason: str, took_s: float) -> None:
        webhook = self._webhooks.stored.get(delivery.webhook)
        name = delivery.webhook if webhook is None else webhook.name
        if outcome.state == "delivered":
            observe(WebhookDelivered(name, round(took_s, 3)))
            if delivery.webhook in self._failing:
                self._failing.discard(delivery.webhook)
                observe(WebhookRecovered(name))
            return
        observe(WebhookAttemptFailed(name, reason))
        if delivery.webhook not in self._failing:
            self._failing.add(delivery.webhook)
            observe(WebhookFailing(name, reason))
        if outcome.state == "failed":
            observe(WebhookGaveUp(name, delivery.event, reason))
        if outcome.is_gone:
            self._gone.append(delivery.webhook)

    def _trace(self, delivery: DueDelivery, answer: str, took_s: float) -> None:
        """Leave a line of the request that made the change, as many a second as requests leave lines."""
        lines = log_buffer()
        if delivery.request_id and lines is not None and lines.samples():
            webhook = self._webhooks.stored.get(delivery.webhook)
            name = delivery.webhook if webhook is None else webhook.name
            observe(
                RequestReachedWebhook(
                    delivery.request_id, name, delivery.event, answer, round(took_s * 1000, 2)
                )
            )

    async def _write(self) -> None:
        async with self._writing:
            self._has_results.clear()
            results, self._results = self._results, []
            if results:
                try:
                    await self._leadership.ask(SQL["settle"], *map(list, zip(*results, strict=True)))
                except DatabaseError:
                    self._results[:0] = results  # they stay underway, so that they are not sent again
                    self._has_results.set()
                    raise
            for result in results:
                self._sending.pop(result.id, None)
            gone, self._gone = self._gone, []
            for id in set(gone):
                await self._pause(id)
        self._woken.set()

    async def _pause(self, id: str) -> None:
        webhook = self._webhooks.stored.get(id)
        if webhook is not None and not webhook.is_paused:
            with suppress(DatabaseError):
                await self._webhooks.pause(id, "the receiver answered 410 Gone")
                await self._webhooks.read()


def _kept(response: FetchedResponse) -> str:
    """Return the beginning of an answer, as far as it is text."""
    return response.body[:_KEPT_ANSWER].decode(errors="replace").replace("\0", "")
