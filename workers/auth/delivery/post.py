"""Where composed letters go: to the mail server at once, or into a queue that hands them on.

Source: reference page "auth", section 18.1.
"""

from email.message import EmailMessage
from typing import Protocol

from schemas.settings.auth_delivery import Smtp
from workers.auth.delivery.failures import Cause, DeliveryFailed
from workers.auth.delivery.mail import Mailer, server_of


class Post(Protocol):
    """Takes letters."""

    async def post(self, message: EmailMessage) -> None:
        """Take a letter made by `compose`. Raises: DeliveryFailed."""
        ...


class DirectPost:
    """Hands letters to a mail server at once, while the request waits."""

    def __init__(self, mailer: Mailer) -> None:
        self._mailer = mailer

    async def post(self, message: EmailMessage) -> None:
        """Hand a letter over. Raises: DeliveryFailed."""
        await self._mailer.send(message)

    async def close(self) -> None:
        """Take leave of the server."""
        await self._mailer.close()


class NoPost:
    """There is no mail server: every letter fails, and says so."""

    async def post(self, message: EmailMessage) -> None:
        """Refuse a letter. Raises: DeliveryFailed."""
        del message
        raise DeliveryFailed(
            Cause.UNREACHABLE, "no mail server is set (auth.email.smtp.host)", is_permanent=True
        )


def post_of(smtp: Smtp) -> Post:
    """Give the post of the settings."""
    return DirectPost(Mailer(server_of(smtp))) if smtp.is_used else NoPost()
