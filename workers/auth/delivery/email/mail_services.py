"""Opens what a process sends messages with: the servers of the settings, else the platform's mail catcher.

Emails wait in a JetStream queue until the mail server has accepted them. The mail catcher of development shows text messages
as well, if the settings name no SMS provider. Source: docs/reference/auth.md, sections 18.1 and 18.5.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from broker.jetstream.stream_watch import StreamWatch
from schemas.settings.tree import Settings, catches_mail, gateway_scheme
from workers.auth.delivery.message import MailSender
from workers.auth.delivery.queue import STREAM, MailQueue, ensure_mail_stream
from workers.auth.delivery.sms.inbox import InboxSender
from workers.auth.delivery.sms.sender import SmsSender
from workers.auth.delivery.smtp import Mailer, SmtpEndpoint, SmtpSecurity, smtp_endpoint_of
from workers.auth.delivery.transport import MailTransport
from workers.auth.model.vault import read_vault
from workers.resources import Resources

_LOOPBACK = "127.0.0.1"
_PATH = "/auth/v1"


@dataclass(frozen=True, slots=True)
class MailServices:
    """The senders of a process for `build_context`; None for what is not configured."""

    transport: MailTransport | None = None
    sms: SmsSender | None = None
    sender: MailSender | None = None


async def open_mail_services(resources: Resources) -> MailServices:
    """Open the queue to the mail server; it is closed when the process drains. Raises: SettingsError, Unavailable."""
    settings = resources.settings
    auth_settings, inbox = settings.auth, mail_catcher_of(settings)
    server = smtp_endpoint_of(auth_settings.email.smtp) if auth_settings.email.smtp.is_used else inbox
    sms = None
    if inbox is not None and auth_settings.sms.sender is None:
        messages = Mailer(inbox)
        resources.process.on_drain(messages.close)
        sms = InboxSender(messages)
    if server is None:
        return MailServices(sms=sms)
    mailer = Mailer(server)
    resources.process.on_drain(mailer.close)
    watch = StreamWatch(resources.connection, STREAM, lambda: ensure_mail_stream(resources.connection))
    queue = MailQueue(
        resources.connection,
        mailer,
        read_vault(auth_settings),
        float(auth_settings.email.otp_expiry),
        watch=watch,
    )
    for consumer in await queue.open():
        resources.process.on_drain(consumer.close)
    resources.process.on_drain(watch.start())
    caught = settings.inbucket
    sender = MailSender(caught.admin_email, caught.sender_name) if server is inbox else None
    return MailServices(queue, sms, sender)


def mail_catcher_of(settings: Settings) -> SmtpEndpoint | None:
    """Return the mail catcher of the platform; None if it does not run."""
    if not catches_mail(settings):
        return None
    return SmtpEndpoint(_LOOPBACK, settings.inbucket.smtp_port, security=SmtpSecurity.NONE)


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
