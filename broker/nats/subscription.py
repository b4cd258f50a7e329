"""A subscription of a connection to the broker."""

from collections.abc import Callable


class NatsSubscription:
    """A subscription to one subject, perhaps as a member of a queue group."""

    __slots__ = ("_remove", "id", "queue", "subject")

    def __init__(
        self, remove: "Callable[[NatsSubscription], None]", id: str, subject: str, queue: str
    ) -> None:
        self._remove = remove
        self.id = id
        self.subject = subject
        self.queue = queue

    @property
    def line(self) -> str:
        """The line of the protocol that creates it."""
        return f"SUB {self.subject} {self.queue} {self.id}" if self.queue else f"SUB {self.subject} {self.id}"

    def unsubscribe(self) -> None:
        """Unsubscribe. Messages that the server has already sent still arrive until the next `flush`."""
        self._remove(self)
