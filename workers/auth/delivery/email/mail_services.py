"""Opens what a process sends messages with: the servers of the settings, else the platform's mail catcher.

Emails wait in a JetStream queue until the mail server has accepted them. The mail catcher of development shows text messages
as well, if the settings name no SMS provider. Source: docs/reference/auth.md, sections 18.1 and 18.5.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from broker.jetstream.stream_watch import StreamWatch
from schemas.settings.tree import Settings, catches_mail, gateway_scheme
from workers.auth.delivery.message import MailSender
from workers.auth.delivery.queue import STREAM, MailQueue, ensure_mail_stream
from workers.auth.delivery.sms.inbox import InboxSender
from workers.auth.delivery.sms.sender import SmsSender
from workers.auth.delivery.smtp import CurrentMailer, Mailer, SmtpEndpoint, SmtpSecurity, smtp_endpoint_of
from workers.auth.delivery.transport import MailTransport
from workers.auth.model.vault import read_vault
from workers.resources import Resources

_LOOPBACK = "127.0.0.1"
_CATCHER_LOGIN = "headwater"
"""Name of the login at a mail catcher that has a key; the catcher compares the password alone."""
_PATH = "/auth/v1"


@dataclass(frozen=True, slots=True)
class MailServices:
    """The senders of a process for `build_context`; None for what is not configured."""

    transport: MailTransport | None = None
    sms: SmsSender | None = None
    sender: MailSender | None = None


class LiveMailServices:
    """Opens what the settings need, and exchanges the mail server when they change; all is closed when the process drains."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._mailer: CurrentMailer | None = None
        self._queue: MailQueue | None = None
        self._text_messages: InboxSender | None = None

    async def open(self, settings: Settings) -> MailServices:
        """Return the senders for these settings; open the queue to the mail server if it is the first one.

        Emails still go to the former server until `use`. Raises: SettingsError, Unavailable.
        """
        auth_settings, server = settings.auth, mail_server_of(settings)
        sms = self._inbox_sender(settings) if auth_settings.sms.sender is None else None
        if server is None:
            return MailServices(sms=sms)
        lasts_s = float(auth_settings.email.otp_expiry)
        if self._queue is None:
            self._queue = await self._open_queue(settings, server, lasts_s)
        caught = settings.inbucket
        is_caught = not auth_settings.email.smtp.is_used
        sender = MailSender(caught.admin_email, caught.sender_name) if is_caught else None
        return MailServices(replace(self._queue, lasts_s=lasts_s), sms, sender)

    def use(self, settings: Settings) -> None:
        """Send emails, those in the queue included, to the server of these settings."""
        server = mail_server_of(settings)
        if server is not None and self._mailer is not None:
            self._mailer.use(server)

    async def _open_queue(self, settings: Settings, server: SmtpEndpoint, lasts_s: float) -> MailQueue:
        connection, process = self._resources.connection, self._resources.process
        self._mailer = CurrentMailer(server)
        process.on_drain(self._mailer.close)
        watch = StreamWatch(connection, STREAM, lambda: ensure_mail_stream(connection))
        queue = MailQueue(connection, self._mailer, read_vault(settings.auth), lasts_s, watch=watch)
        for consumer in await queue.open():
            process.on_drain(consumer.close)
        process.on_drain(watch.start())
        return queue

    def _inbox_sender(self, settings: Settings) -> InboxSender | None:
        inbox = mail_catcher_of(settings)
        if self._text_messages is None and inbox is not None:
            messages = Mailer(inbox)
            self._resources.process.on_drain(messages.close)
            self._text_messages = InboxSender(messages)
        return self._text_messages


def mail_server_of(settings: Settings) -> SmtpEndpoint | None:
    """Return the mail server of the settings, else the mail catcher, else None."""
    smtp = settings.auth.email.smtp
    return smtp_endpoint_of(smtp) if smtp.is_used else mail_catcher_of(settings)


def mail_catcher_of(settings: Settings) -> SmtpEndpoint | None:
    """Return the mail catcher of the platform; None if it does not run."""
    if not catches_mail(settings):
        return None
    catcher = settings.inbucket
    name = _CATCHER_LOGIN if catcher.key else ""
    return SmtpEndpoint(_LOOPBACK, catcher.smtp_port, name, catcher.key, security=SmtpSecurity.NONE)


def external_url(settings: Settings) -> str:
    """Return the public URL of auth: from the settings, else the path `/auth/v1` of the gateway."""
    gateway = (
        settings.api.external_url.rstrip("/")
        or f"{gateway_scheme(settings)}://{_LOOPBACK}:{settings.api.port}"
    )
    return settings.auth.external_url or gateway + _PATH


def template_folders() -> list[Path]:
    """Return the folders where templates are looked up: the project's, then that of its `config.toml`."""
    config = os.environ.get("HEADWATER_CONFIG", "")
    if not config:
        return [Path.cwd()]
    folder = Path(config).absolute().parent
    return [folder.parent, folder]
