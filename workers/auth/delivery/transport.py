"""Where composed emails go: to the mail server at once, or nowhere. `queue.py` has the third transport, a queue.

Source: docs/reference/auth.md, section 18.1.
"""

from email.message import EmailMessage
from typing import Protocol

from schemas.settings.auth_delivery import Smtp
from workers.auth.delivery.failures import DeliveryCause, DeliveryFailed
from workers.auth.delivery.smtp import Mailer, smtp_endpoint_of


class MailTransport(Protocol):
    """Accepts emails for delivery."""

    async def deliver(self, message: EmailMessage) -> None:
        """Accept an email made by `compose`. Raises: DeliveryFailed."""
        ...


class DirectTransport:
    """Sends emails to a mail server at once, while the request waits."""

    def __init__(self, mailer: Mailer) -> None:
        self._mailer = mailer

    async def deliver(self, message: EmailMessage) -> None:
        """Send an email. Raises: DeliveryFailed."""
        await self._mailer.send(message)

    async def close(self) -> None:
        """Close the connection to the server."""
        await self._mailer.close()


class NoTransport:
    """Stands in for a mail server that is not configured: every email fails."""

    async def deliver(self, message: EmailMessage) -> None:
        """Reject an email. Raises: DeliveryFailed."""
        del message
        raise DeliveryFailed(
            DeliveryCause.UNREACHABLE, "no mail server is set (auth.email.smtp.host)", is_permanent=True
        )


def transport_of(smtp: Smtp) -> MailTransport:
    """Return the transport for the settings."""
    return DirectTransport(Mailer(smtp_endpoint_of(smtp))) if smtp.is_used else NoTransport()
