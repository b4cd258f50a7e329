"""The connection of a process to the broker: connects, reconnects without limit, and drains.

- Nothing is buffered while the broker is away: `publish` raises `Unavailable` at once. So a message cannot be
  delivered after its client was answered that the request failed.
- Subscriptions survive a reconnect. `on_back` runs before they are sent to the server again, so that a member can
  announce itself before it gets its first request. `on_lost` runs as soon as the connection ends.
- Every process has one inbox (`broker/nats/inbox.py`): one wildcard subscription, with a token for each call, body or
  question that waits for messages. When the connection is lost, each open token gets a message with status
  `DISCONNECTED`. When the subject of a request lacks a subscriber, its token gets one with `NO_RESPONDERS`. A message
  to a closed token that names a reply subject is answered with an empty message.
- A linked resource is created at its first use and closed with the connection. The JetStream client of nats-py is one
  (`broker/jetstream/nats_py.py`).
- The connection moves off a server in lame-duck mode before that server stops (`broker/nats/lame_duck.py`).
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from itertools import count
from typing import Protocol, TypeVar, cast

from broker.backoff import Backoff
from broker.nats import protocol
from broker.nats.addresses import ServerAddress, parse_servers
from broker.nats.inbox import Inbox
from broker.nats.lame_duck import OVERLAP_S, Overlap
from broker.nats.protocol import DISCONNECTED, NO_RESPONDERS, Callback, NatsLink, NatsMessage
from broker.observability.observations import (
    BrokerBack,
    BrokerComplained,
    BrokerLeft,
    BrokerLost,
    CallbackFailed,
)
from broker.observability.observe import observe, traceback_of
from schemas.errors import Unavailable

_ATTEMPT_S = 1.0
_FIRST_PAUSE_S = 0.05
_PING_EVERY_S, _PING_CLUSTER_S = 5.0, 2.0
"""Seconds between PINGs to a server: the only one, and one of several. A silent one of several is left sooner, because another serves."""
_UNANSWERED_PINGS = 2
_DISCONNECTED = "the broker is not connected"


class LinkedResource(Protocol):
    """A resource that lives as long as a connection."""

    async def close(self) -> None:
        """Release the resource."""


C = TypeVar("C", bound=LinkedResource)


class NoResponders(Unavailable):
    """The broker answered that a subject lacks a subscriber."""

    def __init__(self, subject: str) -> None:
        super().__init__(f"nobody answers on {subject}")


class NatsSubscription:
    """A subscription to one subject, perhaps as a member of a queue group."""

    __slots__ = ("_connection", "id", "queue", "subject")

    def __init__(self, connection: "NatsConnection", id: str, subject: str, queue: str) -> None:
        self._connection = connection
        self.id = id
        self.subject = subject
        self.queue = queue

    @property
    def line(self) -> str:
        """The line of the protocol that creates it."""
        return f"SUB {self.subject} {self.queue} {self.id}" if self.queue else f"SUB {self.subject} {self.id}"

    def unsubscribe(self) -> None:
        """Unsubscribe. Messages that the server has already sent still arrive until the next `flush`."""
        self._connection.remove(self)


class NatsConnection:
    """A connection to the broker. Create one with `NatsConnection.open`."""

    def __init__(
        self, servers: list[ServerAddress], name: str, max_reconnect_wait: float, replicas: int = 1
    ) -> None:
        self._servers = servers
        self._addresses = {(server.host, server.port) for server in servers}
        self._name = name
        self.replicas = replicas
        """The number of servers that store each stream created over this connection."""
        self._max_wait_s = max_reconnect_wait
        self._link: NatsLink | None = None
        self._callbacks: dict[bytes, Callback] = {}
        self._subscriptions: dict[str, NatsSubscription] = {}
        self._ids = count(1)
        self._server = servers[0]
        self._reconnecting: asyncio.Task[None] | None = None
        self._moving: asyncio.Task[None] | None = None
        self._ping_timer: asyncio.TimerHandle | None = None
        self._pings: list[asyncio.Future[None]] = []
        self._is_closed = False
        self._rejection = ""
        self._connected = asyncio.Event()
        self._linked: dict[object, LinkedResource] = {}
        self.on_lost: list[Callable[[], None]] = []
        """Called as soon as the connection has ended."""
        self.on_back: list[Callable[[], None]] = []
        """Called after a reconnect, before the subscriptions are sent to the server."""
        self.on_cluster_change: list[Callable[[], None]] = []
        """Called when the server reports that a server joined or left its cluster."""
        self.inbox = Inbox(servers[0].user if servers[0].password else "", self.try_publish)
        self.subscribe(self.inbox.prefix + "*", self.inbox.take)

    @classmethod
    async def open(
        cls, url: str, *, name: str, max_reconnect_wait: float = 1.0, timeout: float = 10.0, replicas: int = 1
    ) -> "NatsConnection":
        """Connect to one of a comma separated list of servers; retry until `timeout` seconds are over.

        `name` is shown in the server's list of connections.
        Raises: ValueError for a malformed URL; Unavailable if no server accepts the connection within that time.
        """
        connection = cls(parse_servers(url), name, max_reconnect_wait, replicas)
        try:
            async with asyncio.timeout(timeout):
                await connection._connect()
                await connection.flush(timeout)  # the server has read the subscription of the inbox
        except TimeoutError:
            rejection = connection._rejection
            why = (
                f"refuses to let us in ({rejection})" if rejection else f"does not answer after {timeout:g} s"
            )
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
        """Whether the connected server requires TLS."""
        return self._link is not None and self._link.info.tls_required

    @property
    def name(self) -> str:
        """The name in the server's list of connections."""
        return self._name

    @property
    def servers(self) -> tuple[ServerAddress, ...]:
        """The configured servers, and those that they reported as members of their cluster."""
        return tuple(self._servers)

    def linked(self, kind: Callable[["NatsConnection"], C]) -> C:
        """Return this connection's resource of a kind: created at the first call, closed with the connection."""
        if kind not in self._linked:
            self._linked[kind] = kind(self)
        return cast(C, self._linked[kind])

    async def connected(self) -> None:
        """Wait until messages can be sent."""
        await self._connected.wait()

    @property
    def max_payload(self) -> int:
        """The largest size of a message in bytes."""
        return self._link.info.max_payload if self._link else protocol.NatsServerInfo().max_payload

    def publish(
        self, subject: str, payload: bytes, reply: str = "", head: bytes = b"", *, at_once: bool = False
    ) -> None:
        """Send a message now or not at all; `head` holds its NATS headers (`protocol.headers`).

        Messages of one loop iteration share a system call, which costs more than all the rest. `at_once` makes one of its
        own, but no loop iteration: for a message that is likely to be the only one.
        Raises: Unavailable while disconnected; MessageTooLong.
        """
        if self._link is None:
            raise Unavailable(_DISCONNECTED)
        self._link.publish(subject, payload, reply, head, at_once=at_once)

    def try_publish(self, subject: str, payload: bytes, reply: str = "", *, at_once: bool = False) -> bool:
        """Send a message that may be lost; return False if it could not be sent. `at_once`: as for `publish`."""
        if self._link is None:
            return False
        try:
            self._link.publish(subject, payload, reply, at_once=at_once)
        except Unavailable:
            return False
        return True

    async def request(
        self, subject: str, payload: bytes, timeout: float = 5.0, *, again_s: float = 0.0, head: bytes = b""
    ) -> NatsMessage:
        """Publish a message and return the first reply, for rare requests; those of the hot path go through `Calls`.

        With `again_s` it is published again after each such time without a reply: only for requests that may arrive
        twice. `head` holds its NATS headers. Raises: Unavailable; NoResponders if the subject lacks a subscriber.
        """
        reply: asyncio.Future[NatsMessage] = asyncio.get_running_loop().create_future()
        inbox = self.inbox.open(lambda message: None if reply.done() else reply.set_result(message))
        try:
            async with asyncio.timeout(timeout):
                self.publish(subject, payload, inbox, head)
                while again_s and not (await asyncio.wait([reply], timeout=again_s))[0]:
                    self.publish(subject, payload, inbox, head)
                message = await reply
        except TimeoutError:
            raise Unavailable(f"nobody answered on {subject} within {timeout:g} s") from None
        finally:
            self.inbox.close(inbox)
        if message.status == NO_RESPONDERS:
            raise NoResponders(subject)
        if message.status == DISCONNECTED:
            raise Unavailable(f"nobody answers on {subject}")
        return message

    def subscribe(self, subject: str, callback: Callback, queue: str = "") -> NatsSubscription:
        """Subscribe to a subject, as a member of a queue group if one is named.

        `callback` is a plain function, called in order of arrival; it must not block.
        """
        subscription = NatsSubscription(self, str(next(self._ids)), subject, queue)
        self._callbacks[subscription.id.encode()] = callback
        self._subscriptions[subscription.id] = subscription
        if self._link is not None:
            self._link.send(subscription.line)
        return subscription

    def remove(self, subscription: NatsSubscription) -> None:
        """Unsubscribe. The callback stays until the server has read the UNSUB, for the messages that it sent before."""
        if self._subscriptions.pop(subscription.id, None) and self._link is not None:
            self._link.send(f"UNSUB {subscription.id}")
            forget = self._callbacks.pop
            # The PONG arrives behind every message that the server sent before it read the UNSUB.
            self._link.ping().add_done_callback(lambda _: forget(subscription.id.encode(), None))
        else:
            self._callbacks.pop(subscription.id.encode(), None)

    async def flush(self, timeout: float = 5.0) -> None:
        """Wait until the server has read everything that was sent, and everything it sent before has arrived.

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
        """Wait while the server reads more slowly than this process sends."""
        if self._link is not None:
            await self._link.writable()

    async def drain(self) -> None:
        """Unsubscribe everywhere, handle what has arrived, send what is buffered, and close."""
        for subscription in list(self._subscriptions.values()):
            self.remove(subscription)
        with contextlib.suppress(Unavailable):
            await self.flush()
        await self.close()

    async def close(self) -> None:
        """Close now. Every open token of the inbox gets a message with status `DISCONNECTED`."""
        self._is_closed = True
        for resource in self._linked.values():
            await resource.close()
        link, self._link = self._link, None
        self._connected.clear()
        if self._ping_timer is not None:
            self._ping_timer.cancel()
        for task in (self._reconnecting, self._moving):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if link is not None:
            link.close()
            self._notify_lost()

    async def _move(self, leaving: NatsLink) -> None:
        """Move to another server while this one still answers.

        If no other server accepts the connection, the end of this one is handled like any lost connection.
        """
        if (target := await self._connect_elsewhere(leaving)) is None or leaving is not self._link:
            return
        link, server = target
        shared = frozenset(
            id.encode() for id, subscription in self._subscriptions.items() if not subscription.queue
        )
        overlap = Overlap(self._callbacks, shared)
        link.callbacks, leaving.callbacks = overlap.side(), overlap.side()
        moved = [subscription.id for subscription in self._subscriptions.values()]
        if self._ping_timer is not None:
            self._ping_timer.cancel()
        self._use(link, server)
        observe(BrokerLeft())
        with contextlib.suppress(OSError, TimeoutError, Unavailable):
            async with asyncio.timeout(_PING_EVERY_S):
                await link.ping()
                await asyncio.sleep(OVERLAP_S)
                for id in moved:
                    leaving.send(f"UNSUB {id}")
                await leaving.ping()  # everything it sent before has arrived
        link.callbacks = self._callbacks
        leaving.close()

    async def _connect_elsewhere(self, leaving: NatsLink) -> tuple[NatsLink, ServerAddress] | None:
        """Connect to a server that is not in lame-duck mode; None if there is none, or if the old connection ended meanwhile."""
        for server in [server for server in self._servers if server != self._server]:
            with contextlib.suppress(OSError, TimeoutError, protocol.ConnectRejected):
                async with asyncio.timeout(_ATTEMPT_S):
                    link = await protocol.connect(
                        server, self._name, self._callbacks, self._on_end, self._on_server_error
                    )
                if leaving is self._link and not self._is_closed and not link.info.ldm:
                    return link, server
                link.close()
        return None

    async def _connect(self) -> None:
        """Try the servers in turn, with a backoff after each round, until one accepts the connection."""
        backoff = Backoff(_FIRST_PAUSE_S, self._max_wait_s)
        while True:
            for server in self._servers:
                try:
                    async with asyncio.timeout(_ATTEMPT_S):
                        link = await protocol.connect(
                            server, self._name, self._callbacks, self._on_end, self._on_server_error
                        )
                except protocol.ConnectRejected as error:
                    self._rejection = error.reason
                except (OSError, TimeoutError):
                    self._rejection = ""
                except (
                    Exception
                ) as error:  # last resort: if this task ended, the process would stay without the broker
                    self._rejection = f"{type(error).__name__}: {error}"
                    observe(BrokerComplained(self._rejection))
                else:
                    self._use(link, server)
                    return
            await backoff.wait()

    def _use(self, link: NatsLink, server: ServerAddress) -> None:
        self._link, self._server = link, server
        link.on_leaving = lambda: self._leave(link)
        _call_all(self.on_back)
        for subscription in self._subscriptions.values():
            link.send(subscription.line)
        link.on_info = lambda: self._on_cluster_info(link, server)
        for address in link.info.connect_urls:
            self._add_server(address, server)
        self._pings.clear()
        self._ping_server()
        self._connected.set()

    def _on_cluster_info(self, link: NatsLink, server: ServerAddress) -> None:
        """Add servers that joined, and call `on_cluster_change`: the leaders of streams may have changed."""
        for address in link.info.connect_urls:
            self._add_server(address, server)
        _call_all(self.on_cluster_change)

    def _leave(self, link: NatsLink) -> None:
        """Start to move to another server."""
        self._moving = asyncio.get_running_loop().create_task(self._move(link))

    def _add_server(self, address: str, server: ServerAddress) -> None:
        """Add a server of the cluster, with the TLS setting and the credentials of the server that reported it."""
        host, _, port = address.rpartition(":")
        if port.isdigit() and (key := (host.strip("[]"), int(port))) not in self._addresses:
            self._addresses.add(key)
            self._servers.append(ServerAddress(*key, server.tls, server.user, server.password))

    def _ping_server(self) -> None:
        """Send a PING every few seconds, and abort the connection when two are unanswered.

        One unanswered PING is not enough: its PONG may be unread because this process itself was busy.
        """
        if self._link is None:
            return
        self._pings = [ping for ping in self._pings if not ping.done()]
        if len(self._pings) >= _UNANSWERED_PINGS:
            self._link.abort()
            return
        self._pings.append(self._link.ping())
        pause_s = _PING_CLUSTER_S if len(self._servers) > 1 else _PING_EVERY_S
        self._ping_timer = asyncio.get_running_loop().call_later(pause_s, self._ping_server)

    def _on_server_error(self, reason: str) -> None:
        observe(BrokerComplained(reason))

    def _on_end(self, link: NatsLink, error: Exception) -> None:
        if link is not self._link or self._is_closed:
            return
        self._link = None
        self._connected.clear()
        if self._ping_timer is not None:
            self._ping_timer.cancel()
        observe(BrokerLost(str(error)))
        self._notify_lost()
        self._reconnecting = asyncio.get_running_loop().create_task(self._reconnect())

    def _notify_lost(self) -> None:
        self.inbox.disconnect()
        _call_all(self.on_lost)

    async def _reconnect(self) -> None:
        started = time.monotonic()
        await self._connect()
        observe(BrokerBack(round(time.monotonic() - started, 3)))


def _call_all(hooks: list[Callable[[], None]]) -> None:
    """Call each hook. One that raises must keep neither the others nor the reconnect from running."""
    for hook in list(hooks):
        try:
            hook()
        except Exception as error:
            name = getattr(hook, "__qualname__", repr(hook))
            observe(CallbackFailed(name, repr(error), traceback_of(error)))
