"""Sending to a real SMTP server: encryption, login, refusals, time limits, the connection that is kept."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.message import EmailMessage

import pytest

from schemas.keys.secret import Secret
from schemas.settings.auth_delivery import Smtp
from tests.workers.auth.delivery.smtp_server import PASSWORD, USER, certificate, mail_server, raw_server
from workers.auth.delivery.failures import DeliveryCause, DeliveryFailed
from workers.auth.delivery.message import MailSender, compose
from workers.auth.delivery.smtp import Mailer, SmtpEndpoint, SmtpSecurity, smtp_endpoint_of
from workers.auth.delivery.templates import EmailKind, RenderedEmail

NOW = datetime(2026, 11, 21, tzinfo=UTC)
Contexts = tuple[ssl.SSLContext, ssl.SSLContext]


@pytest.fixture(scope="module")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> Contexts:
    """The server's TLS context, and one of a client that trusts it."""
    return certificate(tmp_path_factory.mktemp("tls"))


@asynccontextmanager
async def mailer_to(
    port: int,
    *,
    host: str = "127.0.0.1",
    password: str = "",
    security: SmtpSecurity = SmtpSecurity.AUTO,
    timeout_s: float = 5.0,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[Mailer]:
    user = USER if password else ""
    mailer = Mailer(SmtpEndpoint(host, port, user, Secret(password), security, timeout_s, tls))
    try:
        yield mailer
    finally:
        await mailer.close()


def message(to: str = "ann@example.org", subject: str = "Hello") -> EmailMessage:
    email = RenderedEmail(EmailKind.INVITE, subject, "Code 123456", "<p>Code 123456</p>")
    return compose(email, to, MailSender("no-reply@example.org", "Team"), now=NOW, unique="u1")


async def failure(mailer: Mailer, to: str = "ann@example.org") -> DeliveryFailed:
    with pytest.raises(DeliveryFailed) as caught:
        await mailer.send(message(to))
    told = str(caught.value) + repr(caught.value)
    for hidden in ("ann", "123456", PASSWORD, "wrong word", USER):
        assert hidden not in told.replace("cannot", "")
    return caught.value


async def test_message_arrives_with_its_envelope() -> None:
    async with mail_server() as server, mailer_to(server.port) as mailer:
        assert await mailer.send(message()) == "<u1@example.org>"

        [envelope], [arrived] = server.envelopes, server.messages
        assert envelope.mail_from == "no-reply@example.org"
        assert envelope.rcpt_tos == ["ann@example.org"]
        assert arrived["Subject"] == "Hello"
        assert [part.get_content().strip() for part in arrived.iter_parts()] == [
            "Code 123456",
            "<p>Code 123456</p>",
        ]


async def test_lines_that_begin_with_a_dot_stay_whole() -> None:
    email = RenderedEmail(EmailKind.INVITE, "S", "a\n.\n..b\nFrom c", "<p>")
    made = compose(email, "ann@example.org", MailSender("a@example.org"), now=NOW, unique="u")
    async with mail_server() as server, mailer_to(server.port) as mailer:
        await mailer.send(made)

        text = next(iter(server.messages[0].iter_parts())).get_content()
        assert text.split() == ["a", ".", "..b", "From", "c"]


async def test_connection_is_kept_for_the_next_message() -> None:
    async with mail_server() as server, mailer_to(server.port) as mailer:
        await asyncio.gather(*(mailer.send(message()) for _ in range(5)))

        assert len(server.envelopes) == 5
        assert len(server.connections) == 1


async def test_connection_that_died_is_opened_again() -> None:
    async with mail_server() as server, mailer_to(server.port) as mailer:
        await mailer.send(message())
        server.connections[0].abort()  # type: ignore[attr-defined]  # a socket's transport
        await mailer.send(message())

        assert len(server.envelopes) == 2
        assert len(server.connections) == 2


async def test_mailer_works_on_after_it_was_closed() -> None:
    async with mail_server() as server, mailer_to(server.port) as mailer:
        await mailer.send(message())
        await mailer.close()
        await mailer.send(message())

        assert len(server.connections) == 2


@pytest.mark.parametrize("security", [SmtpSecurity.AUTO, SmtpSecurity.STARTTLS])
async def test_starttls_is_used_where_it_is_offered(security: SmtpSecurity, contexts: Contexts) -> None:
    theirs, ours = contexts
    async with (
        mail_server(tls=theirs, login=True) as server,
        mailer_to(server.port, tls=ours, security=security, password=PASSWORD) as mailer,
    ):
        await mailer.send(message())
        await mailer.send(message())

        assert server.was_encrypted == [True, True]
        assert len(server.envelopes) == 2


async def test_tls_from_the_first_byte(contexts: Contexts) -> None:
    theirs, ours = contexts
    async with (
        mail_server(tls=theirs, implicit_tls=True) as server,
        mailer_to(server.port, tls=ours, security=SmtpSecurity.TLS) as mailer,
    ):
        await mailer.send(message())

        assert len(server.envelopes) == 1


@pytest.mark.parametrize("security", [SmtpSecurity.STARTTLS, SmtpSecurity.TLS])
async def test_certificate_that_nobody_vouches_for_is_refused(
    security: SmtpSecurity, contexts: Contexts
) -> None:
    theirs, _ = contexts
    async with (
        mail_server(tls=theirs, implicit_tls=security is SmtpSecurity.TLS) as server,
        mailer_to(server.port, security=security) as mailer,
    ):
        failed = await failure(mailer)

        assert failed.cause is DeliveryCause.ENCRYPTION
        assert not failed.is_permanent
        assert server.envelopes == []


async def test_demanded_starttls_that_is_not_offered_ends_the_attempt() -> None:
    async with mail_server() as server, mailer_to(server.port, security=SmtpSecurity.STARTTLS) as mailer:
        failed = await failure(mailer)

        assert failed.cause is DeliveryCause.ENCRYPTION
        assert "STARTTLS" in str(failed)


async def test_password_is_not_sent_unencrypted_to_another_machine() -> None:
    async with mail_server(login=True, host="0.0.0.0") as server:
        async with mailer_to(server.port, host="0.0.0.0", password=PASSWORD) as mailer:
            failed = await failure(mailer)
        async with mailer_to(
            server.port, host="0.0.0.0", password=PASSWORD, security=SmtpSecurity.NONE
        ) as mailer:
            await mailer.send(message())

        assert failed.cause is DeliveryCause.ENCRYPTION
        assert len(server.envelopes) == 1


async def test_wrong_password_is_refused_with_its_code(contexts: Contexts) -> None:
    theirs, ours = contexts
    async with (
        mail_server(tls=theirs, login=True) as server,
        mailer_to(server.port, tls=ours, password="wrong word") as mailer,
    ):
        failed = await failure(mailer)
        again = await failure(mailer)

        assert (failed.cause, failed.code, failed.is_permanent) == (DeliveryCause.LOGIN, 535, True)
        assert again.cause is DeliveryCause.LOGIN


async def test_login_that_is_not_offered_is_told() -> None:
    async with mail_server() as server, mailer_to(server.port, password=PASSWORD) as mailer:
        assert (await failure(mailer)).cause is DeliveryCause.LOGIN


@pytest.mark.parametrize(
    ("reply", "code", "is_permanent", "words"),
    [
        ("550 5.7.1 <ann@example.org>: Relay access denied", 550, True, "550: Relay access denied"),
        ("451 4.7.1 Greylisted, try again later", 451, False, "451: Greylisted, try again later"),
    ],
)
async def test_refused_recipient_is_told_with_its_code(
    reply: str, code: int, is_permanent: bool, words: str
) -> None:
    async with mail_server() as server, mailer_to(server.port) as mailer:
        server.recipient_reply = reply
        failed = await failure(mailer)

        assert (failed.cause, failed.code, failed.is_permanent) == (DeliveryCause.REFUSED, code, is_permanent)
        assert words in str(failed)


async def test_connection_serves_on_after_a_refusal() -> None:
    async with mail_server() as server, mailer_to(server.port) as mailer:
        server.data_reply = "554 5.6.0 Text with code 123456 to ann@example.org refused"
        failed = await failure(mailer, to="bob@example.org")
        server.data_reply = ""
        await mailer.send(message())

        assert failed.code == 554
        assert len(server.envelopes) == 1
        assert len(server.connections) == 1


async def test_connection_that_breaks_in_the_middle_is_told_and_nothing_is_sent_twice() -> None:
    async with mail_server() as server, mailer_to(server.port) as mailer:
        server.drops_at_data = True
        failed = await failure(mailer)

        assert failed.cause is DeliveryCause.UNREACHABLE
        assert not failed.is_permanent
        assert len(server.connections) == 1


async def test_server_that_does_not_answer_is_given_up() -> None:
    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with raw_server(silent) as port, mailer_to(port, timeout_s=0.05) as mailer:
        both = await asyncio.gather(failure(mailer), failure(mailer))

    assert [failed.cause for failed in both] == [DeliveryCause.TIMEOUT, DeliveryCause.TIMEOUT]


async def test_server_that_drips_is_given_up_as_a_whole() -> None:
    async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not writer.is_closing():
            writer.write(b"220-")
            await writer.drain()
            await asyncio.sleep(0)

    async with raw_server(drip) as port, mailer_to(port, timeout_s=0.05) as mailer:
        assert (await failure(mailer)).cause in (DeliveryCause.TIMEOUT, DeliveryCause.REFUSED)


async def test_message_that_was_given_up_leaves_no_half_dialogue() -> None:
    async with mail_server() as server, mailer_to(server.port) as mailer:
        server.hangs_at_data = asyncio.Event()
        task = asyncio.create_task(mailer.send(message()))
        await server.hangs_at_data.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        server.hangs_at_data = None
        await mailer.send(message(subject="Second"))

        assert [one["Subject"] for one in server.messages] == ["Second"]
        assert len(server.connections) == 2


async def test_nobody_listening_is_told() -> None:
    async with raw_server(lambda _, __: asyncio.sleep(0)) as port:
        pass
    async with mailer_to(port) as mailer:
        failed = await failure(mailer)

    assert failed.cause is DeliveryCause.UNREACHABLE
    assert str(failed) == f"127.0.0.1:{port} cannot be reached"


@pytest.mark.parametrize(
    "said", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xff\xfe\x00\r\n", b"554 5.3.2 Not today\r\n", b""]
)
async def test_server_of_another_kind_ends_in_a_failure(said: bytes) -> None:
    async def speak(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        await writer.drain()

    async with raw_server(speak) as port, mailer_to(port) as mailer:
        assert (await failure(mailer)).cause in (DeliveryCause.REFUSED, DeliveryCause.UNREACHABLE)


async def test_address_beyond_ascii_goes_to_servers_that_take_it() -> None:
    async with mail_server() as server, mailer_to(server.port) as mailer:
        await mailer.send(message("jürgen@example.org"))

        assert server.envelopes[0].rcpt_tos == ["jürgen@example.org"]
        assert server.messages[0]["To"] == "jürgen@example.org"


async def test_address_beyond_ascii_is_refused_for_other_servers() -> None:
    async with mail_server(utf8=False) as server, mailer_to(server.port) as mailer:
        failed = await failure(mailer, to="jürgen@example.org")

        assert (failed.cause, failed.is_permanent) == (DeliveryCause.ADDRESS, True)


def test_server_of_the_settings() -> None:
    server = smtp_endpoint_of(Smtp(host="smtp.example.org", port=465, user="u", password=Secret("p")))

    assert (server.host, server.port, server.username, server.security) == (
        "smtp.example.org",
        465,
        "u",
        SmtpSecurity.AUTO,
    )
    assert "p'" not in repr(server)
    assert str(server) == "smtp.example.org:465"
