"""From a server that is about to end to another one of its cluster, with nothing lost and nothing doubled.

    leaving    --- all subscriptions ---------------------- UNSUB, PING ... close
    next               --- all subscriptions, PING ------------------------------->
                                              OVERLAP_S: both hear everything

A server in "lame duck mode" tells its clients before it closes them. While both connections listen, a message to all who
listen comes twice, once by each; it is handed on as often as the one that has it more often has it. Of a queue group's
messages each comes once anyway. What waits for a reply goes on waiting: the inbox is heard by both.
"""

from collections import Counter

from broker.nats.protocol import Callback, Finder, Message

OVERLAP_S = 0.5
"""How long both listen: other servers of the cluster have to learn of the new subscriptions first."""

_Key = tuple[bytes, str, str, bytes]


class Overlap:
    """What came by either connection while both listen. `is_shared` tells whether a subscription is no queue group's."""

    def __init__(self, callbacks: Finder, shared: frozenset[bytes]) -> None:
        self._callbacks = callbacks
        self._shared = shared
        self._handed: Counter[_Key] = Counter()

    def side(self) -> "_Side":
        """Give what one of the two connections finds its callbacks by."""
        return _Side(self)

    def find(self, id: bytes, came: Counter[_Key]) -> Callback | None:
        """Give the callback of a subscription, for messages of one side that has counted what came."""
        callback = self._callbacks.get(id)
        if callback is None or id not in self._shared:
            return callback

        def hand_on(message: Message) -> None:
            key = (id, message.subject, message.reply, message.payload)
            came[key] += 1
            if came[key] > self._handed[key]:
                self._handed[key] = came[key]
                callback(message)

        return hand_on


class _Side:
    """One of the two connections."""

    def __init__(self, overlap: Overlap) -> None:
        self._overlap = overlap
        self._came: Counter[_Key] = Counter()

    def get(self, id: bytes, /) -> Callback | None:
        """Give the callback of a subscription."""
        return self._overlap.find(id, self._came)
