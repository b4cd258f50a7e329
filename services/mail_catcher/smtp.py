"""The SMTP server: receives emails from any client on this machine, with any login, and passes them to the mailbox.

It is for development: no TLS, no check of the sender, and nothing is sent on.
"""

import asyncio
import secrets
from collections.abc import Callable
from datetime import UTC, datetime

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from services.mail_catcher.emails import CaughtEmail, parse_email

_LONGEST = 25 * 1024 * 1024
_IDLE_S = 60.0
_MOST_CONNECTIONS = 100


class SmtpServer:
    """Listens, and calls `receive` with every email."""

    def __init__(self, receive: Callable[[CaughtEmail], None]) -> None:
        self._handler = _Handler(receive)
        self._open: set[asyncio.BaseTransport] = set()
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> None:
        """Listen. Raises: OSError if the port is in use."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self._handler, self._open), host, port)

    @property
    def port(self) -> int:
        """The port that was bound; 0 while not listening."""
        return int(self._server.sockets[0].getsockname()[1]) if self._server and self._server.sockets else 0

    def stop(self) -> None:
        """Stop listening and close the connections."""
        if self._server is not None:
            self._server.close()
        for transport in list(self._open):
            transport.close()


class _Connection(SMTP):
    """One client; connections beyond the limit of 100 are closed at once."""

    def __init__(self, handler: "_Handler", open: set[asyncio.BaseTransport]) -> None:
        super().__init__(
            handler,
            data_size_limit=_LONGEST,
            enable_SMTPUTF8=True,
            hostname="headwater",
            ident="Headwater mail catcher",
            timeout=_IDLE_S,
            loop=asyncio.get_running_loop(),
            auth_require_tls=False,
            authenticator=lambda *_: AuthResult(success=True),
        )
        self._open = open
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._open.add(transport)
        self._transport = transport
        super().connection_made(transport)
        if len(self._open) > _MOST_CONNECTIONS:
            transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        if self._transport is not None:
            self._open.discard(self._transport)
        super().connection_lost(error)


class _Handler:
    """Called by aiosmtpd when an email is complete."""

    def __init__(self, receive: Callable[[CaughtEmail], None]) -> None:
        self._receive = receive

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        """Parse an email and pass it on."""
        content = envelope.content or b""
        raw = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
        email = parse_email(
            secrets.token_hex(11),
            raw,
            _without_surrogates(envelope.mail_from or ""),
            tuple(_without_surrogates(recipient) for recipient in envelope.rcpt_tos),
            datetime.now(UTC),
        )
        self._receive(email)
        return f"250 2.0.0 Ok: queued as {email.id}"


def _without_surrogates(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
