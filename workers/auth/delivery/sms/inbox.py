"""Development: text messages land in the mail inbox, as letters from "SMS" to the number."""

import secrets
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from workers.auth.delivery.mail import Mailer
from workers.auth.delivery.sms.sender import EVERY_CHANNEL, SmsMessage, digits

DOMAIN = "sms.localhost"
"""The domain of numbers in the inbox: `4915112345678@sms.localhost`."""


class InboxSender:
    """Shows text messages in the development inbox instead of sending them."""

    channels = EVERY_CHANNEL

    def __init__(self, mailer: Mailer) -> None:
        self._mailer = mailer

    async def send(self, message: SmsMessage) -> str:
        """Put a message into the inbox and give its id. Raises: DeliveryFailed."""
        unique = f"{message.channel.value}-{secrets.token_hex(12)}"
        letter = EmailMessage(policy=SMTP)
        letter["From"] = f"{message.channel.value.upper()} <{message.channel.value}@{DOMAIN}>"
        letter["To"] = f"{digits(message.phone)}@{DOMAIN}"
        letter["Subject"] = f"{message.channel.value.upper()} to +{digits(message.phone)}"
        letter["Date"] = format_datetime(datetime.now(UTC))
        letter["Message-ID"] = f"<{unique}@{DOMAIN}>"
        letter.set_content(message.text.encode("utf-8", "replace").decode(), cte="quoted-printable")
        await self._mailer.send(letter)
        return unique
