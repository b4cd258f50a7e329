"""The edge `mail`: SMTP in, a mailbox in memory, HTTP out."""

import ipaddress
from dataclasses import dataclass

from aiohttp import web

from schemas.keys.secret import Secret
from schemas.settings.tree import SettingsError
from services.mail_catcher.mailbox import CaughtMail
from services.mail_catcher.pages_server import MailPages
from services.mail_catcher.smtp import SmtpServer

_KEEPALIVE_S = 15.0
"""Longest time without a request on a connection, also before its first: aiohttp counts reading the headers."""


@dataclass(frozen=True, slots=True)
class MailCatcherOptions:
    """[inbucket] of the project file: addresses and limits of the mail catcher."""

    host: str = "127.0.0.1"
    port: int = 54324
    """Port of the pages."""
    smtp_port: int = 54325
    key: Secret | None = None
    """Password of both ports; None: they are open."""
    max_emails: int = 500
    max_bytes: int = 64 * 1024 * 1024


class MailCatcher:
    """A mail catcher that listens until it is stopped. `mail` is what it received."""

    def __init__(self, options: MailCatcherOptions) -> None:
        self.mail = CaughtMail(options.max_emails, options.max_bytes)
        self._options = options
        self._smtp = SmtpServer(self.mail.add, options.key)
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Listen on both ports. Raises: SettingsError if one is in use."""
        options = self._options
        application = MailPages(self.mail, is_local=_is_loopback(options.host), key=options.key).application()
        runner = web.AppRunner(
            application, handle_signals=False, access_log=None, keepalive_timeout=_KEEPALIVE_S
        )
        await runner.setup()
        self._runner = runner
        port = options.port
        try:
            await web.TCPSite(runner, options.host, port).start()
            port = options.smtp_port
            await self._smtp.start(options.host, port)
        except OSError as error:
            await self.stop()
            raise SettingsError(f"cannot listen on {options.host}:{port}: {error.strerror}") from None

    @property
    def port(self) -> int:
        """The port of the pages that was bound, also if the option is 0."""
        return int(self._runner.addresses[0][1]) if self._runner and self._runner.addresses else 0

    @property
    def smtp_port(self) -> int:
        """The port of SMTP that was bound."""
        return self._smtp.port

    async def stop(self) -> None:
        """Stop listening; emails that are being received are lost."""
        self._smtp.stop()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
