import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.message import EmailMessage
from email.policy import SMTPUTF8

import pytest

from broker.events import EventSubscription, store_event
from broker.jetstream.streams import delete_stream, ensure_stream, stream_state
from broker.nats.connection import NatsConnection
from broker.subjects import EMAILS, EMAILS_STREAM, FORMER_EMAILS, FORMER_EMAILS_STREAM
from schemas.settings.auth import Auth
from services.mail_catcher.emails import CaughtEmail as Caught
from services.mail_catcher.smtp import SmtpServer
from tests.broker.server import NatsServer, running_server
from workers.auth.delivery import queue as module
from workers.auth.delivery.failures import DeliveryFailed
from workers.auth.delivery.queue import MailQueue, sealed_email
from workers.auth.delivery.smtp import Mailer, SmtpEndpoint, SmtpSecurity
from workers.auth.model.vault import read_vault

VAULT = read_vault(Auth())
PATIENCE_S = 60


@pytest.fixture(scope="module")
async def broker() -> AsyncIterator[NatsServer]:
    async with running_server() as server:
        yield server


class Mailbox:
    """A mail server that may be away; `caught` are the emails that it received."""

    def __init__(self) -> None:
        self.caught: asyncio.Queue[Caught] = asyncio.Queue()
        self.smtp = SmtpServer(self.caught.put_nowait)
        self.port = 0

    async def start(self) -> None:
        self.smtp = SmtpServer(self.caught.put_nowait)
        await self.smtp.start("127.0.0.1", self.port)
        self.port = self.smtp.port

    async def next_subject(self) -> str:
        email = await asyncio.wait_for(self.caught.get(), PATIENCE_S)
        return email.subject


async def close_all(consumers: list[EventSubscription]) -> None:
    for consumer in consumers:
        await consumer.close()


@asynccontextmanager
async def queue_to(
    mailbox: Mailbox, broker: NatsServer, *, lasts_s: float = 3600, is_open: bool = True
) -> AsyncIterator[MailQueue]:
    connection = await NatsConnection.open(broker.url, name="test")
    server = SmtpEndpoint("127.0.0.1", mailbox.port, security=SmtpSecurity.NONE)
    queue = MailQueue(connection, Mailer(server), VAULT, lasts_s)
    consumers = await queue.open()
    if not is_open:
        await close_all(consumers)
    try:
        yield queue
    finally:
        await close_all(consumers)
        await queue.mailer.close()
        await connection.close()


@pytest.fixture
async def mailbox() -> AsyncIterator[Mailbox]:
    one = Mailbox()
    await one.start()
    yield one
    one.smtp.stop()


def email(subject: str) -> EmailMessage:
    message = EmailMessage(policy=SMTPUTF8)
    message["From"], message["To"], message["Subject"] = "a@example.org", "b@example.org", subject
    message["Message-ID"] = f"<{subject}@example.org>"
    message.set_content(f"the code of {subject} is 123456")
    return message


async def test_a_email_reaches_its_server(mailbox: Mailbox, broker: NatsServer):
    async with queue_to(mailbox, broker) as queue:
        await queue.deliver(email("first"))

        assert await mailbox.next_subject() == "first"


async def test_emails_wait_for_a_server_that_is_away(mailbox: Mailbox, broker: NatsServer):
    async with queue_to(mailbox, broker) as queue:
        mailbox.smtp.stop()
        await queue.deliver(email("patient"))
        await mailbox.start()

        assert await mailbox.next_subject() == "patient"


async def test_emails_outlive_the_worker_that_took_them(mailbox: Mailbox, broker: NatsServer):
    async with queue_to(mailbox, broker, is_open=False) as queue:
        await queue.deliver(email("orphan"))

    async with queue_to(mailbox, broker):
        assert await mailbox.next_subject() == "orphan"


async def test_a_email_whose_code_is_void_is_not_sent(mailbox: Mailbox, broker: NatsServer):
    async with queue_to(mailbox, broker, lasts_s=-1) as queue:
        await queue.deliver(email("late"))
    async with queue_to(mailbox, broker) as queue:
        await queue.deliver(email("in time"))

        assert await mailbox.next_subject() == "in time"


async def test_two_workers_send_an_email_once(mailbox: Mailbox, broker: NatsServer):
    async with queue_to(mailbox, broker) as one, queue_to(mailbox, broker):
        for number in range(10):
            await one.deliver(email(f"email {number}"))
        subjects = {await mailbox.next_subject() for _ in range(10)}

    assert subjects == {f"email {number}" for number in range(10)}
    assert mailbox.caught.empty()


async def test_the_broker_keeps_no_code_in_clear(mailbox: Mailbox, broker: NatsServer):
    heard: list[bytes] = []
    async with queue_to(mailbox, broker) as queue:
        connection = await NatsConnection.open(broker.url, name="listener")
        connection.subscribe(EMAILS.name, lambda message: heard.append(message.payload))
        await connection.flush()
        await queue.deliver(email("sealed"))
        await mailbox.next_subject()
        await connection.flush()
        await connection.close()

    (payload,) = heard
    hidden = (b"123456", b"b@example.org")
    assert not any(each in payload or base64.b64encode(each)[:6] in payload for each in hidden)


async def test_without_a_broker_an_email_is_refused_at_once():
    mailbox = Mailbox()
    async with running_server() as server, queue_to(mailbox, server, is_open=False) as queue:
        server.kill()

        with pytest.raises(DeliveryFailed, match="queue of mails"):
            await queue.deliver(email("lost"))


async def test_a_queue_that_vanished_is_made_again(mailbox: Mailbox, broker: NatsServer) -> None:
    async with queue_to(mailbox, broker) as queue:
        await queue.deliver(email("before"))
        assert await mailbox.next_subject() == "before"
        await delete_stream(queue.connection, EMAILS_STREAM)

        await queue.deliver(email("after"))

        assert await mailbox.next_subject() == "after"


async def accepted_until_full(queue: MailQueue) -> tuple[list[str], str]:
    accepted: list[str] = []
    while len(accepted) < 100:
        try:
            await queue.deliver(email(f"email {len(accepted)}"))
        except DeliveryFailed as error:
            return accepted, str(error)
        accepted.append(f"email {len(accepted)}")
    return accepted, ""


async def test_a_full_queue_rejects_the_next_email_and_loses_none_that_it_accepted(
    mailbox: Mailbox, broker: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_BYTES", 20_000)
    mailbox.smtp.stop()
    async with queue_to(mailbox, broker) as queue:
        accepted, reason = await accepted_until_full(queue)
        assert "it is full" in reason
        assert 3 < len(accepted) < 100

        await mailbox.start()
        received = [await mailbox.next_subject() for _ in accepted]

        assert sorted(received) == sorted(accepted)
        async with asyncio.timeout(PATIENCE_S):
            while (state := await stream_state(queue.connection, EMAILS_STREAM)) and state.last_id:
                await asyncio.sleep(0.02)
        await queue.deliver(email("after"))
        assert await mailbox.next_subject() == "after"
    monkeypatch.undo()
    async with queue_to(mailbox, broker):
        """The next test finds the stream with its own limits."""


async def test_emails_that_an_older_version_stored_are_sent(mailbox: Mailbox, broker: NatsServer) -> None:
    connection = await NatsConnection.open(broker.url, name="older")
    await ensure_stream(connection, FORMER_EMAILS_STREAM, [FORMER_EMAILS.name], max_age_s=3600)
    await store_event(connection, FORMER_EMAILS, sealed_email(VAULT, email("from before"), 2**40), id="x")
    await connection.close()

    async with queue_to(mailbox, broker) as queue:
        assert await mailbox.next_subject() == "from before"
        await delete_stream(queue.connection, FORMER_EMAILS_STREAM)
