"""Why a message could not be delivered, and which words of the server may be logged or shown.

Servers quote what they were sent: addresses, links, codes, passwords. Only what `safe_words` leaves of it goes further.
"""

import re
from enum import StrEnum

_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]{0,23}[.,;:!?)]?")
_MOST_WORDS = 30


class DeliveryCause(StrEnum):
    """Why a message was not delivered."""

    ADDRESS = "address"
    """The recipient's address or number cannot be sent to."""
    UNREACHABLE = "unreachable"
    """No connection, or it was lost."""
    QUEUE = "queue"
    """The JetStream stream of emails did not store it."""
    TIMEOUT = "timeout"
    """No answer in time."""
    ENCRYPTION = "encryption"
    """No TLS as the settings demand, or a certificate that is not trusted."""
    LOGIN = "login"
    """The credentials of the settings were refused."""
    REFUSED = "refused"
    """The server or provider refused the message."""
    CHANNEL = "channel"
    """The provider does not offer the channel."""


class DeliveryFailed(Exception):
    """A message was not delivered. The text names the server, the cause and its code; no address, one-time code, link, password.

    `is_permanent`: the same message would fail again, do not retry. `code` is the server's, 0 without one.
    """

    def __init__(self, cause: DeliveryCause, message: str, *, is_permanent: bool, code: int = 0) -> None:
        super().__init__(message)
        self.cause = cause
        self.is_permanent = is_permanent
        self.code = code


def safe_words(text: str) -> str:
    """Return a server's sentence without all that may be a value: digits, addresses, links.

    >>> spoken("5.7.1 <ann@example.org>: Relay access denied")
    'Relay access denied'
    """
    words = [word for word in text.split() if _WORD.fullmatch(word)]
    return " ".join(words[:_MOST_WORDS])
