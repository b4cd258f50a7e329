import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.message import EmailMessage
from email.policy import SMTPUTF8

import pytest

from broker.jetstream.streams import delete_stream
from broker.nats.connection import NatsConnection
from broker.subjects import EMAILS, EMAILS_STREAM
from schemas.settings.auth import Auth
from services.mail_catcher.emails import CaughtEmail as Caught
from services.mail_catcher.smtp import SmtpServer
from tests.broker.server import NatsServer, running_server
from workers.auth.delivery.failures import DeliveryFailed
from workers.auth.delivery.queue import MailQueue
from workers.auth.delivery.smtp import Mailer, SmtpEndpoint, SmtpSecurity
from workers.auth.model.vault import read_vault

VAULT = read_vault(Auth())
PATIENCE_S = 20


@pytest.fixture(scope="module")
async def broker() -> AsyncIterator[NatsServer]:
    async with running_server() as server:
        yield server


class Mailbox:
    """A mail server that may be away; `caught` are the letters it took."""

    def __init__(self) -> None:
        self.caught: asyncio.Queue[Caught] = asyncio.Queue()
        self.smtp = SmtpServer(self.caught.put_nowait)
        self.port = 0

    async def start(self) -> None:
        self.smtp = SmtpServer(self.caught.put_nowait)
        await self.smtp.start("127.0.0.1", self.port)
        self.port = self.smtp.port

    async def next_subject(self) -> str:
        letter = await asyncio.wait_for(self.caught.get(), PATIENCE_S)
        return letter.subject


@asynccontextmanager
async def queue_to(
    mailbox: Mailbox, broker: NatsServer, *, lasts_s: float = 3600, is_open: bool = True
) -> AsyncIterator[MailQueue]:
    connection = await NatsConnection.open(broker.url, name="test")
    server = SmtpEndpoint("127.0.0.1", mailbox.port, security=SmtpSecurity.NONE)
    queue = MailQueue(connection, Mailer(server), VAULT, lasts_s)
    following = await queue.open()
    if not is_open:
        await following.close()
    try:
        yield queue
    finally:
        await following.close()
        await queue.mailer.close()
        await connection.close()


@pytest.fixture
async def mailbox() -> AsyncIterator[Mailbox]:
    one = Mailbox()
    await one.start()
    yield one
    one.smtp.stop()


def letter(subject: str) -> EmailMessage:
    message = EmailMessage(policy=SMTPUTF8)
    message["From"], message["To"], message["Subject"] = "a@example.org", "b@example.org", subject
    message["Message-ID"] = f"<{subject}@example.org>"
    message.set_content(f"the code of {subject} is 123456")
    return message


async def test_a_letter_reaches_its_server(mailbox: Mailbox, broker: NatsServer):
    async with queue_to(mailbox, broker) as queue:
        await queue.deliver(letter("first"))

        assert await mailbox.next_subject() == "first"


async def test_letters_wait_for_a_server_that_is_away(mailbox: Mailbox, broker: NatsServer):
    async with queue_to(mailbox, broker) as queue:
        mailbox.smtp.stop()
        await queue.deliver(letter("patient"))
        await mailbox.start()

        assert await mailbox.next_subject() == "patient"


async def test_letters_outlive_the_worker_that_took_them(mailbox: Mailbox, broker: NatsServer):
    async with queue_to(mailbox, broker, is_open=False) as queue:
        await queue.deliver(letter("orphan"))

    async with queue_to(mailbox, broker):
        assert await mailbox.next_subject() == "orphan"


async def test_a_letter_whose_code_is_void_is_not_sent(mailbox: Mailbox, broker: NatsServer):
    async with queue_to(mailbox, broker, lasts_s=-1) as queue:
        await queue.deliver(letter("late"))
    async with queue_to(mailbox, broker) as queue:
        await queue.deliver(letter("in time"))

        assert await mailbox.next_subject() == "in time"


async def test_two_workers_send_a_letter_once(mailbox: Mailbox, broker: NatsServer):
    async with queue_to(mailbox, broker) as one, queue_to(mailbox, broker):
        for number in range(10):
            await one.deliver(letter(f"letter {number}"))
        subjects = {await mailbox.next_subject() for _ in range(10)}

    assert subjects == {f"letter {number}" for number in range(10)}
    assert mailbox.caught.empty()


async def test_the_broker_keeps_no_code_in_clear(mailbox: Mailbox, broker: NatsServer):
    heard: list[bytes] = []
    async with queue_to(mailbox, broker) as queue:
        connection = await NatsConnection.open(broker.url, name="listener")
        connection.subscribe(EMAILS.name, lambda message: heard.append(message.payload))
        await connection.flush()
        await queue.deliver(letter("sealed"))
        await mailbox.next_subject()
        await connection.flush()
        await connection.close()

    (payload,) = heard
    hidden = (b"123456", b"b@example.org")
    assert not any(each in payload or base64.b64encode(each)[:6] in payload for each in hidden)


async def test_without_a_broker_a_letter_is_refused_at_once():
    mailbox = Mailbox()
    async with running_server() as server, queue_to(mailbox, server, is_open=False) as queue:
        server.kill()

        with pytest.raises(DeliveryFailed, match="queue of mails"):
            await queue.deliver(letter("lost"))


async def test_a_queue_that_vanished_is_made_again(mailbox: Mailbox, broker: NatsServer) -> None:
    async with queue_to(mailbox, broker) as queue:
        await queue.deliver(letter("before"))
        assert await mailbox.next_subject() == "before"
        await delete_stream(queue.connection, EMAILS_STREAM)

        await queue.deliver(letter("after"))

        assert await mailbox.next_subject() == "after"
