"""The SMTP server: receives emails from any client on this machine and passes them to the mailbox.

It is for development: no TLS, no check of the sender, and nothing is sent on. Where the catcher has a key, clients log in with it; else
any login will do.
"""

import asyncio
import hmac
import secrets
from collections.abc import Callable
from datetime import UTC, datetime

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from schemas.keys.secret import Secret
from services.mail_catcher.emails import CaughtEmail, parse_email

_LONGEST = 25 * 1024 * 1024
_IDLE_S = 60.0
_MOST_CONNECTIONS = 100


class SmtpServer:
    """Listens, and calls `receive` with every email."""

    def __init__(self, receive: Callable[[CaughtEmail], None], key: Secret | None = None) -> None:
        self._handler = _Handler(receive, needs_login=key is not None)
        self._key = key
        self._open: set[asyncio.BaseTransport] = set()
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> None:
        """Listen. Raises: OSError if the port is in use."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Connection(self._handler, self._open, self._key), host, port
        )

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

    def __init__(self, handler: "_Handler", open: set[asyncio.BaseTransport], key: Secret | None) -> None:
        super().__init__(
            handler,
            data_size_limit=_LONGEST,
            enable_SMTPUTF8=True,
            hostname="headwater",
            ident="Headwater mail catcher",
            timeout=_IDLE_S,
            loop=asyncio.get_running_loop(),
            auth_require_tls=False,
            authenticator=lambda *login: AuthResult(
                success=key is None or _has_key(login[-1], key), handled=False
            ),
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
    """Called by aiosmtpd when an email begins and when it is complete."""

    def __init__(self, receive: Callable[[CaughtEmail], None], *, needs_login: bool) -> None:
        self._receive, self._needs_login = receive, needs_login

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Take the sender of an email from a client that has logged in, if it must."""
        if self._needs_login and not session.authenticated:
            return "530 5.7.0 Authentication required: the mail catcher has a key (headwater status)"
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

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


def _has_key(login: object, key: Secret) -> bool:
    """Return whether the password of a login is the key."""
    password = login.password if isinstance(login, LoginPassword) else b""
    return hmac.compare_digest(password, key.reveal().encode())


def _without_surrogates(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
