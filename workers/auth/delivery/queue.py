"""The queue of emails: a request stores its email in a JetStream stream; the worker pools send it to the mail server.

An email waits, encrypted, until the server has accepted it or its code has expired. A permanent rejection is logged and the
email dropped; a temporary one is redelivered. An email is sent twice only if a worker dies after the server accepted it and
before the worker acknowledged the message.
"""

import asyncio
import base64
import time
from collections.abc import Callable
from dataclasses import dataclass
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTPUTF8
from typing import ClassVar
from uuid import UUID, uuid4

from broker import subjects
from broker.events import EventSubscription, RetryLater, consume_events, store_event
from broker.jetstream.errors import JetStreamError
from broker.jetstream.stream_watch import StreamWatch, public_reason
from broker.jetstream.streams import ensure_stream, stream_state
from broker.nats.connection import NatsConnection
from broker.observability.observations import Observation
from broker.observability.observe import observe
from schemas.errors import Unavailable
from schemas.events import QueuedEmail
from workers.auth.delivery.failures import DeliveryCause, DeliveryFailed
from workers.auth.delivery.smtp import CurrentMailer, Mailer
from workers.auth.model.vault import CannotOpen, SealPurpose, Vault

STREAM = subjects.EMAILS_STREAM
_DURABLE = "mailer"
_MOST_BYTES = 256 * 1024 * 1024
_OLDEST_S = 24 * 3600.0
_TAKE_S = 1.5
"""How long a request waits for the stream to store its email: the client gets its response within two seconds in all."""


class EmailDropped(Observation, frozen=True):
    """An email was not sent, and will not be."""

    level: ClassVar[str] = "warning"
    reason: str


class EmailDelayed(Observation, frozen=True):
    """An email could not be sent now; it will be retried."""

    level: ClassVar[str] = "warning"
    reason: str


@dataclass(frozen=True, slots=True)
class MailQueue:
    """Stores emails and sends them; call `open` first. `lasts_s`: after so long the code in an email has expired."""

    connection: NatsConnection
    mailer: Mailer | CurrentMailer
    vault: Vault
    lasts_s: float
    clock: Callable[[], float] = time.time
    watch: StreamWatch | None = None

    async def open(self) -> list[EventSubscription]:
        """Create the stream and start to send emails from it, and from the stream of older versions. Raises: Unavailable."""
        await ensure_mail_stream(self.connection)
        sources = [(STREAM, subjects.EMAILS)]
        if await stream_state(self.connection, subjects.FORMER_EMAILS_STREAM) is not None:
            sources.append((subjects.FORMER_EMAILS_STREAM, subjects.FORMER_EMAILS))
        return [
            await consume_events(
                self.connection, subject, QueuedEmail, self._send, stream=stream, durable=_DURABLE, batch=4
            )
            for stream, subject in sources
        ]

    async def deliver(self, message: EmailMessage) -> None:
        """Store an email until it is sent. Raises: DeliveryFailed if the stream does not store it."""
        queued = sealed_email(self.vault, message, self.clock() + self.lasts_s)
        if self.watch is not None and self.watch.reason:
            raise _not_stored(self.watch.reason)
        try:
            async with asyncio.timeout(_TAKE_S):
                await store_event(self.connection, subjects.EMAILS, queued, id=queued.id)
        except JetStreamError as error:
            if self.watch is not None:
                self.watch.rejected(error.code, error.description)
            raise _not_stored(f"does not store: {public_reason(error.description)}") from None
        except TimeoutError:
            why = ""
            if self.watch is not None:
                self.watch.unanswered()
                why = f": {self.watch.why_silent()}"
            raise _not_stored(f"did not store it within {_TAKE_S:g} s{why}") from None
        except Unavailable as error:
            raise _not_stored(f"cannot be reached: {error}") from None
        if self.watch is not None:
            self.watch.stored()

    async def _send(self, queued: QueuedEmail) -> None:
        if self.clock() >= queued.until:
            observe(EmailDropped("its code is void; the mail server took too long"))
            return
        try:
            message = _message(self.vault, queued)
        except (CannotOpen, ValueError):
            observe(EmailDropped("it was sealed with another key"))
            return
        try:
            await self.mailer.send(message)
        except DeliveryFailed as error:
            if error.is_permanent:
                observe(EmailDropped(str(error)))
                return
            observe(EmailDelayed(str(error)))
            raise RetryLater from None


def sealed_email(vault: Vault, message: EmailMessage, until: float) -> QueuedEmail:
    """Return an email as the stream stores it: encrypted, and useless after `until` (seconds since 1970)."""
    id = uuid4()
    sealed = vault.seal(base64.b64encode(message.as_bytes(policy=SMTPUTF8)).decode(), id, SealPurpose.EMAIL)
    return QueuedEmail(str(id), until, sealed)


async def ensure_mail_stream(connection: NatsConnection) -> None:
    """Create the stream of emails, or change its limits. Raises: Unavailable, JetStreamError.

    It is a work queue: an email leaves it when the mail server has accepted it, and a full one rejects the next email, so the
    client learns that it was not accepted. By age only emails go whose codes have expired long ago.
    """
    stored_subjects = [subjects.EMAILS.name, subjects.canary(STREAM).name]
    await ensure_stream(
        connection, STREAM, stored_subjects, max_age_s=_OLDEST_S, max_bytes=_MOST_BYTES, is_work_queue=True
    )


def _not_stored(why: str) -> DeliveryFailed:
    return DeliveryFailed(DeliveryCause.QUEUE, f"the queue of mails {why}", is_permanent=False)


def _message(vault: Vault, queued: QueuedEmail) -> EmailMessage:
    data = base64.b64decode(vault.open(queued.sealed, UUID(queued.id), SealPurpose.EMAIL))
    return message_from_bytes(data, policy=SMTPUTF8)
