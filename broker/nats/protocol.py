"""The NATS client protocol on one TCP connection: bytes in, messages out. Nothing here reconnects.

Why not the client library: it keeps what is published while disconnected and sends it later (a write must never be
sent after its client stopped waiting), it gives up for good on errors it does not know, an empty exchange through it
costs half as much CPU again as a whole request through this (tests/bench/broker_hop.py: 39 us against 27 with 32
at a time), and importing it brings an HTTP client into every worker. What is durable goes through the library
(`broker/jetstream/nats_py.py`).

Theory of operation (docs.nats.io, "Client Protocol"). Lines end in CRLF, payloads have their size in the line:

    server -> client                                   client -> server
    INFO {json}                                        CONNECT {json}
    MSG subject sid [reply] size, payload              PUB subject [reply] size, payload
    HMSG subject sid [reply] head size, head, payload  SUB subject [queue] sid   UNSUB sid
    PING  PONG  +OK  -ERR 'words'                      HPUB subject [reply] head size, head, payload   PING  PONG

Of headers only the status is read: `NATS/1.0 503` on a reply means that nobody listens on the subject asked.
A payload that arrives in pieces is put together once, when its last byte is there. Callbacks are plain functions,
called as the bytes arrive: no queue, no task, no copy of the payload between the socket and the one it is for.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct

from broker.observability.observations import CallbackFailed
from broker.observability.observe import observe, traceback_of
from schemas.errors import ApiError, Unavailable
from schemas.keys.secret import Secret

NO_RESPONDERS = 503
"""Status of a reply that NATS itself sends: nobody listens on that subject."""
DISCONNECTED = 599
"""Status of the message that every open inbox gets when the connection is lost (`broker/nats/connection.py`)."""

_CRLF = b"\r\n"
_MAX_LINE = 256 * 1024
_SMALL = 16 * 1024
_HIGH_WATER = 4 * 1024 * 1024
_MAX_UNSENT = 64 * 1024 * 1024


class Message(Struct, gc=False):
    """What arrived: `status` is 0, or that of the NATS headers."""

    subject: str
    reply: str
    payload: bytes
    status: int = 0


Callback = Callable[[Message], None]
Lost = Callable[["Link", Exception], None]


class Finder(Protocol):
    """Finds the callback of a subscription by its id: a dictionary, or what stands before one."""

    def get(self, id: bytes, /) -> Callback | None: ...


class MessageTooLong(ApiError):
    """A message is longer than the broker takes: its head is too long, since bodies travel in chunks."""

    status = 431

    def __init__(self, size_bytes: int, limit: int) -> None:
        super().__init__(f"the head of the message is too long ({size_bytes} bytes, {limit} are allowed)")
        self.size_bytes = size_bytes
        self.limit = limit


class Refused(Exception):
    """The server does not let us in: `words` are its own."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


class Server(Struct, frozen=True):
    """Where a nats-server is and how to sign in."""

    host: str
    port: int
    tls: bool = False
    user: str = ""
    password: Secret = Secret("")


class Info(Struct, frozen=True):
    """The part of a server's INFO that matters here."""

    max_payload: int = 1024 * 1024
    tls_required: bool = False
    connect_urls: list[str] = []
    ldm: bool = False
    """The server is about to end ("lame duck mode") and wants its clients to go to others."""


def parse_servers(url: str) -> list[Server]:
    """Read a comma separated list of `nats://user:password@host:port` or `tls://...`.

    Raises: ValueError if one of them is no such URL; its text does not show the URL, which may hold a password.
    """
    servers = []
    for text in filter(None, (part.strip() for part in url.split(","))):
        parts = urlsplit(text if "://" in text else f"nats://{text}")
        if parts.scheme not in ("nats", "tls") or not parts.hostname:
            raise ValueError("the broker's URL must be nats://[user:password@]host[:port], or tls://...")
        user, password = unquote(parts.username or ""), Secret(unquote(parts.password or ""))
        servers.append(Server(parts.hostname, parts.port or 4222, parts.scheme == "tls", user, password))
    if not servers:
        raise ValueError("the broker's URL is empty")
    return servers


async def connect(
    server: Server, name: str, callbacks: dict[bytes, Callback], lost: Lost, complained: Callable[[str], None]
) -> "Link":
    """Connect and sign in to one server. `callbacks` is looked at as messages arrive: subscription id -> callback.

    `lost` is called once when the connection ends, however it does. The caller sets the time limit.
    Raises: OSError, Refused.
    """
    loop = asyncio.get_running_loop()
    link = Link(callbacks, lost, complained)
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
    """Give the text of NATS headers. Names and values are ours and have no line ends."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in values.items())
    return f"NATS/1.0\r\n{lines}\r\n".encode()


class Link(asyncio.Protocol):
    """One TCP connection to a nats-server."""

    def __init__(
        self, callbacks: dict[bytes, Callback], lost: Lost, complained: Callable[[str], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.greeted: asyncio.Future[Info] = self._loop.create_future()
        self.info = Info()
        self.is_ready = False
        self.on_leaving: Callable[[], None] | None = None
        """Called once, when the server says that it is about to end."""
        self.on_info: Callable[[], None] | None = None
        """Called when the server tells of a change in its cluster."""
        self.callbacks: Finder = callbacks
        self._lost = lost
        self._complained = complained
        self._transport: asyncio.Transport | None = None
        self._pongs: deque[asyncio.Future[None]] = deque()
        self._unsent: list[bytes] = []
        self._rest = b""
        self._pieces: list[bytes] = []
        self._missing = 0
        self._words = ""
        self._writable: asyncio.Future[None] | None = None

    @property
    def is_ended(self) -> bool:
        """Whether the connection is over."""
        return self._transport is None

    # Sending

    def publish(self, subject: str, payload: bytes, reply: str, head: bytes = b"") -> None:
        """Send a message, with NATS headers if `head` is their text (`headers`).

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
            self._write(b"%b%b\r\n" % (line, payload))
        else:
            self._flush()
            transport.writelines((line, payload, _CRLF))

    def send(self, line: str) -> None:
        """Send a line of the protocol."""
        self._write(f"{line}\r\n".encode())

    def _write(self, data: bytes) -> None:
        """Send with all else that is sent in this turn of the event loop: a system call costs more than the rest."""
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(data)

    def _flush(self) -> None:
        if self._unsent and self._transport is not None:
            self._transport.write(b"".join(self._unsent))
        self._unsent.clear()

    def ping(self) -> asyncio.Future[None]:
        """Send a PING; what it gives is done when the server has read all that was sent before."""
        pong: asyncio.Future[None] = self._loop.create_future()
        if self._transport is None:
            pong.set_exception(Unavailable("the broker is not connected"))
        else:
            self._pongs.append(pong)
            self.send("PING")
        return pong

    async def writable(self) -> None:
        """Wait until the server has taken most of what was sent."""
        if self._writable is not None:
            await asyncio.shield(self._writable)

    def sign_in(self, server: Server, name: str) -> None:
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
        """Put TLS on the connection, with the system's certificates."""
        assert self._transport is not None
        context = await self._loop.run_in_executor(None, ssl.create_default_context)
        secured = await self._loop.start_tls(self._transport, self, context, server_hostname=host)
        if secured is None:
            raise ConnectionResetError("the connection ended while TLS was set up")
        self._transport = secured

    def abort(self) -> None:
        """End the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """End the connection when all is sent."""
        self._flush()
        if self._transport is not None:
            self._transport.close()

    # Receiving

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but its class
        self._transport.set_write_buffer_limits(high=_HIGH_WATER)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self.resume_writing()
        error = (
            Refused(self._words)
            if self._words
            else exc or ConnectionResetError("the server closed the connection")
        )
        waiting: list[asyncio.Future[Any]] = [self.greeted, *self._pongs]
        for future in waiting:
            if not future.done():
                future.set_exception(error)
                future.exception()  # seen: nobody may be waiting
        self._pongs.clear()
        self._lost(self, error)

    def pause_writing(self) -> None:
        if self._writable is None:
            self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._writable is not None:
            self._writable.set_result(None)
            self._writable = None

    def data_received(self, data: bytes) -> None:
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
                self._keep_line(data[at:])
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
            callback(Message(subject, reply, data[start:stop], status))
        except (
            Exception
        ) as error:  # the rim of a served message: one bad callback must not end the connection
            observe(CallbackFailed(subject, repr(error), traceback_of(error)))

    def _keep_line(self, begun: bytes) -> None:
        self._rest = begun
        if len(begun) > _MAX_LINE:
            self._words = "a line without end"
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
                words = detail.decode(errors="replace").strip("' ")
                if not self.is_ready:
                    self._words = words
                elif words.lower() not in ("stale connection",):
                    self._complained(words)

    def _greeting(self, detail: bytes) -> None:
        try:
            self.info = msgspec.json.decode(detail, type=Info)
        except msgspec.DecodeError:
            self._words = "what greeted us is no nats-server"
            self.abort()
            return
        if not self.greeted.done():
            self.greeted.set_result(self.info)
        elif self.info.ldm and self.on_leaving is not None:
            told, self.on_leaving = self.on_leaving, None
            told()
        elif self.on_info is not None:
            self.on_info()


def _status(head: bytes) -> int:
    """Read the status from the first line of NATS headers: `NATS/1.0 503` or, without one, `NATS/1.0`."""
    digits = head[9:12]
    return int(digits) if digits.isdigit() else 0
