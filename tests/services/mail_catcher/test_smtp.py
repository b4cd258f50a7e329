"""Emails handed over by the standard library's client."""

import asyncio
import smtplib
import socket
from email.message import EmailMessage

import pytest

from services.mail_catcher.edge import MailCatcher, MailCatcherOptions


def message(to: str = "ann@example.org", subject: str = "Hello") -> EmailMessage:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "team@example.org", to, subject
    made.set_content("Your code is 123456\n.\n..dots")
    return made


def send(catcher: MailCatcher, *messages: EmailMessage, login: bool = False) -> None:
    with smtplib.SMTP("127.0.0.1", catcher.smtp_port, timeout=60) as client:
        if login:
            client.login("anybody", "any password")
        for one in messages:
            client.send_message(one)


async def test_emails_are_caught(catcher: MailCatcher) -> None:
    await asyncio.to_thread(send, catcher, message(), message(subject="Second"))

    second, first = catcher.mail.newest_first()
    assert (first.subject, second.subject) == ("Hello", "Second")
    assert first.text == "Your code is 123456\n.\n..dots\n"
    assert (first.sender, first.recipients) == ("team@example.org", ("ann@example.org",))


async def test_any_login_is_taken(catcher: MailCatcher) -> None:
    await asyncio.to_thread(send, catcher, message(), login=True)

    assert len(catcher.mail) == 1


async def test_address_beyond_ascii_is_taken(catcher: MailCatcher) -> None:
    await asyncio.to_thread(send, catcher, message(to="jürgen@example.org"))

    assert catcher.mail.newest_first()[0].recipients == ("jürgen@example.org",)


async def test_oldest_emails_make_room(catcher: MailCatcher) -> None:
    await asyncio.to_thread(send, catcher, *(message(subject=str(number)) for number in range(25)))

    assert [one.subject for one in catcher.mail.newest_first()] == [
        str(number) for number in range(24, 4, -1)
    ]


async def test_email_beyond_the_limit_is_refused(catcher: MailCatcher) -> None:
    def too_long() -> tuple[int, bytes]:
        with smtplib.SMTP("127.0.0.1", catcher.smtp_port, timeout=60) as client:
            client.ehlo()
            return client.docmd("MAIL", "FROM:<a@example.org> SIZE=99999999")

    code, _ = await asyncio.to_thread(too_long)

    assert code == 552


async def test_connections_are_bounded(catcher: MailCatcher) -> None:
    def many() -> bytes:
        clients = [socket.create_connection(("127.0.0.1", catcher.smtp_port), 5) for _ in range(100)]
        for client in clients:
            assert client.recv(3) == b"220"
        with socket.create_connection(("127.0.0.1", catcher.smtp_port), 5) as last:
            answer = last.recv(100)
        for client in clients:
            client.close()
        return answer

    assert await asyncio.to_thread(many) == b""


async def test_stopped_catcher_lets_its_clients_go() -> None:
    catcher = MailCatcher(MailCatcherOptions(port=0, smtp_port=0))
    await catcher.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", catcher.smtp_port)
    assert (await reader.readline()).startswith(b"220")

    await catcher.stop()

    assert await asyncio.wait_for(reader.read(), 60) == b""
    writer.close()
    assert catcher.smtp_port == 0


@pytest.mark.parametrize(
    "said", [b"\xff\xfe\r\n", b"GET / HTTP/1.1\r\n\r\n", b"MAIL FROM:<a\r\n", b"DATA\r\n"]
)
async def test_nonsense_is_refused_and_the_catcher_goes_on(catcher: MailCatcher, said: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", catcher.smtp_port)
    await reader.readline()
    writer.write(said)

    assert (await reader.readline())[:1] == b"5"
    writer.close()
    await asyncio.to_thread(send, catcher, message())
    assert len(catcher.mail) == 1
