"""The front gateway before a project that is a script of the test: raw bytes on both sides."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web

from services.gateway.connections.connection_limits import ConnectionLimits
from services.gateway.connections.listener import GatewayListener
from services.gateway.requests.transfer_rate import TransferLimits
from services.middleware.limits import read_networks
from services.projects.front import FrontGateway, ServedProject
from services.projects.idleness import IdleReport
from services.projects.lifecycle import ProjectLifecycle
from services.projects.model import ProjectLimits, ProjectRecord
from services.projects.routing import route_table

_PATIENCE_S = 60.0
_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter, bytes], Awaitable[None]]


class ScriptedProject:
    """A server in the place of a project's gateway: keeps the heads it reads, and answers by a script."""

    def __init__(self) -> None:
        self.heads: list[bytes] = []
        self.connections = 0
        self.script: Script = self.ok
        self.port = 0

    @staticmethod
    async def ok(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"content-length:"):
                await reader.readexactly(int(line.partition(b":")[2]))
        writer.write(_OK)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                await self.script(reader, writer, head)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def start(self) -> int:
        return self.port

    async def stop(self) -> None:
        raise AssertionError("nothing stops the script")

    def is_running(self) -> bool:
        return True


class Gate:
    """The front gateway on a port, with one project."""

    def __init__(
        self, project: ScriptedProject, port: int, served: ServedProject, front: FrontGateway
    ) -> None:
        self.project, self.port, self.served, self.front = project, port, served, front

    async def send(self, data: bytes) -> bytes:
        """Send bytes on a connection of their own, and return all that comes back until it is closed or a whole answer is there."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(data)
            async with asyncio.timeout(_PATIENCE_S):
                return await reader.read()
        finally:
            writer.close()

    async def get(self, path: str = "/shop/a", headers: bytes = b"", host: bytes = b"apps.test") -> bytes:
        return await self.send(
            b"GET %b HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n%b\r\n" % (path.encode(), host, headers)
        )


@pytest.fixture
async def gate() -> AsyncIterator[Gate]:
    project = ScriptedProject()
    upstream = await asyncio.start_server(project.serve, "127.0.0.1", 0)
    project.port = upstream.sockets[0].getsockname()[1]

    async def ask() -> IdleReport:
        return IdleReport("a test")

    life = ProjectLifecycle(
        "shop",
        project,
        ProjectLimits(),
        ask_idle=ask,
        starts=asyncio.Semaphore(2),
        wake_timeout_s=_PATIENCE_S,
        on_event=lambda *_: None,
    )
    front = FrontGateway(read_networks(["10.0.0.0/8"]), "http")
    served = ServedProject(life, "http://shop.apps.test", lambda: "of the front")
    front.projects = {"shop": served}
    front.table = route_table([ProjectRecord("shop", "/s", 0.0)], "apps.test")
    server = GatewayListener(
        front,
        ConnectionLimits(0, 0),
        max_url=8192,
        max_headers=8192,
        header_timeout=30,
        keepalive_timeout=30,
        transfer=TransferLimits(30, 100, 60),
    )
    runner = web.ServerRunner(server, handle_signals=False)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert site._server is not None
    yield Gate(project, site._server.sockets[0].getsockname()[1], served, front)  # type: ignore[attr-defined]  # asyncio's server has sockets
    served.connections.close()
    await runner.cleanup()
    upstream.close()


async def test_requests_reach_their_project_over_a_kept_connection(gate: Gate) -> None:
    below = await gate.get("/shop/a?b=%2F", b"X-Forwarded-For: 1.1.1.1\r\nCookie: a=b\r\n")
    by_host = await gate.get("/x", b"Cookie: a=b\r\n", b"shop.apps.test:80")

    first, second = gate.project.heads
    assert below.endswith(b"\r\n\r\nok")
    assert by_host.endswith(b"\r\n\r\nok")
    assert first.startswith(b"GET /a?b=%2F HTTP/1.1\r\nHost: apps.test\r\n")
    assert b"X-Forwarded-For: 127.0.0.1\r\n" in first
    assert b"X-Forwarded-Prefix: /shop\r\n" in first
    assert b"Cookie" not in first
    assert second.startswith(b"GET /x HTTP/1.1\r\nHost: shop.apps.test:80\r\n")
    assert b"Cookie: a=b\r\n" in second
    assert gate.project.connections == 1


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 3\r\nTransfer-Encoding: chunked",
        b"Content-Length: 3\r\nContent-Length: 4",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        b"Transfer-Encoding: xchunked",
        b"Transfer-Encoding : chunked",
        b"Transfer-Encoding: chunked, gzip",
        b"Content-Length: +3",
        b"Content-Length: 3, 3",
        b"X: a\r\n folded",
        b"X: a\x00b",
        b"X: a\rContent-Length: 3",
        b"Host: shop.apps.test",
    ],
)
async def test_ambiguous_heads_never_reach_a_project(gate: Gate, head: bytes) -> None:
    smuggled = b"0\r\n\r\nGET /shop/smuggled HTTP/1.1\r\nHost: apps.test\r\n\r\n"

    answer = await gate.send(
        b"POST /shop/a HTTP/1.1\r\nHost: apps.test\r\n%b\r\nConnection: close\r\n\r\n%b" % (head, smuggled)
    )

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert gate.project.heads == []


async def test_no_other_protocol_is_switched_to(gate: Gate) -> None:
    await gate.get(headers=b"Upgrade: h2c\r\nHTTP2-Settings: AAA\r\n")

    assert b"pgrade" not in gate.project.heads[0]
    assert b"HTTP2" not in gate.project.heads[0]


async def test_bodies_are_streamed_both_ways(gate: Gate) -> None:
    read = asyncio.Event()

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        assert b"Transfer-Encoding: chunked\r\n" in head
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while (size := int(await reader.readline(), 16)) > 0:
            piece = await reader.readexactly(size)
            await reader.readline()
            writer.write(b"%x\r\n%b\r\n" % (size, piece))
            read.set()
        await reader.readline()
        writer.write(b"0\r\n\r\n")

    gate.project.script = echo
    reader, writer = await asyncio.open_connection("127.0.0.1", gate.port, limit=1 << 22)
    writer.write(
        b"POST /shop/a HTTP/1.1\r\nHost: apps.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n"
    )
    async with asyncio.timeout(_PATIENCE_S):
        await read.wait()  # before the body has ended
        await reader.readuntil(b"5\r\nfirst\r\n")
        writer.write(b"100000\r\n" + b"x" * 0x100000 + b"\r\n0\r\n\r\n")
        rest = await reader.readuntil(b"0\r\n\r\n")
    writer.close()

    assert rest.count(b"x") == 0x100000


async def test_an_answer_that_breaks_off_is_not_taken_for_whole(gate: Gate) -> None:
    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
        await writer.drain()
        raise ConnectionError

    gate.project.script = half
    try:
        answer = await gate.get()
    except ConnectionResetError:
        answer = b""

    assert not answer.endswith(b"0\r\n\r\n")


async def test_a_read_that_an_idle_connection_loses_is_sent_again_and_a_write_never(gate: Gate) -> None:
    await gate.get()

    async def closes_idle_ones(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes
    ) -> None:
        if gate.project.connections == 1:
            raise ConnectionError
        await gate.project.ok(reader, writer, head)

    gate.project.script = closes_idle_ones
    repeated = await gate.get()
    assert repeated.endswith(b"\r\n\r\nok")
    assert len(gate.project.heads) == 3
    gate.project.connections = 1

    write = await gate.send(
        b"POST /shop/a HTTP/1.1\r\nHost: apps.test\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx"
    )

    assert write.startswith(b"HTTP/1.1 502 ")
    assert len(gate.project.heads) == 4


async def test_the_bytes_of_a_websocket_pass_both_ways(gate: Gate) -> None:
    async def switch(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        writer.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nfirst"
        )
        while piece := await reader.read(65536):
            writer.write(piece[::-1])

    gate.project.script = switch
    reader, writer = await asyncio.open_connection("127.0.0.1", gate.port)
    writer.write(
        b"GET /shop/socket HTTP/1.1\r\nHost: apps.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    )
    async with asyncio.timeout(_PATIENCE_S):
        head = await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(5) == b"first"
        assert gate.served.lifecycle.sockets == 1
        writer.write(b"abc")
        assert await reader.readexactly(3) == b"cba"
        writer.close()
        while gate.served.lifecycle.sockets:
            await asyncio.sleep(0)

    assert head.startswith(b"HTTP/1.1 101 ")
    assert b"Upgrade: websocket" in head


async def test_requests_beyond_the_limit_are_refused_at_once(gate: Gate) -> None:
    answer_now = asyncio.Event()

    async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        await answer_now.wait()
        writer.write(_OK)

    gate.project.script = late
    gate.served.lifecycle.limits = ProjectLimits(requests=2)
    slow = [asyncio.create_task(gate.get()) for _ in range(2)]
    while len(gate.project.heads) < 2:
        await asyncio.sleep(0)

    refused = await gate.get()
    answer_now.set()

    assert refused.startswith(b"HTTP/1.1 429 ")
    assert b"Retry-After: 1" in refused
    assert all(answer.endswith(b"ok") for answer in await asyncio.gather(*slow))


async def test_a_full_project_is_read_and_emptied_but_not_written(gate: Gate) -> None:
    gate.served.lifecycle.limits = ProjectLimits(disk_mib=10)
    gate.served.lifecycle.disk_mib = 10

    def request(method: bytes, path: bytes) -> bytes:
        return b"%b %b HTTP/1.1\r\nHost: apps.test\r\nConnection: close\r\nContent-Length: 0\r\n\r\n" % (
            method,
            path,
        )

    assert (await gate.send(request(b"POST", b"/shop/rest/v1/a"))).startswith(b"HTTP/1.1 507 ")
    assert (await gate.send(request(b"DELETE", b"/shop/rest/v1/a"))).startswith(b"HTTP/1.1 200 ")
    assert (await gate.send(request(b"POST", b"/shop/auth/v1/token"))).startswith(b"HTTP/1.1 200 ")


async def test_the_dashboard_has_no_address_below_a_path(gate: Gate) -> None:
    refused = await gate.get("/shop/_/")

    assert refused.startswith(b"HTTP/1.1 404 ")
    assert b"http://shop.apps.test/_/" in refused
    assert (await gate.get("/_/", host=b"shop.apps.test")).endswith(b"ok")


async def test_other_addresses_say_nothing_of_the_projects(gate: Gate) -> None:
    assert (await gate.get("/_health")).startswith(b"HTTP/1.1 200 ")
    for path, host in (("/", b"apps.test"), ("/blog/a", b"apps.test"), ("/", b"blog.apps.test")):
        answer = await gate.get(path, host=host)
        assert answer.startswith(b"HTTP/1.1 404 ")
        assert b"shop" not in answer


@pytest.mark.parametrize(
    ("method", "head"),
    [
        (b"HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"),
        (b"GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
        (b"GET", b"HTTP/1.1 304 Not Modified\r\nETag: x\r\nContent-Length: 10\r\n\r\n"),
        (b"GET", b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ],
    ids=["HEAD", "204", "304", "103"],
)
async def test_answers_without_a_body_leave_both_connections_usable(
    gate: Gate, method: bytes, head: bytes
) -> None:
    async def bare(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
        writer.write(head if b" /bare " in request else _OK)

    gate.project.script = bare
    answers = await gate.send(
        b"%b /shop/bare HTTP/1.1\r\nHost: apps.test\r\n\r\nGET /shop/a HTTP/1.1\r\nHost: apps.test\r\nConnection: close\r\n\r\n"
        % method
    )

    status = head.rpartition(b"HTTP/1.1 ")[2][:3]
    assert answers.startswith(b"HTTP/1.1 %b " % status)
    assert answers.count(b"HTTP/1.1 ") == 2
    assert answers.endswith(b"\r\n\r\nok")
    assert gate.project.connections == 1


async def test_a_client_that_asks_first_is_told_to_send_its_body(gate: Gate) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", gate.port)
    writer.write(
        b"POST /shop/a HTTP/1.1\r\nHost: apps.test\r\nContent-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
    )
    async with asyncio.timeout(_PATIENCE_S):
        told = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"ab")
        answer = await reader.read()
    writer.close()

    assert told == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert answer.endswith(b"\r\n\r\nok")
    assert b"Expect" not in gate.project.heads[0]


async def test_the_front_shows_its_secret_and_no_secret_of_a_client(gate: Gate) -> None:
    await gate.get("/shop/a", b"Headwater-Proxy-Secret: forged\r\nheadwater-proxy-secret: again\r\n")

    [head] = gate.project.heads
    lines = [line for line in head.split(b"\r\n") if line.lower().startswith(b"headwater-proxy-secret")]
    assert lines == [b"headwater-proxy-secret: of the front"]


async def test_only_trusted_proxies_speak_for_clients(gate: Gate) -> None:
    spoken = (
        b"X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: shop.apps.test\r\n"
    )
    await gate.get("/shop/a", spoken)
    gate.front._trusted = read_networks(["127.0.0.1/32"])
    await gate.get("/a", spoken, b"10.0.0.1")

    outside, trusted = gate.project.heads
    assert (
        b"X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Host: apps.test\r\nX-Forwarded-Proto: http\r\n" in outside
    )
    assert trusted.startswith(b"GET /a HTTP/1.1\r\nHost: shop.apps.test\r\n")
    assert (
        b"X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Host: shop.apps.test\r\nX-Forwarded-Proto: https\r\n"
        in trusted
    )
