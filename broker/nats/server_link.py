"""The link of a process to one server of the broker's cluster: it is made, watched, moved and made again without limit.

- `on_back` runs after a reconnect, before the subscriptions are sent to the server again, so that a member can announce
  itself before it gets its first request. `on_lost` runs as soon as the link ends.
- A server that answers no PING is left: a silent one of several sooner than the only one.
- The link moves off a server in lame-duck mode before that server stops (`broker/nats/lame_duck.py`).
"""

import asyncio
import contextlib
import ssl
import time
from collections.abc import Callable, Mapping

from broker.backoff import Backoff
from broker.nats import protocol
from broker.nats.addresses import ServerAddress
from broker.nats.lame_duck import OVERLAP_S, Overlap
from broker.nats.protocol import Callback, NatsLink
from broker.nats.subscription import NatsSubscription
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


class ServerLink:
    """Keeps one link open. `subscriptions`, by id, are sent to each server; `callbacks` get their messages."""

    def __init__(
        self,
        servers: list[ServerAddress],
        name: str,
        max_wait_s: float,
        subscriptions: Mapping[str, NatsSubscription],
        callbacks: dict[bytes, Callback],
    ) -> None:
        self.servers = servers
        """The configured servers, and those that the server reported last as members of its cluster."""
        self.link: NatsLink | None = None
        """The link to the present server; None while there is none."""
        self.rejection = ""
        """Why the last server rejected the connection; empty if none did."""
        self.connected = asyncio.Event()
        self.on_lost: list[Callable[[], None]] = []
        self.on_back: list[Callable[[], None]] = []
        self.on_cluster_change: list[Callable[[], None]] = []
        """Called when the server reports that a server joined or left its cluster."""
        self._configured = tuple(servers)
        self._name, self._max_wait_s = name, max_wait_s
        self._subscriptions, self._callbacks = subscriptions, callbacks
        self._server = servers[0]
        self._reconnecting: asyncio.Task[None] | None = None
        self._moving: asyncio.Task[None] | None = None
        self._ping_timer: asyncio.TimerHandle | None = None
        self._pings: list[asyncio.Future[None]] = []
        self.is_closed = False
        """Whether the end of the link is final: none is made after it."""

    async def connect(self) -> None:
        """Try the servers in turn, with a backoff after each round, until one accepts the connection."""
        backoff = Backoff(_FIRST_PAUSE_S, self._max_wait_s)
        while True:
            for server in self.servers:
                try:
                    async with asyncio.timeout(_ATTEMPT_S):
                        link = await protocol.connect(
                            server, self._name, self._callbacks, self._on_end, self._on_server_error
                        )
                except protocol.ConnectRejected as error:
                    self.rejection = error.reason
                except (OSError, TimeoutError) as error:
                    # A certificate that nobody vouches for stays what it is; a server that is away may come back.
                    self.rejection = str(error) if isinstance(error, ssl.SSLError) else ""
                except (
                    Exception
                ) as error:  # last resort: if this task ended, the process would stay without the broker
                    self.rejection = f"{type(error).__name__}: {error}"
                    observe(BrokerComplained(self.rejection))
                else:
                    self._use(link, server)
                    return
            await backoff.wait()

    async def close(self) -> None:
        """Close the link and make no other one."""
        self.is_closed = True
        link, self.link = self.link, None
        self.connected.clear()
        if self._ping_timer is not None:
            self._ping_timer.cancel()
        for task in (self._reconnecting, self._moving):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if link is not None:
            link.close()
            _call_all(self.on_lost)

    async def _move(self, leaving: NatsLink) -> None:
        """Move to another server while this one still answers.

        If no other server accepts the connection, the end of this one is handled like any lost connection.
        """
        if (target := await self._connect_elsewhere(leaving)) is None or leaving is not self.link:
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
        for server in [server for server in self.servers if server != self._server]:
            with contextlib.suppress(OSError, TimeoutError, protocol.ConnectRejected):
                async with asyncio.timeout(_ATTEMPT_S):
                    link = await protocol.connect(
                        server, self._name, self._callbacks, self._on_end, self._on_server_error
                    )
                if leaving is self.link and not self.is_closed and not link.info.ldm:
                    return link, server
                link.close()
        return None

    def _use(self, link: NatsLink, server: ServerAddress) -> None:
        self.link, self._server = link, server
        link.on_leaving = lambda: self._leave(link)
        _call_all(self.on_back)
        for subscription in self._subscriptions.values():
            link.send(subscription.line)
        link.on_info = lambda: self._on_cluster_info(link, server)
        self._use_cluster(link, server)
        self._pings.clear()
        self._ping_server()
        self.connected.set()

    def _on_cluster_info(self, link: NatsLink, server: ServerAddress) -> None:
        """Note which servers there are now, and call `on_cluster_change`: the leaders of streams may have changed."""
        self._use_cluster(link, server)
        _call_all(self.on_cluster_change)

    def _leave(self, link: NatsLink) -> None:
        """Start to move to another server."""
        self._moving = asyncio.get_running_loop().create_task(self._move(link))

    def _use_cluster(self, link: NatsLink, server: ServerAddress) -> None:
        """Keep the configured servers, this one, and those that it reports, with its TLS setting and credentials.

        Those that left are not tried again: servers whose addresses change at every start would become ever more. A server that
        reports none, not even itself, does not advertise its cluster.
        """
        known = {(each.host, each.port): each for each in (*self._configured, server)}
        for address in link.info.connect_urls:
            host, _, port = address.rpartition(":")
            if port.isdigit():
                key = (host.strip("[]"), int(port))
                known.setdefault(key, ServerAddress(*key, server.tls, server.user, server.password))
        if link.info.connect_urls:
            self.servers[:] = known.values()

    def _ping_server(self) -> None:
        """Send a PING every few seconds, and abort the connection when two are unanswered.

        One unanswered PING is not enough: its PONG may be unread because this process itself was busy.
        """
        if self.link is None:
            return
        self._pings = [ping for ping in self._pings if not ping.done()]
        if len(self._pings) >= _UNANSWERED_PINGS:
            self.link.abort()
            return
        self._pings.append(self.link.ping())
        pause_s = _PING_CLUSTER_S if len(self.servers) > 1 else _PING_EVERY_S
        self._ping_timer = asyncio.get_running_loop().call_later(pause_s, self._ping_server)

    def _on_server_error(self, reason: str) -> None:
        observe(BrokerComplained(reason))

    def _on_end(self, link: NatsLink, error: Exception) -> None:
        if link is not self.link or self.is_closed:
            return
        self.link = None
        self.connected.clear()
        if self._ping_timer is not None:
            self._ping_timer.cancel()
        observe(BrokerLost(str(error)))
        _call_all(self.on_lost)
        self._reconnecting = asyncio.get_running_loop().create_task(self._reconnect())

    async def _reconnect(self) -> None:
        started = time.monotonic()
        await self.connect()
        observe(BrokerBack(round(time.monotonic() - started, 3)))


def _call_all(hooks: list[Callable[[], None]]) -> None:
    """Call each hook. One that raises must keep neither the others nor the reconnect from running."""
    for hook in list(hooks):
        try:
            hook()
        except Exception as error:
            name = getattr(hook, "__qualname__", repr(hook))
            observe(CallbackFailed(name, repr(error), traceback_of(error)))
