"""A real SMTP server within the test process, and others that misbehave."""

import asyncio
import ipaddress
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

USER, PASSWORD = "mailer", "correct horse"


@dataclass
class MailServer:
    """What a server took, and how it shall answer: what stands in the replies is said instead of 250."""

    port: int = 0
    envelopes: list[Envelope] = field(default_factory=list)
    connections: list[asyncio.BaseTransport] = field(default_factory=list)
    was_encrypted: list[bool] = field(default_factory=list)
    recipient_reply: str = ""
    data_reply: str = ""
    drops_at_data: bool = False
    hangs_at_data: asyncio.Event | None = None

    @property
    def messages(self) -> list[EmailMessage]:
        """Return the messages that were taken."""
        return [message_from_bytes(_bytes(one.content), policy=policy.default) for one in self.envelopes]

    async def handle_RCPT(
        self, _: SMTP, __: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.recipient_reply:
            return self.recipient_reply
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.hangs_at_data is not None:
            self.hangs_at_data.set()
            await asyncio.Event().wait()
        if self.drops_at_data:
            assert server.transport is not None
            server.transport.abort()  # type: ignore[attr-defined]  # a socket's transport
            return "250 never heard"
        if self.data_reply:
            return self.data_reply
        self.envelopes.append(envelope)
        self.was_encrypted.append(session.ssl is not None)
        return "250 OK"


def _bytes(content: str | bytes | None) -> bytes:
    assert isinstance(content, bytes)
    return content


def _login(_: SMTP, __: Session, ___: Envelope, mechanism: str, data: object) -> AuthResult:
    given = (getattr(data, "login", b""), getattr(data, "password", b""))
    return AuthResult(success=given == (USER.encode(), PASSWORD.encode()), handled=False)


@asynccontextmanager
async def mail_server(
    *,
    tls: ssl.SSLContext | None = None,
    implicit_tls: bool = False,
    login: bool = False,
    utf8: bool = True,
    host: str = "127.0.0.1",
) -> AsyncIterator[MailServer]:
    """Run a server: with STARTTLS where there is a context, with TLS from the first byte, with a login demanded."""
    server, loop = MailServer(), asyncio.get_running_loop()
    open_ones: list[SMTP] = []

    class Connection(SMTP):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            if not open_ones or open_ones[-1] is not self:
                open_ones.append(self)
                server.connections.append(transport)
            super().connection_made(transport)

    class Handler:
        """The hooks alone: the library reads every attribute of a handler at each connection, `messages` too, which parses all."""

        handle_RCPT, handle_DATA = server.handle_RCPT, server.handle_DATA

    def connection() -> SMTP:
        return Connection(
            Handler(),
            hostname="mail.test",
            enable_SMTPUTF8=utf8,
            tls_context=None if implicit_tls else tls,
            auth_required=login and tls is not None,  # without TLS the library warns
            auth_require_tls=login and tls is not None and not implicit_tls,
            authenticator=_login if login else None,
            loop=loop,
        )

    listener = await loop.create_server(connection, host, 0, ssl=tls if implicit_tls else None)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        for transport in server.connections:
            transport.close()


@asynccontextmanager
async def raw_server(
    talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[int]:
    """Run a server that says what `talk` says, and give its port."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(ConnectionError, asyncio.CancelledError):
            await talk(reader, writer)
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def certificate(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Make a certificate for this machine: the server's context, and one of a client that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = folder / "server.pem"
    path.write_bytes(private + pem)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    return server, ssl.create_default_context(cadata=pem.decode())
