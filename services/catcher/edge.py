"""The edge `mail`: SMTP in, a mailbox in memory, HTTP out."""

import ipaddress
from dataclasses import dataclass

from aiohttp import web

from schemas.settings.tree import SettingsError
from services.catcher.mailbox import CaughtMail
from services.catcher.smtp import SmtpServer
from services.catcher.web import Web

_KEEPALIVE_S = 15.0
"""How long a connection may be without a request, also before its first: aiohttp counts the head of a request to it."""


@dataclass(frozen=True, slots=True)
class CatcherOptions:
    """[inbucket] of the project file: where the catcher listens, and how much it keeps."""

    host: str = "127.0.0.1"
    port: int = 54324
    """Port of the pages."""
    smtp_port: int = 54325
    most_letters: int = 500
    most_bytes: int = 64 * 1024 * 1024


class Catcher:
    """A catcher that listens, until it is stopped. `mail` is what it caught."""

    def __init__(self, options: CatcherOptions) -> None:
        self.mail = CaughtMail(options.most_letters, options.most_bytes)
        self._options = options
        self._smtp = SmtpServer(self.mail.add)
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Listen on both ports. Raises: SettingsError if one is taken."""
        options = self._options
        application = Web(self.mail, is_local=_is_loopback(options.host)).application()
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
        """Give the port of the pages that listens; it differs from the option 0."""
        return int(self._runner.addresses[0][1]) if self._runner and self._runner.addresses else 0

    @property
    def smtp_port(self) -> int:
        """Give the port of SMTP that listens."""
        return self._smtp.port

    async def stop(self) -> None:
        """Listen no more; letters that are on their way are lost."""
        self._smtp.stop()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
