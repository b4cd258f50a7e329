"""Move the connection off a server in lame-duck mode to another one of its cluster, without losing or repeating
messages.

    leaving    --- all subscriptions ---------------------- UNSUB, PING ... close
    next               --- all subscriptions, PING ------------------------------->
                                              OVERLAP_S: both receive everything

A server in lame-duck mode announces that it will close its clients' connections. While both connections are
subscribed, a message for all subscribers arrives twice, once on each. Both sides count the messages with equal
subject, reply and payload. A message is delivered when a side's count exceeds the number delivered so far, so it is
delivered as often as it was published: the larger of both counts. A message of a queue group arrives on one side only
and is not counted. Pending replies are not affected, because both connections subscribe to the same inbox.

During the overlap a message may arrive before one that was published earlier: the two connections are not in step.
Readers that need the order number their messages (`broker/jetstream/ordered_reader.py`).
"""

from collections import Counter

from broker.nats.protocol import Callback, CallbackTable, NatsMessage

OVERLAP_S = 0.5
"""How long both connections stay subscribed: the other servers of the cluster have to learn of the new subscriptions first."""

_Key = tuple[bytes, str, str, bytes]


class Overlap:
    """The messages that arrived on either connection while both are subscribed. `shared`: ids of subscriptions without a queue group."""

    def __init__(self, callbacks: CallbackTable, shared: frozenset[bytes]) -> None:
        self._callbacks = callbacks
        self._shared = shared
        self._delivered: Counter[_Key] = Counter()

    def side(self) -> "_OverlapSide":
        """Return the callback table for one of the two connections."""
        return _OverlapSide(self)

    def find(self, id: bytes, received: Counter[_Key]) -> Callback | None:
        """Return the callback of a subscription for one side, whose received messages are counted in `received`."""
        callback = self._callbacks.get(id)
        if callback is None or id not in self._shared:
            return callback

        def deliver_once(message: NatsMessage) -> None:
            key = (id, message.subject, message.reply, message.payload)
            received[key] += 1
            if received[key] > self._delivered[key]:
                self._delivered[key] = received[key]
                callback(message)

        return deliver_once


class _OverlapSide:
    """The callback table of one of the two connections."""

    def __init__(self, overlap: Overlap) -> None:
        self._overlap = overlap
        self._received: Counter[_Key] = Counter()

    def get(self, id: bytes, /) -> Callback | None:
        """Return the callback of a subscription."""
        return self._overlap.find(id, self._received)
