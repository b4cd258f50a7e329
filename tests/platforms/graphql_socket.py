"""A client of the protocol graphql-transport-ws that shows every message, for the tests of subscriptions."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.platform import Platform

PATIENCE_S = 60
PROTOCOL = "graphql-transport-ws"


@dataclass
class Talk:
    """One socket: what came, in its order, and how it was closed."""

    socket: aiohttp.ClientWebSocketResponse
    messages: list[dict[str, Any]] = field(default_factory=list)
    closed: tuple[int | None, str] | None = None
    heard: asyncio.Event = field(default_factory=asyncio.Event)

    async def listen(self) -> None:
        """Take what comes until the socket is closed."""
        while True:
            message = await self.socket.receive()
            if message.type is aiohttp.WSMsgType.TEXT:
                told = json.loads(message.data)
                self.messages.append(told)
                if told["type"] == "ping":
                    await self.socket.send_json({"type": "pong"})
            elif message.type in (
                aiohttp.WSMsgType.CLOSE,
                aiohttp.WSMsgType.CLOSED,
                aiohttp.WSMsgType.CLOSING,
            ):
                self.closed = self.closed or (message.data or self.socket.close_code, message.extra or "")
                self.heard.set()
                return
            elif message.type is aiohttp.WSMsgType.ERROR:
                self.closed = (None, str(message.data))
                self.heard.set()
                return
            self.heard.set()

    async def until(self, holds: Callable[[], bool], what: str = "") -> None:
        """Wait until something holds that changes with what is heard."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not holds():
                    self.heard.clear()
                    await self.heard.wait()
        except TimeoutError:
            raise AssertionError(f"{what or 'nothing came'}: {self.closed} {self.messages[-5:]}") from None

    async def until_closed(self) -> tuple[int | None, str]:
        """Wait for its end and give code and reason."""
        await self.until(lambda: self.closed is not None, "it was not closed")
        assert self.closed is not None
        return self.closed

    async def init(self, **payload: object) -> None:
        """Say who it is, and wait until it is let in."""
        await self.socket.send_json({"type": "connection_init", "payload": payload})
        await self.until(
            lambda: any(each["type"] == "connection_ack" for each in self.messages) or bool(self.closed)
        )

    async def subscribe(self, id: str, query: str, variables: dict[str, object] | None = None) -> None:
        """Begin an operation."""
        payload = {"query": query, "variables": variables}
        await self.socket.send_json({"id": id, "type": "subscribe", "payload": payload})

    async def live(self, id: str, query: str, variables: dict[str, object] | None = None) -> None:
        """Begin a subscription and wait until its first result is there, or for row changes, until they come for certain."""
        await self.subscribe(id, query, variables)
        await self.until(lambda: bool(self.of(id)) or self.has_begun(id), f"{id} did not begin")

    def of(self, id: str) -> list[dict[str, Any]]:
        """Give the messages of an operation."""
        return [each for each in self.messages if each.get("id") == id]

    def results(self, id: str) -> list[Any]:
        """Give the results of an operation."""
        return [each["payload"] for each in self.of(id) if each["type"] == "next"]

    def has_begun(self, id: str) -> bool:
        """Tell whether every row change comes from now on."""
        return any(
            each["type"] == "ping" and each.get("payload", {}).get("subscribed") == id
            for each in self.messages
        )


@contextlib.asynccontextmanager
async def talking(
    running_platform: Platform, *, query: str = "", protocols: tuple[str, ...] = (PROTOCOL,), **headers: str
) -> AsyncIterator[Talk]:
    """Open a socket until the end of the block."""
    async with aiohttp.ClientSession() as session:
        url = f"{running_platform.url}/graphql/v1{query}"
        async with session.ws_connect(url, protocols=protocols, headers=headers, max_msg_size=0) as socket:
            talk = Talk(socket)
            listening = asyncio.ensure_future(talk.listen())
            try:
                yield talk
            finally:
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)


@contextlib.asynccontextmanager
async def admitted(running_platform: Platform, bearer: str = "", **payload: object) -> AsyncIterator[Talk]:
    """Open a socket for somebody with a token, or for nobody, until the end of the block."""
    own: dict[str, object] = {"apikey": running_platform.values["ANON_KEY"], **payload}
    if bearer:
        own["Authorization"] = f"Bearer {bearer}"
    async with talking(running_platform) as talk:
        await talk.init(**own)
        assert talk.closed is None, talk.closed
        yield talk
