"""What becomes of a message that could not be handed over, and what may be told of it.

Servers quote what they were sent: addresses, links, codes, passwords. Only `spoken` of their words goes further.
"""

import re
from enum import StrEnum

_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]{0,23}[.,;:!?)]?")
_MOST_WORDS = 30


class Cause(StrEnum):
    """Why a message was not handed over."""

    ADDRESS = "address"
    """The recipient's address or number cannot be sent to."""
    UNREACHABLE = "unreachable"
    """No connection, or it broke."""
    QUEUE = "queue"
    """The stream that keeps mails until a server takes them does not take this one."""
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
    """A message was not handed over. Its text names the server, the cause and the code; no address, code, link or password.

    `is_permanent`: the same message will fail again, so nobody need try. `code` is the server's, 0 when there is none.
    """

    def __init__(self, cause: Cause, message: str, *, is_permanent: bool, code: int = 0) -> None:
        super().__init__(message)
        self.cause = cause
        self.is_permanent = is_permanent
        self.code = code


def spoken(text: str) -> str:
    """Give the plain words of a server's sentence; all that may be a value (digits, addresses, links) is left out.

    >>> spoken("5.7.1 <ann@example.org>: Relay access denied")
    'Relay access denied'
    """
    words = [word for word in text.split() if _WORD.fullmatch(word)]
    return " ".join(words[:_MOST_WORDS])
