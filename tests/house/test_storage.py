"""What the storage may not do: grow with what it carries, keep what was not acknowledged, leave a caller without an answer."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.house.storage_house import LIMIT, SETTINGS, Storehouse, open_storehouse, until
from tests.platform import Platform, platform

pytestmark = [pytest.mark.xdist_group("house"), pytest.mark.timeout(180)]

MIB = 1024 * 1024
MOST_GROWTH = 64 * MIB
TOO_LARGE = "The object exceeded the maximum allowed size"


@pytest.fixture(scope="module")
def place() -> Iterator[Platform]:
    """A platform that takes objects of 256 MiB, and waits two seconds for a body."""
    with platform(environment=SETTINGS) as one:
        yield one


@pytest.fixture(scope="module")
async def store(place: Platform) -> AsyncIterator[Storehouse]:
    """The storage of that platform."""
    async for one in open_storehouse(place):
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


# --- Reading through the door ------------------------------------------------------------------------------------


async def test_ranges_and_conditions_go_through_the_door(store: Storehouse) -> None:
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
    assert store.blobs() == await store.rows()
    assert (await store.get("object/public/open/many/777")).body == b"words 777"
    assert not store.staged()
