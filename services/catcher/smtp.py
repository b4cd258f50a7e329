"""The SMTP side: takes letters from anybody on this machine, with any login, and hands them to the mailbox.

It is for development: no TLS, no check of who writes, nothing is sent on.
"""

import asyncio
import secrets
from collections.abc import Callable
from datetime import UTC, datetime

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from services.catcher.letter import Letter, read_letter

_LONGEST = 25 * 1024 * 1024
_IDLE_S = 60.0
_MOST_CONNECTIONS = 100


class SmtpServer:
    """Listens, and calls `take` with every letter."""

    def __init__(self, take: Callable[[Letter], None]) -> None:
        self._handler = _Handler(take)
        self._open: set[asyncio.BaseTransport] = set()
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> None:
        """Listen. Raises: OSError if the port is taken."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self._handler, self._open), host, port)

    @property
    def port(self) -> int:
        """Give the port that listens; 0 when none does."""
        return int(self._server.sockets[0].getsockname()[1]) if self._server and self._server.sockets else 0

    def stop(self) -> None:
        """Listen no more and drop the connections."""
        if self._server is not None:
            self._server.close()
        for transport in list(self._open):
            transport.close()


class _Connection(SMTP):
    """One client; beyond a hundred of them, further ones are turned away."""

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
        self._own: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._open.add(transport)
        self._own = transport
        super().connection_made(transport)
        if len(self._open) > _MOST_CONNECTIONS:
            transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        if self._own is not None:
            self._open.discard(self._own)
        super().connection_lost(error)


class _Handler:
    """What aiosmtpd calls when a letter is complete."""

    def __init__(self, take: Callable[[Letter], None]) -> None:
        self._take = take

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        """Take a letter in."""
        content = envelope.content or b""
        raw = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
        letter = read_letter(
            secrets.token_hex(11),
            raw,
            _whole(envelope.mail_from or ""),
            tuple(_whole(one) for one in envelope.rcpt_tos),
            datetime.now(UTC),
        )
        self._take(letter)
        return f"250 2.0.0 Ok: queued as {letter.id}"


def _whole(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
