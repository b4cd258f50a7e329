"""The connection of a process to the broker: connects, reconnects without limit, and drains.

- Nothing is buffered while the broker is away: `publish` raises `Unavailable` at once. So a message cannot be
  delivered after its client was answered that the request failed.
- Subscriptions survive a reconnect (`broker/nats/server_link.py`).
- Every process has one inbox (`broker/nats/inbox.py`): one wildcard subscription, with a token for each call, body or
  question that waits for messages. When the connection is lost, each open token gets a message with status
  `DISCONNECTED`. When the subject of a request lacks a subscriber, its token gets one with `NO_RESPONDERS`. A message
  to a closed token that names a reply subject is answered with an empty message.
- A linked resource is created at its first use and closed with the connection. The JetStream client of nats-py is one
  (`broker/jetstream/nats_py.py`).
"""

import asyncio
import contextlib
from collections.abc import Callable
from itertools import count
from typing import Protocol, TypeVar, cast

from broker.nats import protocol
from broker.nats.addresses import ServerAddress, parse_servers
from broker.nats.inbox import Inbox
from broker.nats.protocol import DISCONNECTED, NO_RESPONDERS, Callback, NatsMessage
from broker.nats.server_link import ServerLink
from broker.nats.subscription import NatsSubscription
from schemas.errors import Unavailable

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


class NatsConnection:
    """A connection to the broker. Create one with `NatsConnection.open`."""

    def __init__(
        self, servers: list[ServerAddress], name: str, max_reconnect_wait: float, replicas: int = 1
    ) -> None:
        self._name = name
        self.replicas = replicas
        """The number of servers that store each stream created over this connection."""
        self._callbacks: dict[bytes, Callback] = {}
        self._subscriptions: dict[str, NatsSubscription] = {}
        self._ids = count(1)
        self._linked: dict[object, LinkedResource] = {}
        self._closed: list[LinkedResource] = []
        self._server = ServerLink(servers, name, max_reconnect_wait, self._subscriptions, self._callbacks)
        self.on_lost = self._server.on_lost
        """Called as soon as the connection has ended."""
        self.on_back = self._server.on_back
        """Called after a reconnect, before the subscriptions are sent to the server."""
        self.on_cluster_change = self._server.on_cluster_change
        """Called when the server reports that a server joined or left its cluster."""
        self.inbox = Inbox(servers[0].user if servers[0].password else "", self.try_publish)
        self.on_lost.append(self.inbox.disconnect)
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
                await connection._server.connect()
                await connection.flush(timeout)  # the server has read the subscription of the inbox
        except TimeoutError:
            rejection = connection._server.rejection
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
        return self._server.link is not None

    @property
    def is_secured(self) -> bool:
        """Whether the connected server requires TLS."""
        return self._server.link is not None and self._server.link.info.tls_required

    @property
    def name(self) -> str:
        """The name in the server's list of connections."""
        return self._name

    @property
    def servers(self) -> tuple[ServerAddress, ...]:
        """The configured servers, and those that they reported as members of their cluster."""
        return tuple(self._server.servers)

    def linked(self, kind: Callable[["NatsConnection"], C]) -> C:
        """Return this connection's resource of a kind: created at the first call, closed with the connection."""
        if kind not in self._linked:
            self._linked[kind] = kind(self)
        return cast(C, self._linked[kind])

    async def connected(self) -> None:
        """Wait until messages can be sent."""
        await self._server.connected.wait()

    @property
    def max_payload(self) -> int:
        """The largest size of a message in bytes."""
        return (
            self._server.link.info.max_payload if self._server.link else protocol.NatsServerInfo().max_payload
        )

    def publish(
        self, subject: str, payload: bytes, reply: str = "", head: bytes = b"", *, at_once: bool = False
    ) -> None:
        """Send a message now or not at all; `head` holds its NATS headers (`protocol.headers`).

        Messages of one loop iteration share a system call, which costs more than all the rest. `at_once` makes one of its
        own, but no loop iteration: for a message that is likely to be the only one.
        Raises: Unavailable while disconnected; MessageTooLong.
        """
        if self._server.link is None:
            raise Unavailable(_DISCONNECTED)
        self._server.link.publish(subject, payload, reply, head, at_once=at_once)

    def try_publish(self, subject: str, payload: bytes, reply: str = "", *, at_once: bool = False) -> bool:
        """Send a message that may be lost; return False if it could not be sent. `at_once`: as for `publish`."""
        if self._server.link is None:
            return False
        try:
            self._server.link.publish(subject, payload, reply, at_once=at_once)
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
        subscription = NatsSubscription(self.remove, str(next(self._ids)), subject, queue)
        self._callbacks[subscription.id.encode()] = callback
        self._subscriptions[subscription.id] = subscription
        if self._server.link is not None:
            self._server.link.send(subscription.line)
        return subscription

    def remove(self, subscription: NatsSubscription) -> None:
        """Unsubscribe. The callback stays until the server has read the UNSUB, for the messages that it sent before."""
        if self._subscriptions.pop(subscription.id, None) and self._server.link is not None:
            self._server.link.send(f"UNSUB {subscription.id}")
            forget = self._callbacks.pop
            # The PONG arrives behind every message that the server sent before it read the UNSUB.
            self._server.link.ping().add_done_callback(lambda _: forget(subscription.id.encode(), None))
        else:
            self._callbacks.pop(subscription.id.encode(), None)

    async def flush(self, timeout: float = 5.0) -> None:
        """Wait until the server has read everything that was sent, and everything it sent before has arrived.

        Raises: Unavailable.
        """
        if self._server.link is None:
            raise Unavailable(_DISCONNECTED)
        try:
            async with asyncio.timeout(timeout):
                await self._server.link.ping()
        except (TimeoutError, OSError):
            raise Unavailable("the broker does not answer") from None

    async def writable(self) -> None:
        """Wait while the server reads more slowly than this process sends."""
        if self._server.link is not None:
            await self._server.link.writable()

    async def drain(self) -> None:
        """Unsubscribe everywhere, handle what has arrived, send what is buffered, and close."""
        for subscription in list(self._subscriptions.values()):
            self.remove(subscription)
        with contextlib.suppress(Unavailable):
            await self.flush()
        await self.close()

    async def close(self) -> None:
        """Close now. Every open token of the inbox gets a message with status `DISCONNECTED`."""
        self._server.is_closed = True
        try:
            while left := [resource for resource in self._linked.values() if resource not in self._closed]:
                self._closed.append(left[0])  # it stays linked: who asks for it must not get a new one
                await left[0].close()
        finally:
            await self._server.close()
