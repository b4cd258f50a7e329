"""The NATS client protocol on one TCP connection: bytes in, messages out. Reconnecting is done in
`broker/nats/connection.py`.

Why the hot path does not use the library nats-py: the CPU time. An empty exchange through it costs 39 us, a whole
request through this module 27 us (tests/bench/broker_hop.py, 32 at a time), and importing it loads an HTTP client
into every worker. Its other differences could be configured away, as `broker/jetstream/nats_py.py` does for durable
work: it buffers what is published while disconnected (a write must never be sent after its client stopped waiting),
and it closes for good on errors it does not know.

Theory of operation (docs.nats.io, "Client Protocol"). Lines end in CRLF, payloads have their size in the line:

    server -> client                                   client -> server
    INFO {json}                                        CONNECT {json}
    MSG subject sid [reply] size, payload              PUB subject [reply] size, payload
    HMSG subject sid [reply] head size, head, payload  SUB subject [queue] sid   UNSUB sid
    PING  PONG  +OK  -ERR 'words'                      HPUB subject [reply] head size, head, payload   PING  PONG

Of headers only the status is read: `NATS/1.0 503` on a reply means that the request's subject lacks a subscriber. A
payload that arrives in pieces is joined once, when its last byte is there. Callbacks are plain functions that are
called while the bytes are parsed, without a queue, a task or a further copy of the payload between the socket and its
receiver.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

import msgspec
from msgspec import Struct

from broker.nats.addresses import ServerAddress
from broker.observability.observations import CallbackFailed
from broker.observability.observe import observe, traceback_of
from schemas.errors import ApiError, Unavailable

NO_RESPONDERS = 503
"""Status of a reply that NATS itself sends: the subject lacks a subscriber."""
DISCONNECTED = 599
"""Status of the message that every open inbox gets when the connection is lost (`broker/nats/connection.py`)."""

_CRLF = b"\r\n"
_MAX_LINE = 256 * 1024
_SMALL = 16 * 1024
_HIGH_WATER = 4 * 1024 * 1024
_MAX_UNSENT = 64 * 1024 * 1024


class NatsMessage(Struct, gc=False):
    """A received message. `status` is 0, or the one in the NATS headers."""

    subject: str
    reply: str
    payload: bytes
    status: int = 0


Callback = Callable[[NatsMessage], None]
LostCallback = Callable[["NatsLink", Exception], None]


class CallbackTable(Protocol):
    """Maps subscription ids to callbacks: a dictionary, or the table of an overlap (`broker/nats/lame_duck.py`)."""

    def get(self, id: bytes, /) -> Callback | None: ...


class MessageTooLong(ApiError):
    """A message exceeds the broker's limit. Bodies travel in chunks, so its head is too long."""

    status = 431

    def __init__(self, size_bytes: int, limit: int) -> None:
        super().__init__(f"the head of the message is too long ({size_bytes} bytes, {limit} are allowed)")
        self.size_bytes = size_bytes
        self.limit = limit


class ConnectRejected(Exception):
    """The server rejected the sign-in; `reason` is its own text."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NatsServerInfo(Struct, frozen=True):
    """The members of a server's INFO that are used here."""

    max_payload: int = 1024 * 1024
    tls_required: bool = False
    connect_urls: list[str] = []
    ldm: bool = False
    """The server is in lame-duck mode: it will stop and asks its clients to move to other servers."""


async def connect(
    server: ServerAddress,
    name: str,
    callbacks: dict[bytes, Callback],
    on_lost: LostCallback,
    on_error: Callable[[str], None],
) -> "NatsLink":
    """Connect and sign in to one server. `callbacks` maps subscription ids to callbacks and is read for every message.

    `on_lost` is called once when the connection ends for any reason, `on_error` for each `-ERR`. The caller sets the
    time limit. Raises: OSError, ConnectRejected.
    """
    loop = asyncio.get_running_loop()
    link = NatsLink(callbacks, on_lost, on_error)
    await loop.create_connection(lambda: link, server.host, server.port)
    try:
        info = await link.greeted
        if info.tls_required or server.tls:
            await link.secure(server.host)
        link.sign_in(server, name)
        await link.ping()
    except BaseException:
        link.abort()
        raise
    if link.is_ended:  # between its PONG and now
        raise ConnectionResetError("the server closed the connection")
    link.is_ready = True
    return link


def headers(values: Mapping[str, str]) -> bytes:
    """Return the bytes of NATS headers. Names and values must not contain line ends."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in values.items())
    return f"NATS/1.0\r\n{lines}\r\n".encode()


class NatsLink(asyncio.Protocol):
    """One TCP connection to a nats-server."""

    def __init__(
        self, callbacks: dict[bytes, Callback], on_lost: LostCallback, on_error: Callable[[str], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.greeted: asyncio.Future[NatsServerInfo] = self._loop.create_future()
        self.info = NatsServerInfo()
        self.is_ready = False
        self.on_leaving: Callable[[], None] | None = None
        """Called once, when the server enters lame-duck mode."""
        self.on_info: Callable[[], None] | None = None
        """Called when the server reports a change in its cluster."""
        self.callbacks: CallbackTable = callbacks
        self._on_lost = on_lost
        self._on_error = on_error
        self._transport: asyncio.Transport | None = None
        self._pongs: deque[asyncio.Future[None]] = deque()
        self._unsent: list[bytes] = []
        self._rest = b""
        self._pieces: list[bytes] = []
        self._missing = 0
        self._end_reason = ""
        self._writable: asyncio.Future[None] | None = None

    @property
    def is_ended(self) -> bool:
        """Whether the connection is over."""
        return self._transport is None

    # Sending

    def publish(
        self, subject: str, payload: bytes, reply: str, head: bytes = b"", *, at_once: bool = False
    ) -> None:
        """Send a message, with NATS headers if `head` is their text (`headers`).

        `at_once`: without waiting for what else this loop iteration sends, because nothing else is expected.
        Raises: MessageTooLong; Unavailable if the server takes no bytes any more.
        """
        size = len(head) + len(payload)
        transport = self._transport
        if size > self.info.max_payload:
            raise MessageTooLong(size, self.info.max_payload)
        if transport is None or (self._writable and transport.get_write_buffer_size() > _MAX_UNSENT):
            raise Unavailable("the broker does not take messages")
        if head:
            line = f"HPUB {subject} {reply} {len(head)} {size}\r\n".encode() + head
        else:
            line = f"PUB {subject} {reply} {size}\r\n".encode()
        if size < _SMALL:
            data = b"%b%b\r\n" % (line, payload)
            if at_once and not self._unsent:
                transport.write(data)
            else:
                self._write(data)
        else:
            self._flush()
            transport.writelines((line, payload, _CRLF))

    def send(self, line: str) -> None:
        """Send a line of the protocol."""
        self._write(f"{line}\r\n".encode())

    def _write(self, data: bytes) -> None:
        """Collect the bytes of one loop iteration and send them with one system call, which costs more than all the rest."""
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(data)

    def _flush(self) -> None:
        if self._unsent and self._transport is not None:
            self._transport.write(b"".join(self._unsent))
        self._unsent.clear()

    def ping(self) -> asyncio.Future[None]:
        """Send a PING; the returned future is done when the server has read everything that was sent before."""
        pong: asyncio.Future[None] = self._loop.create_future()
        if self._transport is None:
            pong.set_exception(Unavailable("the broker is not connected"))
        else:
            self._pongs.append(pong)
            self.send("PING")
        return pong

    async def writable(self) -> None:
        """Wait until the unsent bytes are below the high-water mark."""
        if self._writable is not None:
            await asyncio.shield(self._writable)

    def sign_in(self, server: ServerAddress, name: str) -> None:
        """Send CONNECT."""
        options: dict[str, object] = {
            "name": name, "lang": "python", "version": "1", "protocol": 1,
            "verbose": False, "pedantic": False, "echo": True, "headers": True, "no_responders": True,
        }  # fmt: skip
        if server.user and server.password:
            options |= {"user": server.user, "pass": server.password.reveal()}
        elif server.user:
            options["auth_token"] = server.user
        self.send(f"CONNECT {msgspec.json.encode(options).decode()}")

    async def secure(self, host: str) -> None:
        """Upgrade the connection to TLS, with the system's certificates."""
        context = await self._loop.run_in_executor(None, ssl.create_default_context)
        if self._transport is None:  # it ended meanwhile
            raise ConnectionResetError("the connection ended before TLS was set up")
        secured = await self._loop.start_tls(self._transport, self, context, server_hostname=host)
        if secured is None:
            raise ConnectionResetError("the connection ended while TLS was set up")
        self._transport = secured

    def abort(self) -> None:
        """Close the connection at once; unsent bytes are lost."""
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """Close the connection when everything is sent."""
        self._flush()
        if self._transport is not None:
            self._transport.close()

    # Receiving

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(
            asyncio.Transport, transport
        )  # uvloop's transport has the same methods but not this base class
        self._transport.set_write_buffer_limits(high=_HIGH_WATER)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self.resume_writing()
        error = (
            ConnectRejected(self._end_reason)
            if self._end_reason
            else exc or ConnectionResetError("the server closed the connection")
        )
        waiting: list[asyncio.Future[Any]] = [self.greeted, *self._pongs]
        for future in waiting:
            if not future.done():
                future.set_exception(error)
                future.exception()  # mark it as retrieved: it may be without a waiter
        self._pongs.clear()
        self._on_lost(self, error)

    def pause_writing(self) -> None:
        if self._writable is None:
            self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._writable is not None:
            self._writable.set_result(None)
            self._writable = None

    def data_received(self, data: bytes) -> None:
        # Hot path: every byte of every message passes this loop. Slices copy, so a payload is sliced exactly once.
        if self._missing > 0:
            self._pieces.append(data)
            self._missing -= len(data)
            if self._missing > 0:
                return
            data = b"".join(self._pieces)
            self._pieces.clear()
        elif self._rest:
            data = self._rest + data
            self._rest = b""
        at, size, callbacks = 0, len(data), self.callbacks
        while at < size:
            end = data.find(_CRLF, at)
            if end < 0:
                self._store_partial_line(data[at:])
                return
            kind = data[at : at + 4]
            if kind != b"MSG " and kind != b"HMSG":
                self._control(data[at:end])
                at = end + 2
                continue
            words = data[at:end].split(b" ")
            stop = end + 2 + int(words[-1])
            if stop + 2 > size:
                self._pieces.append(data[at:])
                self._missing = stop + 2 - size
                return
            callback = callbacks.get(words[2])
            if callback is not None:
                self._deliver(callback, words, data, end + 2, stop)
            at = stop + 2

    def _deliver(self, callback: Callback, words: list[bytes], data: bytes, start: int, stop: int) -> None:
        status = 0
        if words[0] == b"MSG":
            reply = words[3].decode() if len(words) == 5 else ""
        else:
            reply = words[3].decode() if len(words) == 6 else ""
            status = _status(data[start : start + int(words[-2])])
            start += int(words[-2])
        subject = words[1].decode()
        try:
            callback(NatsMessage(subject, reply, data[start:stop], status))
        except Exception as error:  # last resort: one failing callback must not end the connection
            observe(CallbackFailed(subject, repr(error), traceback_of(error)))

    def _store_partial_line(self, begun: bytes) -> None:
        self._rest = begun
        if len(begun) > _MAX_LINE:
            self._end_reason = "a line exceeds the limit"
            self.abort()

    def _control(self, line: bytes) -> None:
        kind, _, detail = line.partition(b" ")
        match kind.upper():
            case b"PING":
                self.send("PONG")
            case b"PONG":
                if self._pongs:
                    pong = self._pongs.popleft()
                    if not pong.done():
                        pong.set_result(None)
            case b"INFO":
                self._greeting(detail)
            case b"-ERR":
                reason = detail.decode(errors="replace").strip("' ")
                if not self.is_ready:
                    self._end_reason = reason
                elif reason.lower() not in ("stale connection",):
                    self._on_error(reason)

    def _greeting(self, detail: bytes) -> None:
        try:
            self.info = msgspec.json.decode(detail, type=NatsServerInfo)
        except msgspec.DecodeError:
            self._end_reason = "the peer is not a nats-server"
            self.abort()
            return
        if not self.greeted.done():
            self.greeted.set_result(self.info)
        elif self.info.ldm and self.on_leaving is not None:
            callback, self.on_leaving = self.on_leaving, None
            callback()
        elif self.on_info is not None:
            self.on_info()


def _status(head: bytes) -> int:
    """Parse the status from the first line of NATS headers: `NATS/1.0 503` or, without one, `NATS/1.0`."""
    digits = head[9:12]
    return int(digits) if digits.isdigit() else 0
