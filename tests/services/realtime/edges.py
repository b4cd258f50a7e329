"""The realtime edge of a test, behind the gateway as `services/app.py` starts it, and a client that speaks the protocol."""

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import jwt
import msgspec

from schemas.keys.secret import Secret
from schemas.settings.realtime import RealtimeSettings
from schemas.settings.storage import Storage
from schemas.settings.tree import Api, Auth, Broker, Pools, Settings
from services.supervisor.api_keys import keys_of
from tests.broker.server import free_port
from tests.services.gateway.running_gateway import ObservedProcess, start

AUTH = Auth(enabled=False)
KEYS = keys_of(AUTH)
SECRET = AUTH.jwt_secret.reveal()
PATIENCE_S = 60
_names = itertools.count()


def token(role: str = "authenticated", expires_in: float = 3600, **claims: Any) -> str:
    """Give an access token signed with the platform's secret."""
    return jwt.encode({"role": role, "exp": time.time() + expires_in, **claims}, SECRET, "HS256")


def fresh(prefix: str = "room") -> str:
    """Give a name that no other test uses."""
    return f"{prefix}-{next(_names)}"


@dataclass(slots=True)
class Frame:
    """A frame of the server, whatever its version."""

    join_ref: Any
    ref: Any
    topic: str
    event: str
    payload: Any
    raw: str | bytes = field(repr=False, default="")
    is_binary: bool = False


def read_frame(data: str | bytes) -> Frame:
    """Read a frame of the server as the official clients do."""
    if isinstance(data, bytes):
        return _read_binary(data)
    found = msgspec.json.decode(data)
    if isinstance(found, dict):
        assert found.keys() == {"topic", "event", "payload", "ref"}
        return Frame(None, found["ref"], found["topic"], found["event"], found["payload"], data)
    return Frame(*found, raw=data)


def _read_binary(data: bytes) -> Frame:
    kind, topic_size, event_size, meta_size, encoding = data[:5]
    assert kind == 4
    rest = data[5:]
    topic, rest = rest[:topic_size].decode(), rest[topic_size:]
    event, rest = rest[:event_size].decode(), rest[event_size:]
    meta, payload = rest[:meta_size], rest[meta_size:]
    told = {
        "type": "broadcast",
        "event": event,
        "payload": msgspec.json.decode(payload) if encoding else payload,
    }
    if meta:
        told["meta"] = msgspec.json.decode(meta)
    return Frame(None, None, topic, "broadcast", told, data, is_binary=True)


def user_push(
    topic: str, event: str, payload: bytes, *, is_json: bool = True, ref: str = "", join_ref: str = ""
) -> bytes:
    """Write a broadcast in the binary form, as the official client does."""
    names = [join_ref.encode(), ref.encode(), topic.encode(), event.encode(), b""]
    return bytes([3, *map(len, names), int(is_json)]) + b"".join(names) + payload


class Client:
    """A client with one socket."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, vsn: str) -> None:
        self.socket = socket
        self.vsn = vsn
        self.passed: list[Frame] = []
        """Frames that were read while another was waited for."""
        self._refs = itertools.count(1)

    async def send(
        self, topic: str, event: str, payload: Any, join_ref: str | None = None, ref: str | None = None
    ) -> str:
        """Send a push; give its ref."""
        ref = ref or str(next(self._refs))
        if self.vsn == "2.0.0":
            text = msgspec.json.encode([join_ref, ref, topic, event, payload])
        else:
            told = {"topic": topic, "event": event, "payload": payload, "ref": ref, "join_ref": join_ref}
            text = msgspec.json.encode(told)
        await self.socket.send_str(text.decode())
        return ref

    async def next(self) -> Frame:
        """Read the next frame."""
        message = await self.socket.receive(timeout=PATIENCE_S)
        assert message.type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY), message
        return read_frame(message.data)

    async def until(self, event: str, topic: str | None = None) -> Frame:
        """Read to the next frame with this event."""
        for number, frame in enumerate(self.passed):
            if frame.event == event and topic in (None, frame.topic):
                return self.passed.pop(number)
        while True:
            frame = await self.next()
            if frame.event == event and topic in (None, frame.topic):
                return frame
            self.passed.append(frame)

    async def answer(self, ref: str) -> dict[str, Any]:
        """Read to the reply to a push; give its payload."""
        for number, frame in enumerate(self.passed):
            if frame.event == "phx_reply" and frame.ref == ref:
                return self.passed.pop(number).payload  # type: ignore[no-any-return]  # JSON
        while True:
            frame = await self.next()
            if frame.event == "phx_reply" and frame.ref == ref:
                return frame.payload  # type: ignore[no-any-return]  # JSON
            self.passed.append(frame)

    async def ask(self, topic: str, event: str, payload: Any, join_ref: str | None = None) -> dict[str, Any]:
        """Send a push and give the answer."""
        return await self.answer(await self.send(topic, event, payload, join_ref))

    async def join(
        self, topic: str, config: Mapping[str, Any] | None = None, **payload: Any
    ) -> dict[str, Any]:
        """Join `realtime:<topic>`; give the answer."""
        ref = str(next(self._refs))
        await self.send(f"realtime:{topic}", "phx_join", {"config": config or {}, **payload}, ref, ref)
        return await self.answer(ref)

    async def joined(self, topic: str, config: Mapping[str, Any] | None = None, **payload: Any) -> "Client":
        """Join; it must succeed."""
        answer = await self.join(topic, config, **payload)
        assert answer["status"] == "ok", answer
        return self

    async def broadcast(self, topic: str, event: str, payload: Any) -> str:
        """Send a broadcast in the text form."""
        told = {"type": "broadcast", "event": event, "payload": payload}
        return await self.send(f"realtime:{topic}", "broadcast", told)

    async def track(self, topic: str, payload: Any, event: str = "track") -> dict[str, Any]:
        """Track a presence; give the answer."""
        told = {"type": "presence", "event": event, "payload": payload}
        return await self.ask(f"realtime:{topic}", "presence", told)

    async def heartbeat(self) -> list[Frame]:
        """Send a heartbeat; give everything that came before its answer."""
        ref = await self.send("phoenix", "heartbeat", {})
        assert (await self.answer(ref)) == {"status": "ok", "response": {}}
        seen, self.passed = self.passed, []
        return seen

    async def closed(self) -> tuple[int | None, str]:
        """Read to the end of the socket; give code and reason."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                message = await self.socket.receive()
                if message.type is aiohttp.WSMsgType.CLOSE:
                    return message.data, message.extra or ""
                if message.type in (
                    aiohttp.WSMsgType.CLOSED,
                    aiohttp.WSMsgType.CLOSING,
                    aiohttp.WSMsgType.ERROR,
                ):
                    return self.socket.close_code, ""
                self.passed.append(read_frame(message.data))


@dataclass(slots=True)
class RealtimeEdges:
    """A running gateway with its realtime edge."""

    port: int
    process: ObservedProcess
    session: aiohttp.ClientSession

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/realtime/v1"

    @asynccontextmanager
    async def client(
        self,
        vsn: str = "2.0.0",
        key: str = KEYS.anon_key,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator[Client]:
        """Open a socket."""
        async with self.session.ws_connect(
            f"{self.url}/websocket",
            params={"apikey": key, "vsn": vsn},
            headers=headers,
            max_msg_size=20_000_000,
        ) as socket:
            yield Client(socket, vsn)

    async def refusal(self, query: str, headers: Mapping[str, str] | None = None) -> tuple[int, Any]:
        """Try to open a socket that is refused; give status and body."""
        own = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
        own["Sec-WebSocket-Key"] = "dGhlIHNhbXBsZSBub25jZQ=="
        async with self.session.get(
            f"{self.url}/websocket?{query}", headers={**own, **(headers or {})}
        ) as answer:
            return answer.status, await answer.json()


@asynccontextmanager
async def running_edge(
    nats_url: str, realtime: RealtimeSettings | None = None
) -> AsyncIterator[RealtimeEdges]:
    """Start a gateway with a realtime edge on a free port, and drain it at the end."""
    settings = Settings(
        api=Api(port=free_port()),
        broker=Broker(url=Secret(nats_url)),
        auth=AUTH,
        storage=Storage(enabled=False),
        realtime=realtime or RealtimeSettings(),
        pools=Pools(drain_timeout=10.0),
    )
    process = ObservedProcess(settings)
    running = start(process)
    up = asyncio.ensure_future(process.is_up.wait())
    await asyncio.wait({running, up}, return_when=asyncio.FIRST_COMPLETED, timeout=60)
    up.cancel()
    assert process.is_up.is_set(), "the gateway did not start"
    try:
        async with aiohttp.ClientSession() as session:
            yield RealtimeEdges(settings.api.port, process, session)
    finally:
        process.stop("the test is over")
        with contextlib.suppress(asyncio.CancelledError):
            await running
