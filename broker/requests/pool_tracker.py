"""Keep track of which members the pools have, and fail the calls whose member is gone.

`Calls` (`broker/requests/call.py`) sends requests and does not know which member of a queue group takes each one.
This module finds out only where it matters, for calls that are older than a tick. Every `TICK_S` it closes the last
round of the roll call (`broker/requests/roll_call.py`), fails the calls that are lost, and starts the next round with
the slow calls. Members announce themselves on `alive.<pool>` before they take requests, so a new member is known
without a question.

Whether a member's process is gone is answered by NATS itself: a message on `member.<name>` with a reply subject comes
back with status 503 (no responders) as soon as the member's connection is closed.
"""

import asyncio
import contextlib

from broker import subjects
from broker.codec import InvalidMessage, decoder, encode
from broker.nats.connection import NatsConnection
from broker.nats.protocol import NO_RESPONDERS, NatsMessage
from broker.observability.observations import MemberGone
from broker.observability.observe import gauge, observe
from broker.requests.open_calls import PoolCalls
from broker.requests.roll_call import RollCallQuery, RollCallReply
from schemas.errors import OutcomeUnknown

TICK_S = 0.15
"""Age at which a call is slow, and pause between two roll calls."""

_decode_reply = decoder(RollCallReply)


class PoolTracker:
    """The pools that one connection calls: their calls in flight and their members."""

    def __init__(self, connection: NatsConnection) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self.pools: dict[str, PoolCalls] = {}
        self._seen_pools: set[str] = set()
        """Pools of which a member was heard at any time."""
        self._tick: asyncio.TimerHandle | None = None
        self._tick_at = 0.0
        self._was_late = False
        self._inbox = connection.inbox.open(self._receive)
        connection.subscribe(subjects.ALIVE, self._receive)
        connection.on_lost.append(self._forget)

    def pool(self, name: str) -> PoolCalls:
        """Return what is known of a pool. Hot path: for every call but the first this is one look into a dictionary."""
        return self.pools.get(name) or self._add_pool(name)

    def watch_calls(self) -> None:
        """Start the ticks, if they are not running: a call was sent. Hot path."""
        if self._tick is None:
            self._tick_at = self._loop.time() + TICK_S
            self._tick = self._loop.call_at(self._tick_at, self._call_rolls)

    def check_members(self, pool: PoolCalls) -> None:
        """Check now which members of a pool are connected: a request reached none, or a new member appeared."""
        for member in list(pool.roll.members):
            self._check_member(pool, member)

    def _add_pool(self, name: str) -> PoolCalls:
        """Start to track a pool: ask which members it has. NATS delivers that question before the first request."""
        pool = self.pools[name] = PoolCalls(name, self._loop.time(), is_known=name in self._seen_pools)
        gauge("headwater_calls_in_flight", "Calls that wait for a pool.", lambda: len(pool.calls), pool=name)
        self._connection.try_publish(pool.probe, encode(pool.roll.start_round([])), self._inbox)
        return pool

    def _forget(self) -> None:
        """After a disconnect every call has failed, and the members have to be found again."""
        self.pools.clear()

    def _call_rolls(self) -> None:
        """Fail the calls past their deadline, close the last round and start the next one, for every pool with slow calls."""
        self._tick = None
        now = self._loop.time()
        self._expire_calls(now)
        self._was_late = now - self._tick_at > TICK_S and not self._was_late
        if self._was_late:
            # This process was held up, and its loop runs timers before it reads sockets: replies may lie there.
            for pool in self.pools.values():
                pool.roll.excuse_silence()
            self.watch_calls()
            return
        for pool in self.pools.values():
            for reply in pool.roll.close_round(now):
                self._fail_call(pool, reply)
            slow = []
            for reply, call in pool.calls.items():  # oldest first
                if call.sent_at > now - TICK_S:
                    break
                slow.append(reply)
            pool.by_name = pool.roll.answering(now) if pool.roll.must_name(now) else []
            is_asked = bool(slow or pool.by_name)
            query = pool.roll.start_round(slow, is_asked=is_asked)
            if is_asked:
                self._send_query(pool, query)
            if pool.calls or pool.by_name:
                self.watch_calls()

    def _expire_calls(self, now: float) -> None:
        for pool in self.pools.values():
            for call in [call for call in pool.calls.values() if call.expires_at <= now]:
                call.expire()

    def _send_query(self, pool: PoolCalls, query: RollCallQuery) -> None:
        self._connection.try_publish(pool.probe, encode(query), self._inbox)
        self.check_members(pool)

    def _check_member(self, pool: PoolCalls, member: str) -> None:
        """Check whether a member is connected. A living member never answers; NATS answers when it is gone."""
        inbox = self._connection.inbox

        def receive(message: NatsMessage) -> None:
            inbox.close(reply)
            if message.status == NO_RESPONDERS and member in pool.roll.members:
                observe(MemberGone(pool.name, member))
                for call in [*pool.roll.remove(member), *pool.remove_member(member)]:
                    self._fail_call(pool, call)

        reply = inbox.open(receive)
        self._connection.try_publish(subjects.member(member), b"", reply)
        self._loop.call_later(TICK_S * 4, inbox.close, reply)

    def _fail_call(self, pool: PoolCalls, reply: str) -> None:
        if (call := pool.calls.get(reply)) is not None:
            call.fail("lost", OutcomeUnknown("the worker that took this request is gone or does not answer"))

    def _receive(self, message: NatsMessage) -> None:
        """Record a member that announces itself, or its reply to a roll call."""
        if message.status:
            return
        with contextlib.suppress(InvalidMessage):
            reply = _decode_reply(message.payload)
            if (pool := self.pools.get(reply.pool)) is not None:
                if reply.member not in pool.roll.members and pool.calls:
                    self.check_members(pool)
                pool.first_heard.setdefault(reply.member, self._loop.time())
                pool.roll.record(reply)
                pool.is_known = True
                self._seen_pools.add(pool.name)
                pool.missing_since = None
                pool.back.set()
