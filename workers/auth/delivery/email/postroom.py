"""Where the mails and messages of a process go: to the servers of the settings, else into the development inbox.

Letters wait in a queue until their server has taken them. The inbox is the mail catcher of the platform; it takes text
messages as well, where the settings name no sender. Source: reference page "auth", sections 18.1 and 18.5.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from broker.jetstream.stream_watch import StreamWatch
from schemas.settings.tree import Settings, catches_mail, gateway_scheme
from workers.auth.delivery.mail import Mailer, Security, Server, server_of
from workers.auth.delivery.message import Sender
from workers.auth.delivery.post import Post
from workers.auth.delivery.queue import STREAM, MailQueue, ensure_letters
from workers.auth.delivery.sms.inbox import InboxSender
from workers.auth.delivery.sms.sender import SmsSender
from workers.auth.vault import read_vault
from workers.resources import Resources

_LOOPBACK = "127.0.0.1"
_PATH = "/auth/v1"


@dataclass(frozen=True, slots=True)
class Postroom:
    """What `build_accounts` is given; None where there is none."""

    post: Post | None = None
    sms: SmsSender | None = None
    sender: Sender | None = None


async def open_postroom(resources: Resources) -> Postroom:
    """Open the queue to the mail server, and close it at the drain. Raises: SettingsError, Unavailable."""
    settings = resources.settings
    own, inbox = settings.auth, inbox_of(settings)
    server = server_of(own.email.smtp) if own.email.smtp.is_used else inbox
    sms = None
    if inbox is not None and own.sms.sender is None:
        messages = Mailer(inbox)
        resources.process.on_drain(messages.close)
        sms = InboxSender(messages)
    if server is None:
        return Postroom(sms=sms)
    mailer = Mailer(server)
    resources.process.on_drain(mailer.close)
    watch = StreamWatch(resources.connection, STREAM, lambda: ensure_letters(resources.connection))
    queue = MailQueue(resources.connection, mailer, read_vault(own), float(own.email.otp_expiry), watch=watch)
    following = await queue.open()
    resources.process.on_drain(following.close)
    resources.process.on_drain(watch.start())
    caught = settings.inbucket
    sender = Sender(caught.admin_email, caught.sender_name) if server is inbox else None
    return Postroom(queue, sms, sender)


def inbox_of(settings: Settings) -> Server | None:
    """Give the mail catcher of the platform, if it has one."""
    if not catches_mail(settings):
        return None
    return Server(_LOOPBACK, settings.inbucket.smtp_port, security=Security.NONE)


def external_url(settings: Settings) -> str:
    """Give where the accounts are reached from outside, unless [auth] says it: on the gateway."""
    gateway = (
        settings.api.external_url.rstrip("/")
        or f"{gateway_scheme(settings)}://{_LOOPBACK}:{settings.api.port}"
    )
    return settings.auth.external_url or gateway + _PATH


def template_folders() -> list[Path]:
    """Give the folders in which templates are sought: the project's, then that of its `config.toml`."""
    config = os.environ.get("HEADWATER_CONFIG", "")
    if not config:
        return [Path.cwd()]
    folder = Path(config).absolute().parent
    return [folder.parent, folder]
