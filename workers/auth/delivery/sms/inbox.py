"""Development: text messages are sent to the mail catcher, as emails from "SMS" to the number."""

import secrets
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from workers.auth.delivery.sms.sender import EVERY_CHANNEL, SmsMessage, digits
from workers.auth.delivery.smtp import Mailer

DOMAIN = "sms.localhost"
"""The domain of phone numbers in the mail catcher: `4915112345678@sms.localhost`."""


class InboxSender:
    """Shows text messages in the mail catcher instead of sending them."""

    channels = EVERY_CHANNEL

    def __init__(self, mailer: Mailer) -> None:
        self._mailer = mailer

    async def send(self, message: SmsMessage) -> str:
        """Send a message to the mail catcher and return its id. Raises: DeliveryFailed."""
        unique = f"{message.channel.value}-{secrets.token_hex(12)}"
        email = EmailMessage(policy=SMTP)
        email["From"] = f"{message.channel.value.upper()} <{message.channel.value}@{DOMAIN}>"
        email["To"] = f"{digits(message.phone)}@{DOMAIN}"
        email["Subject"] = f"{message.channel.value.upper()} to +{digits(message.phone)}"
        email["Date"] = format_datetime(datetime.now(UTC))
        email["Message-ID"] = f"<{unique}@{DOMAIN}>"
        email.set_content(message.text.encode("utf-8", "replace").decode(), cte="quoted-printable")
        await self._mailer.send(email)
        return unique
