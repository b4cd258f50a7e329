"""What the storage may not do: grow with what it carries, keep what was not acknowledged, leave a caller without an answer."""

import asyncio
import gzip
import hashlib
import json
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest

from tests.platform import Platform, platform
from tests.platforms.storage_requests import LIMIT, SETTINGS, Storehouse, open_storehouse, until

pytestmark = [pytest.mark.process_group("running_platform"), pytest.mark.timeout(180)]

MIB = 1024 * 1024
MOST_GROWTH = 64 * MIB
TOO_LARGE = "The object exceeded the maximum allowed size"


@pytest.fixture(scope="module")
def running_platform() -> Iterator[Platform]:
    """A platform that takes objects of 256 MiB, and waits two seconds for a body."""
    with platform(environment=SETTINGS) as one:
        yield one


@pytest.fixture(scope="module")
async def store(running_platform: Platform) -> AsyncIterator[Storehouse]:
    """The storage of that platform."""
    async for one in open_storehouse(running_platform):
        yield one


# --- Memory ------------------------------------------------------------------------------------------------------


async def test_memory_stays_flat_while_200_mib_come_and_go(store: Storehouse) -> None:
    piece, count = bytes(range(256)) * 4096, 200
    parts = {name: store.process(name) for name in ("edges", "pools", "nats")}
    await store.upload("open/warm", pieces(piece, 24))
    await store.get("object/public/open/warm")
    before = {name: each.memory_info().rss for name, each in parts.items()}
    most = dict(before)

    def look() -> None:
        for name, each in parts.items():
            most[name] = max(most[name], each.memory_info().rss)

    async def body() -> AsyncIterator[bytes]:
        async for each in pieces(piece, count):
            look()
            yield each

    status, told = await store.upload("open/large", body())
    read = hashlib.md5()
    async with store.client.get(store.url("object/public/open/large")) as answer:
        async for chunk in answer.content.iter_chunked(MIB):
            read.update(chunk)
            look()

    growth = {name: (most[name] - before[name]) / MIB for name in parts}
    print(f"growth in MiB: {growth}")
    assert (status, answer.headers["content-length"]) == (200, str(count * MIB)), told
    assert read.hexdigest() == answer.headers["etag"].strip('"') == hashlib.md5(piece * count).hexdigest()
    assert all(each * MIB < MOST_GROWTH for each in growth.values()), growth


async def pieces(piece: bytes, count: int) -> AsyncIterator[bytes]:
    """Give a body of so many pieces."""
    for _ in range(count):
        yield piece


# --- Bodies that do not come as they should ----------------------------------------------------------------------


async def test_an_upload_that_is_given_up_leaves_nothing(store: Storehouse) -> None:
    slow = await store.begin("open/given-up", 10 * MIB)
    await slow.send(bytes(3 * MIB))
    await until(lambda: bool(store.staged()), "the upload did not begin")

    slow.leave()

    await store.quiet()
    assert not await store.has_row("given-up")
    assert store.blobs() == await store.rows()


async def test_further_uploads_take_one_call_and_leave_nothing_where_they_are_rejected(
    store: Storehouse,
) -> None:
    data = bytes(range(256)) * 1000

    async def version(name: str, *, status: int = 200) -> str:
        answer, told = await store.upload(f"open/{name}", data)
        assert answer == status or told["statusCode"] == str(status), told
        sql = "select version from storage.objects where bucket_id = 'open' and name = $1"
        return str(await store.database.fetchval(sql, name))

    _, first, second = [await version(f"allowed-{number}") for number in range(3)]
    before = store.blobs()
    assert await version("allowed-1", status=409) == first
    assert store.blobs() == before

    await version("allowed-3")
    limit = "update storage.buckets set file_size_limit = $1 where id = 'open'"
    await store.database.execute(limit, 100_000_000)  # so the pool answers a stored body with a grant
    moved = await version("allowed-4")
    await store.database.execute(limit, None)

    assert first[2:13] == second[2:13] != moved[2:13]
    assert store.blobs() - before == {await version("allowed-3", status=409), moved}
    answer = await store.get("object/public/open/allowed-4")
    assert (answer.status, answer.body) == (200, data)


async def test_a_body_that_is_shorter_than_declared_leaves_nothing(store: Storehouse) -> None:
    slow = await store.begin("open/shorter", 2 * MIB)
    await slow.send(bytes(MIB))
    await until(lambda: bool(store.staged()), "the upload did not begin")

    slow.writer.write_eof()

    assert await slow.reader.read(12) in (b"", b"HTTP/1.1 400")
    slow.leave()
    await store.quiet()
    assert not await store.has_row("shorter")
    assert store.blobs() == await store.rows()


async def test_a_body_that_is_longer_than_declared_ends_where_it_said(store: Storehouse) -> None:
    slow = await store.begin("open/longer", 5)

    await slow.send(b"wordsGET smuggled")

    status, _ = await slow.answer()
    slow.leave()
    read = await store.get("object/public/open/longer")
    assert (status, read.body) == (200, b"words")


async def test_a_form_without_its_end_leaves_nothing(store: Storehouse) -> None:
    form = b'--x\r\nContent-Disposition: form-data; name=""; filename="a"\r\n\r\n' + b"words " * 1000
    headers = {"Content-Type": "multipart/form-data; boundary=x"}

    status, told = await store.upload("open/endless", form, **headers)

    assert (status, told["statusCode"]) == (400, "400"), told
    await store.quiet()
    assert not await store.has_row("endless")
    assert store.blobs() == await store.rows()


async def test_a_body_without_a_length_beyond_the_limit_is_refused_and_gone(store: Storehouse) -> None:
    status, told = await store.upload("small/too-long", pieces(bytes(LIMIT // 2), 200))

    assert (status, told["statusCode"], told["message"]) == (400, "413", TOO_LARGE)
    await store.quiet()
    assert not await store.has_row("too-long")
    assert store.blobs() == await store.rows()


async def test_a_declared_length_beyond_the_limit_is_refused_before_the_body(store: Storehouse) -> None:
    slow = await store.begin("small/declared", LIMIT + 1)

    status, told = await slow.answer()

    slow.leave()
    assert (status, told["statusCode"], told["message"]) == (400, "413", TOO_LARGE)
    assert not store.staged()


async def test_a_body_that_stops_is_timed_out_and_gone(store: Storehouse) -> None:
    slow = await store.begin("open/stopped", 2 * MIB)
    await slow.send(bytes(MIB + 1))

    status, told = await slow.answer()

    slow.leave()
    assert (status, told["statusCode"]) == (408, "408"), told
    await store.quiet()
    assert not await store.has_row("stopped")
    assert store.blobs() == await store.rows()


@pytest.mark.parametrize("is_form", [False, True], ids=["raw", "form"])
async def test_a_body_that_drips_is_timed_out_and_gone(store: Storehouse, is_form: bool) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=x"} if is_form else {}
    slow = await store.begin(f"open/drips-{is_form}", 2 * MIB, **headers)
    if is_form:
        await slow.send(b'--x\r\nContent-Disposition: form-data; name=""; filename="a"\r\n\r\n')

    answering = asyncio.ensure_future(slow.answer())
    await slow.drip(answering)
    status, told = await answering

    slow.leave()
    assert (status, told["statusCode"], told["error"]) == (408, "408", "RequestTimeout"), told
    assert told["message"] == "The body came too slowly: less than 100 bytes a second over 3 seconds"
    await store.quiet()
    assert not await store.has_row(f"drips-{is_form}")
    assert store.blobs() == await store.rows()


# --- Reading through the gateway ---------------------------------------------------------------------------------


async def test_ranges_and_conditions_go_through_the_gateway(store: Storehouse) -> None:
    words = b"0123456789" * 20_000
    await store.upload("open/ranges", words)
    whole = await store.get("object/public/open/ranges")
    etag, modified = whole.headers["etag"], whole.headers["last-modified"]

    part = await store.get("object/public/open/ranges", range="bytes=100000-199999")
    last = await store.get("object/public/open/ranges", range="bytes=-3")
    beyond = await store.get("object/public/open/ranges", range="bytes=200000-")
    stale = await store.get("object/public/open/ranges", **{"range": "bytes=0-1", "if-range": '"other"'})
    kept = [
        (await store.get("object/public/open/ranges", **{name: value})).status
        for name, value in (
            ("if-none-match", etag),
            ("if-none-match", f'"other", W/{etag}'),
            ("if-none-match", "*"),
            ("if-modified-since", modified),
        )
    ]

    assert (part.status, part.body) == (206, words[100_000:])
    assert part.headers["content-range"] == "bytes 100000-199999/200000"
    assert (last.status, last.body) == (206, b"789")
    assert (beyond.status, beyond.headers["content-range"]) == (416, "bytes */200000")
    assert (stale.status, len(stale.body)) == (200, len(words))
    assert kept == [304] * 4


async def test_conditions_of_writes_apply_at_the_gateway_and_leave_no_bytes(store: Storehouse) -> None:
    status, _ = await store.upload("open/conditional", b"first")
    tag = f'"{hashlib.md5(b"first").hexdigest()}"'
    blobs = store.blobs()

    async def write(method: str, **headers: str) -> int:
        url = store.url("object/open/conditional")
        async with store.client.request(method, url, data=b"second", headers=headers) as answer:
            return answer.status

    refused = [
        await write("PUT", **{"If-Match": '"nope"'}),
        await write("PUT", **{"If-None-Match": "*"}),
        await write("POST", **{"If-None-Match": "*"}),
        await write("POST", **{"If-Match": '"nope"', "x-upsert": "true"}),
        await write("DELETE", **{"If-Match": '"nope"'}),
        (await store.get("object/open/conditional", **{"If-Match": '"nope"'})).status,
        (
            await store.get("object/public/open/conditional", **{"If-Match": '"nope"', "If-None-Match": tag})
        ).status,
        (
            await store.get(
                "object/open/conditional", **{"If-Unmodified-Since": "Sat, 01 Jan 2000 00:00:00 GMT"}
            )
        ).status,
    ]

    assert (status, refused) == (200, [412] * len(refused))
    assert (await store.get("object/open/conditional", **{"If-Match": tag})).body == b"first"
    assert store.blobs() == blobs
    assert await write("PUT", **{"If-Match": tag}) == 200
    assert (await store.get("object/open/conditional")).body == b"second"


async def test_packed_bytes_come_back_with_their_encoding(store: Storehouse) -> None:
    packed = gzip.compress(b"let a = 1\n" * 1000)
    sent = {"Content-Encoding": "gzip", "Content-Language": "de", "Expires": "Thu, 01 Dec 2033 16:00:00 GMT"}
    status, told = await store.upload("open/packed.js", packed, **sent)

    raw = {name: store.headers[name] for name in store.headers}
    async with aiohttp.ClientSession(headers=raw, auto_decompress=False) as client:
        async with client.get(store.url("object/public/open/packed.js")) as answer:
            assert await answer.read() == packed
            assert {name: answer.headers[name] for name in sent} == sent
        tag = {"If-None-Match": answer.headers["ETag"]}
        async with client.get(store.url("object/public/open/packed.js"), headers=tag) as unchanged:
            assert (unchanged.status, unchanged.headers.get("Content-Encoding")) == (304, None)

    assert status == 200, told
    assert (await store.get("object/public/open/packed.js")).body == b"let a = 1\n" * 1000


@pytest.mark.parametrize(
    "path",
    [
        "status",
        "version",
        "health",
        "bucket",
        "bucket/open",
        "object/info/open/headed",
        "object/info/public/open/headed",
    ],
)
async def test_head_has_the_headers_of_get_and_no_body(store: Storehouse, path: str) -> None:
    await store.upload("open/headed", b"bytes", **{"x-upsert": "true"})

    async with store.client.head(store.url(path)) as head, store.client.get(store.url(path)) as whole:
        assert (head.status, await head.read()) == (200, b"")
        kept = ("Content-Type", "ETag", "Last-Modified", "Cache-Control")
        assert [head.headers.get(name) for name in kept] == [whole.headers.get(name) for name in kept]


async def test_typed_text_parts_of_a_form_are_fields(store: Storehouse) -> None:
    form = aiohttp.FormData()
    form.add_field("metadata", '{"a":1}', content_type="text/plain")
    form.add_field("cacheControl", "60", content_type="text/plain")
    form.add_field("", b"hello", filename="a.txt", content_type="text/css")
    form.add_field("contentLanguage", "de", content_type="text/plain")

    status, told = await store.upload("open/form", form)

    shown = json.loads((await store.get("object/info/open/form")).body)
    whole = await store.get("object/open/form")
    assert status == 200, told
    assert (shown["metadata"], shown["content_type"], shown["cache_control"]) == (
        {"a": 1},
        "text/css",
        "max-age=60",
    )
    assert (whole.body, whole.headers["Content-Language"]) == (b"hello", "de")


async def test_pages_are_served_as_text_and_headers_let_browsers_in(store: Storehouse) -> None:
    await store.upload("open/page.html", b"<script>", **{"Content-Type": "text/html; charset=utf-8"})

    read = await store.get("object/public/open/page.html", origin="https://app.example")
    missing = await store.get("object/public/open/none", origin="https://app.example")
    ask = {
        "origin": "https://app.example",
        "access-control-request-method": "PUT",
        "access-control-request-headers": "x-upsert,apikey",
    }
    async with store.client.options(store.url("object/open/page.html"), headers=ask) as preflight:
        allowed = preflight.headers

    assert read.headers["content-type"].startswith("text/plain")
    assert read.headers["x-content-type-options"] == "nosniff"
    assert [each.headers["access-control-allow-origin"] for each in (read, missing)] == ["*", "*"]
    assert preflight.status in (200, 204)
    assert "PUT" in allowed["access-control-allow-methods"]
    assert "x-upsert" in allowed["access-control-allow-headers"].lower()


# --- Many --------------------------------------------------------------------------------------------------------


async def test_a_thousand_uploads_at_32_at_once_are_all_stored(store: Storehouse) -> None:
    gate = asyncio.Semaphore(32)

    async def one(number: int) -> int:
        async with gate:
            return (await store.upload(f"open/many/{number}", f"words {number}".encode()))[0]

    statuses = await asyncio.gather(*(one(number) for number in range(1000)))

    assert set(statuses) == {200}
    found = await store.database.fetchval("select count(*) from storage.objects where name like 'many/%'")
    assert found == 1000
    replaced = await store.database.fetch("select version from storage.tombstones")
    assert store.blobs() - {row["version"] for row in replaced} == await store.rows()
    assert (await store.get("object/public/open/many/777")).body == b"words 777"
    assert not store.staged()
