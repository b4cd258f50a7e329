"""The queue of letters: a request puts its letter into a stream and is done; the pools hand it to the mail server.

A letter waits, encrypted, until the server has taken it, or until nobody wants it any more (its code is void then). What
the server refuses for good is told and given up. Only a worker that dies between the server's word and its own sends a
letter twice.
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
from broker.events import Following, Later, ensure_stream, follow_durably, publish_durably
from broker.jetstream.errors import JetStreamRefused
from broker.jetstream.stream_watch import StreamWatch, words_of
from broker.nats.connection import Connection
from broker.observability.observations import Observation
from broker.observability.observe import observe
from schemas.errors import Unavailable
from schemas.events import Letter
from workers.auth.delivery.failures import Cause, DeliveryFailed
from workers.auth.delivery.mail import Mailer
from workers.auth.vault import CannotOpen, Vault

STREAM = subjects.LETTERS_STREAM
_DURABLE = "mailer"
_MOST_BYTES = 256 * 1024 * 1024
_OLDEST_S = 24 * 3600.0
_TAKE_S = 1.5
"""How long a request waits until the stream has its letter: its client is answered within two seconds in all."""


class LetterDropped(Observation, frozen=True):
    """A letter was not sent, and will not be."""

    level: ClassVar[str] = "warning"
    reason: str


class LetterDelayed(Observation, frozen=True):
    """A letter could not be handed over now; it is tried again."""

    level: ClassVar[str] = "warning"
    reason: str


@dataclass(frozen=True, slots=True)
class MailQueue:
    """Takes letters, and hands them on: `open` first. `lasts_s` is how long a letter is of use."""

    connection: Connection
    mailer: Mailer
    vault: Vault
    lasts_s: float
    clock: Callable[[], float] = time.time
    watch: StreamWatch | None = None

    async def open(self) -> Following:
        """Make the stream, and begin to hand letters on. Raises: Unavailable."""
        await ensure_letters(self.connection)
        return await follow_durably(
            self.connection, subjects.LETTERS, Letter, self._hand_on, stream=STREAM, durable=_DURABLE, batch=4
        )

    async def post(self, message: EmailMessage) -> None:
        """Keep a letter until it is sent. Raises: DeliveryFailed if it cannot be kept."""
        id = uuid4()
        sealed = self.vault.seal(base64.b64encode(message.as_bytes(policy=SMTPUTF8)).decode(), id)
        letter = Letter(str(id), self.clock() + self.lasts_s, sealed)
        if self.watch is not None and self.watch.reason:
            raise _not_kept(self.watch.reason)
        try:
            async with asyncio.timeout(_TAKE_S):
                await publish_durably(self.connection, subjects.LETTERS, letter, id=letter.id)
        except JetStreamRefused as error:
            if self.watch is not None:
                self.watch.refused(error.code, error.description)
            raise _not_kept(f"does not store: {words_of(error.description)}") from None
        except TimeoutError:
            why = ""
            if self.watch is not None:
                self.watch.unanswered()
                why = f": {self.watch.why_silent()}"
            raise _not_kept(f"did not store it within {_TAKE_S:g} s{why}") from None
        except Unavailable as error:
            raise _not_kept(f"cannot be reached: {error}") from None
        if self.watch is not None:
            self.watch.stored()

    async def _hand_on(self, letter: Letter) -> None:
        if self.clock() >= letter.until:
            observe(LetterDropped("its code is void; the mail server took too long"))
            return
        try:
            message = _message(self.vault, letter)
        except (CannotOpen, ValueError):
            observe(LetterDropped("it was sealed with another key"))
            return
        try:
            await self.mailer.send(message)
        except DeliveryFailed as error:
            if error.is_permanent:
                observe(LetterDropped(str(error)))
                return
            observe(LetterDelayed(str(error)))
            raise Later from None


async def ensure_letters(connection: Connection) -> None:
    """Make the stream of letters, or change it to these limits. Raises: Unavailable, JetStreamRefused."""
    kept = [subjects.LETTERS.name, subjects.canary(STREAM).name]
    await ensure_stream(connection, STREAM, kept, max_age_s=_OLDEST_S, max_bytes=_MOST_BYTES)


def _not_kept(why: str) -> DeliveryFailed:
    return DeliveryFailed(Cause.QUEUE, f"the queue of mails {why}", is_permanent=False)


def _message(vault: Vault, letter: Letter) -> EmailMessage:
    data = base64.b64decode(vault.open(letter.sealed, UUID(letter.id)))
    return message_from_bytes(data, policy=SMTPUTF8)
