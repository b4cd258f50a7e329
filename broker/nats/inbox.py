"""Demultiplex replies that arrive on one wildcard subscription.

A process subscribes once to `_INBOX.<user>.<random>.*`. Each call, body or question that waits for messages opens a
token, and gets those that arrive on `<prefix><token>`. So waiting for a reply costs a dictionary entry and no message
to the server (`broker/nats/connection.py`).
"""

import secrets
from collections.abc import Callable
from itertools import count

from broker import subjects
from broker.nats.protocol import DISCONNECTED, Callback, NatsMessage


class Inbox:
    """The open tokens of a process: reply subject -> callback."""

    __slots__ = ("_open", "_skip", "_tokens", "_try_publish", "prefix")

    def __init__(self, user: str, try_publish: Callable[[str, bytes], bool]) -> None:
        self._try_publish = try_publish
        self.prefix = subjects.inbox(user, secrets.token_hex(9))
        self._skip = len(self.prefix)
        self._open: dict[str, Callback] = {}
        self._tokens = count()

    def open(self, callback: Callback) -> str:
        """Return a new subject whose messages go to `callback` until it is closed."""
        token = f"{next(self._tokens):x}"
        self._open[token] = callback
        return self.prefix + token

    def close(self, subject: str) -> None:
        """Close a subject: further messages on it are dropped."""
        self._open.pop(subject[self._skip :], None)

    def take(self, message: NatsMessage) -> None:
        """Pass a message to the callback of its token.

        A message for a closed token that names a reply subject gets an empty answer there: the sender learns that the
        token is closed.
        """
        callback = self._open.get(message.subject[self._skip :])
        if callback is not None:
            callback(message)
        elif subjects.is_inbox(message.reply):
            self._try_publish(message.reply, b"")

    def disconnect(self) -> None:
        """Send a message with status `DISCONNECTED` to every open token: its reply will not come."""
        for token, callback in list(self._open.items()):
            callback(NatsMessage(self.prefix + token, "", b"", DISCONNECTED))
