"""Sends messages by SMTP, over one connection that stays open.

A message is sent at most once: an open connection is probed with RSET before it is used, and nothing is repeated after that.
Each command and the whole exchange have a time limit. The password is sent only over TLS, to this machine, or if the settings
switch encryption off. Source: RFC 5321; RFC 8314.
"""

import asyncio
import contextlib
import ssl
from dataclasses import dataclass
from email.generator import BytesGenerator
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from enum import StrEnum
from io import BytesIO

import aiosmtplib

from schemas.keys.secret import Secret
from schemas.settings.auth_delivery import Smtp
from workers.auth.delivery.failures import DeliveryCause, DeliveryFailed, safe_words
from workers.auth.delivery.message import envelope_address, is_ascii

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_TLS_PORT = 465
_TEMPORARY_LOGIN = 454


class SmtpSecurity(StrEnum):
    """How the connection is encrypted."""

    AUTO = "auto"
    """TLS from the first byte on port 465, else STARTTLS where the server offers it."""
    STARTTLS = "starttls"
    """STARTTLS; without it the delivery fails."""
    TLS = "tls"
    """TLS from the first byte."""
    NONE = "none"
    """No encryption."""


@dataclass(frozen=True, slots=True)
class SmtpEndpoint:
    """A mail server of the settings. `timeout_s` is the limit for one message, including the wait for the connection."""

    host: str
    port: int = 587
    username: str = ""
    password: Secret | None = None
    security: SmtpSecurity = SmtpSecurity.AUTO
    timeout_s: float = 10.0
    tls: ssl.SSLContext | None = None
    """Trusted certificates; None for the system's."""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def smtp_endpoint_of(smtp: Smtp) -> SmtpEndpoint:
    """Return the mail server of the settings."""
    return SmtpEndpoint(smtp.host, smtp.port, smtp.user, smtp.password)


class Mailer:
    """Sends messages to a mail server, one at a time (a lock)."""

    def __init__(self, server: SmtpEndpoint) -> None:
        self._server = server
        self._client: aiosmtplib.SMTP | None = None
        self._lock = asyncio.Lock()

    async def send(self, message: EmailMessage) -> str:
        """Send a message made by `compose`, and return its Message-ID. Raises: DeliveryFailed."""
        sender = envelope_address(message["From"].addresses[0].addr_spec)
        recipient = envelope_address(message["To"].addresses[0].addr_spec)
        try:
            async with asyncio.timeout(self._server.timeout_s), self._lock:
                try:
                    await self._send(message, sender, recipient)
                except BaseException as error:
                    if not isinstance(error, aiosmtplib.SMTPResponseException):
                        self._drop()  # the state of the dialogue is unknown now
                    raise
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:  # timeouts and TLS are among them
            raise self._failure(error) from None
        return str(message["Message-ID"])

    async def close(self) -> None:
        """Send QUIT and close the connection."""
        async with self._lock:
            if self._client is not None and self._client.is_connected:
                with contextlib.suppress(aiosmtplib.SMTPException, OSError):
                    await self._client.quit(timeout=self._server.timeout_s)
            self._drop()

    async def _send(self, message: EmailMessage, sender: str, recipient: str) -> None:
        client = await self._connected()
        needs_utf8 = not (is_ascii(sender) and is_ascii(recipient))
        if needs_utf8 and not client.supports_extension("smtputf8"):
            raise DeliveryFailed(
                DeliveryCause.ADDRESS,
                f"{self._server} takes no addresses beyond ASCII",
                is_permanent=True,
            )
        options = ["SMTPUTF8"] if needs_utf8 else []
        try:
            await client.sendmail(sender, [recipient], _bytes(message, needs_utf8), mail_options=options)
        except aiosmtplib.SMTPRecipientsRefused as error:
            raise error.recipients[0] from None

    async def _connected(self) -> aiosmtplib.SMTP:
        client = self._client
        if client is not None and client.is_connected:
            try:
                await client.rset()
            except (aiosmtplib.SMTPException, OSError):
                self._drop()
            else:
                return client
        self._drop()
        client = self._new_client()
        try:
            await client.connect()
            await self._greet(client)
        except BaseException:
            client.close()
            raise
        self._client = client
        return client

    async def _greet(self, client: aiosmtplib.SMTP) -> None:
        """Send EHLO, start TLS, log in, as the settings require."""
        server = self._server
        await client.ehlo()
        if not self._is_encrypted(client) and server.security in (SmtpSecurity.AUTO, SmtpSecurity.STARTTLS):
            if client.supports_extension("starttls"):
                await client.starttls()
                await client.ehlo()
            elif server.security is SmtpSecurity.STARTTLS:
                raise _failed(DeliveryCause.ENCRYPTION, f"{server} offers no STARTTLS")
        if not server.username:
            return
        if not (
            self._is_encrypted(client) or server.host in _LOOPBACK or server.security is SmtpSecurity.NONE
        ):
            raise _failed(
                DeliveryCause.ENCRYPTION, f"{server} offers no encryption, so the password is not sent to it"
            )
        if not client.supported_auth_methods:
            raise _failed(DeliveryCause.LOGIN, f"{server} offers no login by password")
        await client.login(server.username, _text(server.password))

    def _new_client(self) -> aiosmtplib.SMTP:
        server = self._server
        by_port = server.security is SmtpSecurity.AUTO and server.port == _TLS_PORT
        return aiosmtplib.SMTP(
            hostname=server.host,
            port=server.port,
            local_hostname="localhost",
            timeout=server.timeout_s,
            use_tls=server.security is SmtpSecurity.TLS or by_port,
            start_tls=False,  # `_greet` decides
            tls_context=server.tls,
        )

    @staticmethod
    def _is_encrypted(client: aiosmtplib.SMTP) -> bool:
        return client.get_transport_info("sslcontext") is not None

    def _drop(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _failure(self, error: Exception) -> DeliveryFailed:
        """Return the failure for an error, without text of messages, addresses or credentials."""
        at = str(self._server)
        match error:
            case aiosmtplib.SMTPAuthenticationError(code=code):
                is_temporary = code == _TEMPORARY_LOGIN
                return _failed(
                    DeliveryCause.LOGIN, f"{at} refused the login ({code})", code, not is_temporary
                )
            case aiosmtplib.SMTPResponseException(code=code, message=said):
                words = safe_words(said)
                text = f"{at} refused the message ({code}{': ' + words if words else ''})"
                return _failed(DeliveryCause.REFUSED, text, code, code >= 500)
            case TimeoutError():
                text = f"{at} did not answer within {self._server.timeout_s:g} s"
                return _failed(DeliveryCause.TIMEOUT, text)
            case ssl.SSLError():
                return _failed(
                    DeliveryCause.ENCRYPTION, f"TLS with {at} failed: {error.reason or 'no handshake'}"
                )
            case aiosmtplib.SMTPConnectError() if isinstance(error.__cause__, ssl.SSLError):
                reason = error.__cause__.reason or "no handshake"
                return _failed(DeliveryCause.ENCRYPTION, f"TLS with {at} failed: {reason}")
            case aiosmtplib.SMTPServerDisconnected():
                return _failed(DeliveryCause.UNREACHABLE, f"{at} closed the connection")
            case OSError():
                return _failed(DeliveryCause.UNREACHABLE, f"{at} cannot be reached")
        return _failed(DeliveryCause.REFUSED, f"{at} did not speak SMTP as expected")


class CurrentMailer:
    """Sends messages to the mail server of the settings, which may become another one while the platform runs."""

    def __init__(self, server: SmtpEndpoint) -> None:
        self._server = server
        self._mailer = Mailer(server)
        self._closing: set[asyncio.Task[None]] = set()

    async def send(self, message: EmailMessage) -> str:
        """Send a message to the present server, and return its Message-ID. Raises: DeliveryFailed."""
        return await self._mailer.send(message)

    def use(self, server: SmtpEndpoint) -> None:
        """Send later messages to this server. The connection to the former one is closed when its message is sent."""
        if server == self._server:
            return
        former, self._server, self._mailer = self._mailer, server, Mailer(server)
        task = asyncio.create_task(former.close(), name="close of a mail server's connection")
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Send QUIT and close the connections."""
        await asyncio.gather(self._mailer.close(), *self._closing)


def _failed(cause: DeliveryCause, text: str, code: int = 0, is_permanent: bool = False) -> DeliveryFailed:
    return DeliveryFailed(cause, text, is_permanent=is_permanent, code=code)


def _text(secret: Secret | None) -> str:
    return secret.reveal() if secret is not None else ""


def _bytes(message: EmailMessage, needs_utf8: bool) -> bytes:
    buffer = BytesIO()
    policy = SMTPUTF8 if needs_utf8 else SMTP.clone(cte_type="7bit")
    BytesGenerator(buffer, mangle_from_=False, policy=policy).flatten(message)
    return buffer.getvalue()
