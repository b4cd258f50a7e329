import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import aiohttp
import pytest
from aiohttp import web

from broker.blobs.store import BlobStore
from schemas.blobs import BlobClaim, BlobReference
from schemas.http import Response
from schemas.settings.storage import Storage
from schemas.settings.tree import CompressionSettings
from services.gateway.objects.blob_responses import BlobSender, blob_name_of
from services.gateway.requests.compression import ResponseCompression

SIZES = (0, 1, 64 * 1024, 64 * 1024 + 1, 5_000_000)
MODIFIED = 1_800_000_000


class Shop:
    """A server that sends the blobs it was given, by their versions."""

    def __init__(self, blobs: BlobStore) -> None:
        self.blobs, self.server = blobs, BlobSender(blobs, ResponseCompression(CompressionSettings()))
        self.claims: dict[str, BlobClaim] = {}
        self.url, self.type = "", "image/png"

    async def put(self, data: bytes) -> str:
        version = str(uuid4())
        blob = BlobReference("bucket", version)
        await self.blobs.put_small(blob_name_of(blob), data)
        self.claims[version] = BlobClaim(blob, len(data), '"tag"', MODIFIED)
        return version

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        claim = self.claims[request.path[1:]]
        response = Response(200, [("content-type", self.type), ("cache-control", "max-age=60")])
        asked = {name.lower(): value for name, value in request.headers.items()}
        return await self.server.send(request, response, claim, asked, [("x-request-id", "r")])


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    one = Shop(BlobStore.open(Storage(), tmp_path))
    runner = web.ServerRunner(web.Server(one.answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    one.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    yield one
    await runner.cleanup()
    await one.server.close()
    await one.blobs.close()


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as one:
        yield one


@pytest.mark.parametrize("size", SIZES)
async def test_a_blob_comes_whole(shop: Shop, client: aiohttp.ClientSession, size: int) -> None:
    data = os.urandom(size)
    version = await shop.put(data)

    for _ in range(3):  # over one connection: what was sent left nothing behind
        async with client.get(shop.url + version) as answer:
            body = await answer.read()
            assert (answer.status, answer.headers["content-length"]) == (200, str(size))
            assert body == data
            assert answer.headers["etag"] == '"tag"'
            assert answer.headers["accept-ranges"] == "bytes"
            assert answer.headers["x-request-id"] == "r"


@pytest.mark.parametrize(
    ("text", "start", "stop"), [("bytes=0-3", 0, 4), ("bytes=100000-4100000", 100_000, 4_100_001)]
)
async def test_a_range_is_just_its_bytes(
    shop: Shop, client: aiohttp.ClientSession, text: str, start: int, stop: int
) -> None:
    data = os.urandom(5_000_000)
    version = await shop.put(data)

    async with client.get(shop.url + version, headers={"range": text}) as answer:
        assert answer.status == 206
        assert answer.headers["content-range"] == f"bytes {start}-{stop - 1}/5000000"
        assert await answer.read() == data[start:stop]


async def test_a_range_beyond_the_end_tells_the_size(shop: Shop, client: aiohttp.ClientSession) -> None:
    version = await shop.put(b"hello")

    async with client.get(shop.url + version, headers={"range": "bytes=5-"}) as answer:
        assert (answer.status, answer.headers["content-range"]) == (416, "bytes */5")
        assert (await answer.json())["error"] == "invalid_range"


async def test_head_tells_the_length_and_sends_nothing(shop: Shop, client: aiohttp.ClientSession) -> None:
    version = await shop.put(b"x" * 100_000)

    async with client.head(shop.url + version) as answer:
        assert (answer.status, answer.headers["content-length"]) == (200, "100000")
        assert answer.headers["content-type"] == "image/png"
    async with client.get(shop.url + version) as answer:
        assert len(await answer.read()) == 100_000


async def test_what_the_client_has_is_not_sent_again(shop: Shop, client: aiohttp.ClientSession) -> None:
    version = await shop.put(b"hello")

    async with client.get(shop.url + version, headers={"if-none-match": '"tag"'}) as answer:
        assert (answer.status, await answer.read()) == (304, b"")
        assert answer.headers["cache-control"] == "max-age=60"
        assert "content-length" not in answer.headers or answer.headers["content-length"] == "0"
    async with client.get(shop.url + version, headers={"if-none-match": 'W/"tag"'}) as answer:
        assert (answer.status, answer.headers["etag"]) == (304, '"tag"')  # a picture is never compressed


async def test_a_row_without_its_blob_is_not_found_and_not_kept(
    shop: Shop, client: aiohttp.ClientSession
) -> None:
    version = await shop.put(b"hello")
    await shop.blobs.delete([blob_name_of(shop.claims[version].blob)])

    async with client.get(shop.url + version) as answer:
        assert (answer.status, answer.headers["cache-control"]) == (404, "no-store")
        assert (await answer.json())["statusCode"] == "404"


async def test_many_at_once_get_each_their_own(shop: Shop, client: aiohttp.ClientSession) -> None:
    bodies = {await shop.put(data): data for data in (os.urandom(300_000 + n) for n in range(8))}

    async def fetched(version: str) -> str:
        async with client.get(shop.url + version) as answer:
            return hashlib.sha256(await answer.read()).hexdigest()

    found = await asyncio.gather(*(fetched(version) for version in list(bodies) * 4))

    assert found == [hashlib.sha256(data).hexdigest() for data in bodies.values()] * 4


async def test_a_client_that_leaves_in_the_middle_harms_nobody(
    shop: Shop, client: aiohttp.ClientSession
) -> None:
    version = await shop.put(os.urandom(5_000_000))
    reader, writer = await asyncio.open_connection("127.0.0.1", int(shop.url.split(":")[2][:-1]))
    writer.write(f"GET /{version} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    await reader.readexactly(1000)
    writer.transport.abort()

    async with client.get(shop.url + version) as answer:
        assert len(await answer.read()) == 5_000_000


async def test_an_object_of_text_is_compressed_and_head_says_the_same(
    shop: Shop, client: aiohttp.ClientSession
) -> None:
    data, shop.type = b"a line of text\n" * 10_000, "text/plain; charset=utf-8"
    version = await shop.put(data)

    async with client.get(shop.url + version, headers={"Accept-Encoding": "gzip"}) as answer:
        body = await answer.read()
        coded = answer.headers
    async with client.head(shop.url + version, headers={"Accept-Encoding": "gzip"}) as answer:
        head = answer.headers
    async with client.get(shop.url + version, headers={"If-None-Match": coded["ETag"]}) as answer:
        known = (answer.status, answer.headers["ETag"])
    async with client.get(shop.url + version, headers={"Range": "bytes=0-3"}) as answer:
        part = (
            answer.status,
            await answer.read(),
            answer.headers.get("Content-Encoding"),
            answer.headers["ETag"],
        )

    assert body == data
    assert {name: coded.get(name) for name in ("Content-Encoding", "ETag", "Vary", "Content-Length")} == {
        "Content-Encoding": "gzip", "ETag": 'W/"tag"', "Vary": "Accept-Encoding", "Content-Length": None
    }  # fmt: skip
    compared = ("Content-Type", "Content-Encoding", "ETag", "Vary", "Content-Length", "Cache-Control")
    assert [head.get(name) for name in compared] == [coded.get(name) for name in compared]
    assert known == (304, 'W/"tag"')
    assert part == (206, data[:4], None, '"tag"')


async def test_head_ignores_a_range(shop: Shop, client: aiohttp.ClientSession) -> None:
    version = await shop.put(b"0123456789")

    async with client.head(shop.url + version, headers={"Range": "bytes=0-3"}) as answer:
        assert (answer.status, answer.headers["Content-Length"]) == (200, "10")
        assert "Content-Range" not in answer.headers
