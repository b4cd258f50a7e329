"""One connection of a process to the broker: it connects, reconnects without end, and drains.

- While the broker is away nothing is kept for later: `publish` raises `Unavailable` at once. What was never sent
  cannot happen after its client was told that it failed.
- Subscriptions survive a reconnect; `on_back` runs before they are made anew, so that a member can announce itself
  before it gets its first request. `on_lost` runs as soon as the connection ends.
- Every process has one inbox: one wildcard subscription, a token for each thing that waits (a call, a body, a
  question). When the connection is lost, each open token gets a message with status `DISCONNECTED`; when nobody
  listens on the subject it asked, one with `NO_RESPONDERS`. Who sends to a token that is closed, and names a subject
  for the reply, gets an empty message: nobody waits here any more.
- What else a process needs of the broker, and our own client does not speak, is a companion: made at its first use,
  closed with the connection (`broker/jetstream/nats_py.py`).
- A server that says that it is about to end is left for another one before it does (`broker/nats/lame_duck.py`).
"""

import asyncio
import contextlib
import random
import time
from collections.abc import Callable
from itertools import count
from typing import Protocol, TypeVar, cast

from broker.nats import protocol
from broker.nats.inbox import Inbox
from broker.nats.lame_duck import OVERLAP_S, Overlap
from broker.nats.protocol import DISCONNECTED, NO_RESPONDERS, Callback, Link, Message, Server
from broker.observability.observations import BrokerBack, BrokerComplained, BrokerLeft, BrokerLost
from broker.observability.observe import observe
from schemas.errors import Unavailable

_ATTEMPT_S = 1.0
_FIRST_PAUSE_S = 0.05
_PING_EVERY_S = 5.0
_UNANSWERED_PINGS = 2
_DISCONNECTED = "the broker is not connected"


class Companion(Protocol):
    """Something that lives as long as a connection."""

    async def close(self) -> None:
        """End it."""


C = TypeVar("C", bound=Companion)


class NoResponders(Unavailable):
    """The broker answered that nothing listens on a subject."""

    def __init__(self, subject: str) -> None:
        super().__init__(f"nobody answers on {subject}")


class Subscription:
    """One subject that is listened to."""

    __slots__ = ("_connection", "id", "queue", "subject")

    def __init__(self, connection: "Connection", id: str, subject: str, queue: str) -> None:
        self._connection = connection
        self.id = id
        self.subject = subject
        self.queue = queue

    @property
    def line(self) -> str:
        """The line of the protocol that makes it."""
        return f"SUB {self.subject} {self.queue} {self.id}" if self.queue else f"SUB {self.subject} {self.id}"

    def unsubscribe(self) -> None:
        """Stop listening. Messages that the server has sent already still arrive until the next `flush`."""
        self._connection.remove(self)


class Connection:
    """A connection to the broker. Make one with `Connection.open`."""

    def __init__(
        self, servers: list[Server], name: str, max_reconnect_wait: float, replicas: int = 1
    ) -> None:
        self._servers = servers
        self._known = {(server.host, server.port) for server in servers}
        self._name = name
        self.replicas = replicas
        """Servers that keep each stream made over this connection."""
        self._max_wait_s = max_reconnect_wait
        self._link: Link | None = None
        self._callbacks: dict[bytes, Callback] = {}
        self._subscriptions: dict[str, Subscription] = {}
        self._ids = count(1)
        self._server = servers[0]
        self._reconnecting: asyncio.Task[None] | None = None
        self._moving: asyncio.Task[None] | None = None
        self._watching: asyncio.TimerHandle | None = None
        self._pings: list[asyncio.Future[None]] = []
        self._is_closed = False
        self._refused = ""
        self._connected = asyncio.Event()
        self._companions: dict[object, Companion] = {}
        self.on_lost: list[Callable[[], None]] = []
        self.on_back: list[Callable[[], None]] = []
        self.on_cluster_change: list[Callable[[], None]] = []
        """Called when the server reports that another one joined or left its cluster."""
        self.inbox = Inbox(servers[0].user if servers[0].password else "", self.tell)
        self.subscribe(self.inbox.prefix + "*", self.inbox.take)

    @classmethod
    async def open(
        cls, url: str, *, name: str, max_reconnect_wait: float = 1.0, timeout: float = 10.0, replicas: int = 1
    ) -> "Connection":
        """Connect to one of a comma separated list of servers, trying again until `timeout` seconds are over.

        `name` is what the server shows in its list of connections.
        Raises: ValueError for a malformed URL; Unavailable if no server lets us in within that time.
        """
        connection = cls(protocol.parse_servers(url), name, max_reconnect_wait, replicas)
        try:
            async with asyncio.timeout(timeout):
                await connection._connect()
                await connection.flush(timeout)  # from here on the inbox hears what others send to it
        except TimeoutError:
            refused = connection._refused
            why = f"refuses to let us in ({refused})" if refused else f"does not answer after {timeout:g} s"
            await connection.close()
            raise Unavailable(f"the broker {why}") from None
        except BaseException:
            await connection.close()
            raise
        return connection

    @property
    def is_connected(self) -> bool:
        """Whether messages can be sent now."""
        return self._link is not None

    @property
    def is_secured(self) -> bool:
        """Whether the server that is connected demands TLS."""
        return self._link is not None and self._link.info.tls_required

    @property
    def name(self) -> str:
        """What the server shows in its list of connections."""
        return self._name

    @property
    def servers(self) -> tuple[Server, ...]:
        """The servers that were named, and those that they told of."""
        return tuple(self._servers)

    def companion(self, kind: Callable[["Connection"], C]) -> C:
        """Give this connection's one thing of a kind. It is made at the first call and closed with the connection."""
        if kind not in self._companions:
            self._companions[kind] = kind(self)
        return cast(C, self._companions[kind])

    async def connected(self) -> None:
        """Wait until messages can be sent."""
        await self._connected.wait()

    @property
    def max_payload(self) -> int:
        """Bytes that one message may have."""
        return self._link.info.max_payload if self._link else protocol.Info().max_payload

    def publish(self, subject: str, payload: bytes, reply: str = "", head: bytes = b"") -> None:
        """Send a message now or not at all; `head` is the text of its NATS headers (`protocol.headers`).

        Raises: Unavailable while disconnected; MessageTooLong.
        """
        if self._link is None:
            raise Unavailable(_DISCONNECTED)
        self._link.publish(subject, payload, reply, head)

    def tell(self, subject: str, payload: bytes, reply: str = "") -> bool:
        """Send a message whose loss its receiver can bear; give False if it could not be sent."""
        if self._link is not None:
            with contextlib.suppress(Unavailable):
                self._link.publish(subject, payload, reply)
                return True
        return False

    async def ask(
        self, subject: str, payload: bytes, timeout: float = 5.0, *, again_s: float = 0.0, head: bytes = b""
    ) -> Message:
        """Publish a message and return the first reply to it: for rare questions; requests go through `Calls`.

        With `again_s` it is published again after each such time without a reply: for questions that may arrive twice.
        `head` is the text of its NATS headers. Raises: Unavailable; NoResponders where nothing listens.
        """
        reply: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        inbox = self.inbox.open(lambda message: None if reply.done() else reply.set_result(message))
        try:
            async with asyncio.timeout(timeout):
                self.publish(subject, payload, inbox, head)
                while again_s and not (await asyncio.wait([reply], timeout=again_s))[0]:
                    self.publish(subject, payload, inbox, head)
                answer = await reply
        except TimeoutError:
            raise Unavailable(f"nobody answered on {subject} within {timeout:g} s") from None
        finally:
            self.inbox.close(inbox)
        if answer.status == NO_RESPONDERS:
            raise NoResponders(subject)
        if answer.status == DISCONNECTED:
            raise Unavailable(f"nobody answers on {subject}")
        return answer

    def subscribe(self, subject: str, callback: Callback, queue: str = "") -> Subscription:
        """Listen on a subject, as one of a queue group if it is named.

        `callback` is a plain function, called in the order of arrival; it must not block.
        """
        subscription = Subscription(self, str(next(self._ids)), subject, queue)
        self._callbacks[subscription.id.encode()] = callback
        self._subscriptions[subscription.id] = subscription
        if self._link is not None:
            self._link.send(subscription.line)
        return subscription

    def remove(self, subscription: Subscription) -> None:
        """Stop listening on what a subscription listens to."""
        if self._subscriptions.pop(subscription.id, None) and self._link is not None:
            self._link.send(f"UNSUB {subscription.id}")
            forget = self._callbacks.pop
            # What the server sent before it read the UNSUB is still on its way and is for this callback.
            self._link.ping().add_done_callback(lambda _: forget(subscription.id.encode(), None))
        else:
            self._callbacks.pop(subscription.id.encode(), None)

    async def flush(self, timeout: float = 5.0) -> None:
        """Wait until the server has read all that was sent, and all it sent before has arrived.

        Raises: Unavailable.
        """
        if self._link is None:
            raise Unavailable(_DISCONNECTED)
        try:
            async with asyncio.timeout(timeout):
                await self._link.ping()
        except (TimeoutError, OSError):
            raise Unavailable("the broker does not answer") from None

    async def writable(self) -> None:
        """Wait while the server takes bytes more slowly than they are sent."""
        if self._link is not None:
            await self._link.writable()

    async def drain(self) -> None:
        """Stop listening, handle what has arrived, send what is due and close."""
        for subscription in list(self._subscriptions.values()):
            self.remove(subscription)
        with contextlib.suppress(Unavailable):
            await self.flush()
        await self.close()

    async def close(self) -> None:
        """Close now. Everything that waits for an answer is told that it will not come."""
        self._is_closed = True
        for companion in self._companions.values():
            await companion.close()
        link, self._link = self._link, None
        self._connected.clear()
        if self._watching is not None:
            self._watching.cancel()
        for task in (self._reconnecting, self._moving):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if link is not None:
            link.close()
            self._tell_lost()

    async def _move(self, leaving: Link) -> None:
        """Go to another server while this one still answers. If none lets us in, its end is as any other."""
        if (found := await self._another(leaving)) is None or leaving is not self._link:
            return
        link, server = found
        shared = frozenset(id.encode() for id, each in self._subscriptions.items() if not each.queue)
        overlap = Overlap(self._callbacks, shared)
        link.callbacks, leaving.callbacks = overlap.side(), overlap.side()
        moved = [each.id for each in self._subscriptions.values()]
        if self._watching is not None:
            self._watching.cancel()
        self._begin(link, server)
        observe(BrokerLeft())
        with contextlib.suppress(OSError, TimeoutError, Unavailable):
            async with asyncio.timeout(_PING_EVERY_S):
                await link.ping()
                await asyncio.sleep(OVERLAP_S)
                for id in moved:
                    leaving.send(f"UNSUB {id}")
                await leaving.ping()  # what it sent before has arrived
        link.callbacks = self._callbacks
        leaving.close()

    async def _another(self, leaving: Link) -> tuple[Link, Server] | None:
        """Connect to a server that is not about to end; None if there is none, or nobody needs it any more."""
        for server in [each for each in self._servers if each != self._server]:
            with contextlib.suppress(OSError, TimeoutError, protocol.Refused):
                async with asyncio.timeout(_ATTEMPT_S):
                    link = await protocol.connect(
                        server, self._name, self._callbacks, self._on_end, self._on_complaint
                    )
                if leaving is self._link and not self._is_closed and not link.info.ldm:
                    return link, server
                link.close()
        return None

    async def _connect(self) -> None:
        """Try the servers in turn, with longer and longer pauses, until one lets us in."""
        pause = _FIRST_PAUSE_S
        while True:
            for server in self._servers:
                try:
                    async with asyncio.timeout(_ATTEMPT_S):
                        link = await protocol.connect(
                            server, self._name, self._callbacks, self._on_end, self._on_complaint
                        )
                except protocol.Refused as error:
                    self._refused = error.words
                except (OSError, TimeoutError):
                    self._refused = ""
                else:
                    self._begin(link, server)
                    return
            await asyncio.sleep(pause * random.uniform(0.8, 1.0))
            pause = min(pause * 2, self._max_wait_s)

    def _begin(self, link: Link, server: Server) -> None:
        self._link, self._server = link, server
        link.on_leaving = lambda: self._leave(link)
        for told in list(self.on_back):
            told()
        for subscription in self._subscriptions.values():
            link.send(subscription.line)
        link.on_info = lambda: self._hear_of_cluster(link, server)
        for address in link.info.connect_urls:
            self._learn(address, server)
        self._pings.clear()
        self._watch()
        self._connected.set()

    def _hear_of_cluster(self, link: Link, server: Server) -> None:
        """Learn of servers that joined, and report that one joined or left: what it led, another one leads now."""
        for address in link.info.connect_urls:
            self._learn(address, server)
        for told in list(self.on_cluster_change):
            told()

    def _leave(self, link: Link) -> None:
        """Begin to go elsewhere. A server that is alone has nobody to send us to."""
        self._moving = asyncio.get_running_loop().create_task(self._move(link))

    def _learn(self, address: str, server: Server) -> None:
        """Remember another server of the cluster, reached like the one that told of it."""
        host, _, port = address.rpartition(":")
        if port.isdigit() and (key := (host.strip("[]"), int(port))) not in self._known:
            self._known.add(key)
            self._servers.append(Server(*key, server.tls, server.user, server.password))

    def _watch(self) -> None:
        """Ask for a sign of life now and then; a server that gives none is left.

        Two unanswered questions are needed: one may stand unread while this process itself was busy.
        """
        if self._link is None:
            return
        self._pings = [ping for ping in self._pings if not ping.done()]
        if len(self._pings) >= _UNANSWERED_PINGS:
            self._link.abort()
            return
        self._pings.append(self._link.ping())
        self._watching = asyncio.get_running_loop().call_later(_PING_EVERY_S, self._watch)

    def _on_complaint(self, words: str) -> None:
        observe(BrokerComplained(words))

    def _on_end(self, link: Link, error: Exception) -> None:
        if link is not self._link or self._is_closed:
            return
        self._link = None
        self._connected.clear()
        if self._watching is not None:
            self._watching.cancel()
        observe(BrokerLost(str(error)))
        self._tell_lost()
        self._reconnecting = asyncio.get_running_loop().create_task(self._reconnect())

    def _tell_lost(self) -> None:
        self.inbox.lose()
        for told in list(self.on_lost):
            told()

    async def _reconnect(self) -> None:
        began = time.monotonic()
        await self._connect()
        observe(BrokerBack(round(time.monotonic() - began, 3)))
