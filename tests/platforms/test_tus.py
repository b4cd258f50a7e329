"""Resumable uploads through the gateway of a whole platform: what arrived is stored, whichever process dies, and nothing else is."""

import asyncio
import base64
import contextlib
import hashlib
import os
import signal
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest

from tests.platform import Platform, platform
from tests.platforms.storage_requests import (
    LIMIT,
    PATIENCE_S,
    SETTINGS,
    SlowUpload,
    Storehouse,
    open_storehouse,
    until,
)
from tests.platforms.tus_client import Tus, version_of

pytestmark = [pytest.mark.process_group("tus"), pytest.mark.timeout(180)]

MIB = 1024 * 1024
MOST_GROWTH = 64 * MIB
TRUSTING = {**SETTINGS, "HEADWATER_GATEWAY_TRUSTED_PROXIES": "127.0.0.1"}


@pytest.fixture(scope="module")
def running_platform() -> Iterator[Platform]:
    """A platform behind a proxy on this machine."""
    with platform(environment=TRUSTING) as one:
        yield one


@pytest.fixture(scope="module")
async def store(running_platform: Platform) -> AsyncIterator[Storehouse]:
    """The storage of that platform."""
    async for one in open_storehouse(running_platform):
        yield one


@pytest.fixture
def tus(store: Storehouse) -> Tus:
    return Tus(store)


async def read(tus: Tus, key: str) -> bytes:
    """Give the bytes of an object of the open bucket."""
    got = await tus.store.get(f"object/public/{key}")
    assert got.status == 200, got
    return got.body


# --- The protocol ------------------------------------------------------------------------------------------------


async def test_an_upload_goes_through_the_gateway_in_pieces(tus: Tus) -> None:
    data = os.urandom(3 * MIB)

    begun = await tus.create("open/pieces/\u00e9t\u00e9.bin", len(data))
    url = begun.headers["location"]
    first = await tus.patch(url, 0, data[:MIB])
    shown = await tus.ask("HEAD", url)
    last = await tus.patch(url, MIB, data[MIB:])

    assert (begun.status, url.startswith(tus.store.url("upload/resumable/"))) == (201, True)
    assert (first.status, first.headers["upload-offset"]) == (204, str(MIB))
    assert (shown.status, shown.headers["cache-control"]) == (200, "no-store")
    assert (shown.headers["upload-offset"], shown.headers["upload-length"]) == (str(MIB), str(len(data)))
    assert (last.status, last.headers["tus-complete"]) == (204, "1")
    assert await read(tus, "open/pieces/%C3%A9t%C3%A9.bin") == data
    assert {each.headers["tus-resumable"] for each in (begun, first, shown, last)} == {"1.0.0"}
    await until(lambda: tus.on_disk(url) == 0, "what was appended stays although the object has it")


async def test_bytes_ride_with_the_creation_and_the_length_comes_last(tus: Tus) -> None:
    begun = await tus.create("open/riding", None, b"hello ")
    url = begun.headers["location"]
    shown = await tus.ask("HEAD", url)

    done = await tus.patch(url, 6, b"world", Upload_Length="11")

    assert (begun.status, begun.headers["upload-offset"]) == (201, "6")
    assert (shown.headers["upload-defer-length"], "upload-length" in shown.headers) == ("1", False)
    assert (done.status, await read(tus, "open/riding")) == (204, b"hello world")


async def test_what_is_spoken_here_is_told_to_all(tus: Tus) -> None:
    url = tus.store.url("upload/resumable")
    for each in (url, f"{url}/sign", f"{url}/any"):
        async with tus.store.client.options(each, headers={"Origin": "https://app.example"}) as answer:
            told = answer.headers
            assert answer.status == 204
            assert (told["tus-version"], told["tus-max-size"]) == ("1.0.0", str(5 * 1024 * MIB))
            assert "creation-with-upload" in told["tus-extension"]
            assert told["tus-checksum-algorithm"] == "md5,sha1"
            assert told["access-control-allow-origin"] in ("*", "https://app.example")
            assert "x-signature" in told["access-control-allow-headers"]
            assert "PATCH" in told["access-control-allow-methods"]


async def test_another_version_of_the_protocol_is_refused(tus: Tus) -> None:
    url = await tus.begun("open/version", 3)

    for method, where in (
        ("POST", tus.store.url("upload/resumable")),
        ("HEAD", url),
        ("PATCH", url),
        ("DELETE", url),
    ):
        heard = await tus.ask(method, where, Tus_Resumable="0.2.2")
        assert (heard.status, heard.headers["tus-version"]) == (412, "1.0.0")


async def test_post_may_stand_for_the_methods_that_a_proxy_does_not_pass(tus: Tus) -> None:
    url = await tus.begun("open/overridden", 5)

    done = await tus.ask(
        "POST", url, b"words", X_HTTP_Method_Override="PATCH", Upload_Offset="0",
        Content_Type="application/offset+octet-stream",
    )  # fmt: skip

    assert (done.status, await read(tus, "open/overridden")) == (204, b"words")


@pytest.mark.parametrize("algorithm", ["md5", "sha1"])
async def test_a_piece_counts_only_with_its_checksum(tus: Tus, algorithm: str) -> None:
    data = os.urandom(2 * MIB)
    url = await tus.begun(f"open/{algorithm}", len(data))

    def told(of: bytes) -> str:
        return f"{algorithm} {base64.b64encode(hashlib.new(algorithm, of).digest()).decode()}"

    wrong = await tus.patch(url, 0, data[:MIB], Upload_Checksum=told(b"x"))
    other = await tus.patch(url, 0, data[:MIB], Upload_Checksum="crc32 AAAA")
    offset = await tus.offset(url)
    first = await tus.patch(url, 0, data[:MIB], Upload_Checksum=told(data[:MIB]))
    last = await tus.patch(url, MIB, data[MIB:], Upload_Checksum=told(data[MIB:]))

    assert (wrong.status, other.status, offset) == (460, 400, 0)
    assert (first.status, last.status, await read(tus, f"open/{algorithm}")) == (204, 204, data)
    await tus.store.quiet()


async def test_limits_hold_whoever_lies_about_the_length(tus: Tus) -> None:
    endless = await tus.begun("small/endless", None)

    told = await tus.create("small/told", LIMIT + 1)
    beyond = await tus.patch(endless, 0, _pieces(LIMIT // 2, 4))
    longer = await tus.patch(await tus.begun("small/longer", 5), 0, b"longer")

    assert [each.status for each in (told, beyond, longer)] == [413, 413, 409]
    assert await tus.offset(endless) <= LIMIT
    assert not await tus.store.has_row("endless")


async def _pieces(size: int, count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield bytes(size)


async def test_who_says_nothing_is_refused_and_a_token_of_an_upload_will_do(tus: Tus) -> None:
    async with tus.store.client.post(tus.store.url("object/upload/sign/small/signed"), json={}) as answer:
        token = (await answer.json())["token"]
    url, nobody = tus.store.url("upload/resumable"), {"apikey": "", "Authorization": ""}
    words = "bucketName c21hbGw=,objectName c2lnbmVk"

    plain = await tus.ask("POST", url, Upload_Length="5", Upload_Metadata=words, **nobody)
    signed = {**nobody, "x_signature": token}
    begun = await tus.ask("POST", f"{url}/sign", Upload_Length="5", Upload_Metadata=words, **signed)
    bare = await tus.patch(begun.headers["location"], 0, b"words", **nobody)
    done = await tus.patch(begun.headers["location"], 0, b"words", **signed)

    assert (plain.status, begun.status) == (401, 201)
    assert begun.headers["location"].startswith(f"{url}/sign/")
    assert (bare.status, bare.text, done.status) == (400, "Missing x-signature header", 204)


async def test_a_proxy_that_is_trusted_tells_where_the_storage_is(tus: Tus) -> None:
    told = {
        "X_Forwarded_Proto": "https", "X_Forwarded_Host": "api.example.com", "X_Forwarded_Port": "8443",
        "X_Forwarded_Prefix": "/backend",
    }  # fmt: skip

    url = await tus.begun("open/proxied", 3, **told)

    assert url.startswith("https://api.example.com:8443/backend/storage/v1/upload/resumable/")


# --- What is broken off ------------------------------------------------------------------------------------------


async def test_a_body_that_ends_early_keeps_every_byte_that_arrived(tus: Tus) -> None:
    data = os.urandom(5 * MIB)
    url = await tus.begun("open/broken", len(data))
    sent = 3 * MIB + 123
    slow = await tus.slow(url, 0, len(data))
    await slow.send(data[:sent])

    slow.writer.write_eof()
    await _left(slow)

    assert await tus.offset(url) == sent
    slow.leave()
    assert (await tus.patch(url, sent, data[sent:])).status == 204
    assert await read(tus, "open/broken") == data


async def _left(slow: SlowUpload) -> None:
    """Wait until the other side has left, with or without a word."""
    async with asyncio.timeout(PATIENCE_S):
        with contextlib.suppress(ConnectionError):
            await slow.reader.read()


async def test_a_client_that_vanishes_goes_on_where_it_was(tus: Tus) -> None:
    data = os.urandom(5 * MIB)
    url = await tus.begun("open/vanished", len(data))
    slow = await tus.slow(url, 0, len(data))
    await slow.send(data[: 3 * MIB])
    await until(lambda: tus.on_disk(url) >= MIB, "nothing is kept while the body comes")

    slow.leave()

    offset = await tus.offset(url)
    assert MIB <= offset <= 3 * MIB
    assert (await tus.patch(url, offset, data[offset:])).status == 204
    assert await read(tus, "open/vanished") == data


async def test_a_body_that_stops_is_timed_out_and_kept(tus: Tus) -> None:
    url = await tus.begun("open/stopped", 10)
    slow = await tus.slow(url, 0, 10)
    await slow.send(b"words")

    async with asyncio.timeout(PATIENCE_S):
        assert (await slow.reader.readline()).split()[1] == b"408"

    slow.leave()
    assert await tus.offset(url) == 5


async def test_a_body_that_drips_is_timed_out_and_kept(tus: Tus) -> None:
    url = await tus.begun("open/drips", MIB)
    slow = await tus.slow(url, 0, MIB)
    answering = asyncio.ensure_future(slow.reader.readline())

    async with asyncio.timeout(PATIENCE_S):
        await slow.drip(answering)
        assert (await answering).split()[1] == b"408"

    slow.leave()
    offset = await tus.offset(url)
    assert 0 < offset < 300
    assert (await tus.patch(url, offset, bytes(MIB - offset))).status == 204
    assert await read(tus, "open/drips") == b"x" * offset + bytes(MIB - offset)


async def test_a_look_at_an_upload_makes_its_writer_let_go(tus: Tus) -> None:
    data = os.urandom(4 * MIB)
    url = await tus.begun("open/looked-at", len(data))
    slow = await tus.slow(url, 0, len(data))
    await slow.send(data[: 2 * MIB])
    await until(lambda: tus.on_disk(url) >= MIB, "the upload did not begin")

    offset = await tus.offset(url)

    assert (await slow.reader.readline()).split()[1] == b"423"
    slow.leave()
    assert MIB <= offset <= 2 * MIB
    assert (await tus.patch(url, offset, data[offset:])).status == 204
    assert await read(tus, "open/looked-at") == data


async def test_of_writers_at_once_one_wins_and_no_byte_is_doubled(tus: Tus) -> None:
    data = os.urandom(2 * MIB)
    url = await tus.begun("open/at-once", len(data))

    heard = await asyncio.gather(*(tus.patch(url, 0, data) for _ in range(4)))
    if (offset := await tus.offset(url)) < len(data):
        assert (await tus.patch(url, offset, data[offset:])).status == 204

    assert {each.status for each in heard} <= {204, 409, 423}, heard
    assert await read(tus, "open/at-once") == data


async def test_an_edge_that_dies_loses_no_byte_that_was_kept(tus: Tus) -> None:
    data = os.urandom(6 * MIB)
    url = await tus.begun("open/edge", len(data))
    slow = await tus.slow(url, 0, len(data))
    await slow.send(data[: 4 * MIB])
    await until(lambda: tus.on_disk(url) >= MIB, "the upload did not begin")

    os.kill(tus.store.process("edges").pid, signal.SIGKILL)

    await _left(slow)
    slow.leave()
    kept = tus.on_disk(url)
    offset = await _offset_when_back(tus, url)
    assert offset == kept
    assert (await tus.patch(url, offset, data[offset:])).status == 204
    assert await read(tus, "open/edge") == data


async def test_a_worker_that_dies_before_the_row_is_written_loses_nothing(tus: Tus) -> None:
    data = os.urandom(2 * MIB)
    url = await tus.begun("open/worker", len(data))
    slow = await tus.slow(url, 0, len(data))
    await slow.send(data[: MIB + 1])
    await until(lambda: tus.on_disk(url) > 0, "the upload did not begin")

    os.kill(tus.store.process("pools").pid, signal.SIGKILL)
    await slow.send(data[MIB + 1 :])
    async with asyncio.timeout(PATIENCE_S):
        assert (await slow.reader.readline()).split()[1] in (b"204", b"503")

    slow.leave()
    assert await _offset_when_back(tus, url) == len(data)
    assert await read(tus, "open/worker") == data


async def _offset_when_back(tus: Tus, url: str) -> int:
    """Give how far an upload came, once what died is replaced and the right of its writer has lapsed."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                heard = await tus.ask("HEAD", url)
            except (OSError, aiohttp.ClientError):
                heard = None
            if heard is not None and heard.status == 200:
                return int(heard.headers["upload-offset"])
            assert heard is None or heard.status >= 500, heard
            await asyncio.sleep(0.1)


# --- What is left ------------------------------------------------------------------------------------------------


async def test_an_upload_that_is_ended_or_expires_leaves_no_byte(tus: Tus) -> None:
    ended, late = [await tus.begun(f"open/{name}", 2 * MIB) for name in ("ended", "late")]
    for url in (ended, late):
        assert (await tus.patch(url, 0, bytes(MIB))).status == 204

    over = await tus.ask("DELETE", ended)
    await tus.store.database.execute(
        "update storage.tus_uploads set expires_at = now() where version = $1", version_of(late)
    )

    assert (over.status, tus.on_disk(ended)) == (204, 0)
    assert (await tus.ask("HEAD", ended)).status == 404
    assert (await tus.ask("HEAD", late)).status in (404, 410)
    await until(lambda: tus.on_disk(late) == 0, "the sweep does not see what has expired")
    assert (await tus.ask("HEAD", late)).status in (404, 410)


async def test_memory_stays_flat_while_200_mib_come_in_one_piece(tus: Tus) -> None:
    piece, count = bytes(range(256)) * 4096, 200
    parts = {name: tus.store.process(name) for name in ("edges", "pools", "nats")}
    await tus.patch(await tus.begun("open/warm", 24 * MIB), 0, _repeated(piece, 24))
    before = {name: each.memory_info().rss for name, each in parts.items()}
    most = dict(before)
    url = await tus.begun("open/large", count * MIB)

    async def body() -> AsyncIterator[bytes]:
        async for each in _repeated(piece, count):
            for name, part in parts.items():
                most[name] = max(most[name], part.memory_info().rss)
            yield each

    done = await tus.patch(url, 0, body())

    growth = {name: (most[name] - before[name]) / MIB for name in parts}
    print(f"growth in MiB: {growth}")
    assert (done.status, done.headers["tus-complete"]) == (204, "1")
    shown = await tus.store.client.head(tus.store.url("object/public/open/large"))
    assert shown.headers["etag"].strip('"') == hashlib.md5(piece * count).hexdigest()
    assert all(each * MIB < MOST_GROWTH for each in growth.values()), growth


async def _repeated(piece: bytes, count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield piece
