"""The subjects on which a process hears what is meant for one waiting thing of its own (`broker/nats/connection.py`)."""

import secrets
from collections.abc import Callable
from itertools import count

from broker import subjects
from broker.nats.protocol import DISCONNECTED, Callback, Message


class Inbox:
    """The subjects on which this process hears what is meant for one waiting thing of its own."""

    __slots__ = ("_open", "_skip", "_tell", "_tokens", "prefix")

    def __init__(self, user: str, tell: Callable[[str, bytes], bool]) -> None:
        self._tell = tell
        self.prefix = subjects.inbox(user, secrets.token_hex(9))
        self._skip = len(self.prefix)
        self._open: dict[str, Callback] = {}
        self._tokens = count()

    def open(self, callback: Callback) -> str:
        """Give a new subject whose messages go to `callback`, until it is closed."""
        token = f"{next(self._tokens):x}"
        self._open[token] = callback
        return self.prefix + token

    def close(self, subject: str) -> None:
        """Hear nothing more on a subject."""
        self._open.pop(subject[self._skip :], None)

    def take(self, message: Message) -> None:
        """Hand a message to the one it is for."""
        callback = self._open.get(message.subject[self._skip :])
        if callback is not None:
            callback(message)
        elif subjects.is_inbox(message.reply):
            self._tell(message.reply, b"")

    def lose(self) -> None:
        """Tell everything that waits that its answer will not come."""
        for token, callback in list(self._open.items()):
            callback(Message(self.prefix + token, "", b"", DISCONNECTED))
