"""Files that mean harm, through a real decoder with its real limits: each ends in a refusal or a small picture.

Memory of the decoder is bounded by the kernel; here its peak is read as well, for a bound that is reached is a
bound that was not needed before.
"""

import asyncio
import os
import struct
import zlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pyvips

from schemas.images.transform import Output, Transform
from tests.workers.images.from_fork import from_fork
from tests.workers.images.rendering import rendered, running
from tests.workers.images.samples import (
    chunk,
    gzipped,
    is_near,
    long_gif,
    opened,
    pixel,
    plain,
    png,
    quarters,
    svg,
    written,
    zipped_zeros,
)
from workers.images.decoder_processes import DecoderProcesses
from workers.images.errors import ImageError, SourceTooManyPixels, SourceUnsupported
from workers.images.limits import DecoderLimits

MIB = 2**20
SOUND = from_fork(lambda: written(quarters(), "png"))
LAUGHS = "".join(f'<!ENTITY l{at} "{f"&l{at - 1};" * 10}">' for at in range(1, 12))


@pytest.fixture(scope="module")
async def decoders() -> AsyncIterator[DecoderProcesses]:
    async with running(DecoderLimits(timeout=10)) as one:
        yield one


def peak(decoders: DecoderProcesses) -> int:
    """Give the most memory the decoder has had, in bytes."""
    status = Path(f"/proc/{decoders.pids[0]}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


@pytest.fixture
async def fresh() -> AsyncIterator[DecoderProcesses]:
    """Decoders whose peak is that of one test; their time limit is not what it is about."""
    async with running(DecoderLimits(timeout=120)) as one:
        yield one


@pytest.mark.parametrize(
    "source",
    [
        lambda: png(30_000, 30_000, depth=1, colour=0),
        lambda: png(50_001, 1_000, rows=b""),
        lambda: png(2**31 - 1, 2**31 - 1, rows=b""),
        lambda: b"GIF89a\xff\xff\xff\xff\0\0\0;",
        lambda: svg(100_000, 100_000),
        lambda: svg("1e9", "1e9"),
    ],
    ids=["wide and high", "wide", "widest", "gif", "svg", "svg 1e9"],
)  # fmt: skip
async def test_a_picture_of_too_many_pixels_is_refused_by_its_header(
    fresh: DecoderProcesses, source: Callable[[], bytes]
) -> None:
    with pytest.raises((SourceTooManyPixels, SourceUnsupported)):
        await rendered(fresh, source())

    assert peak(fresh) < 120 * MIB


async def test_the_largest_picture_there_may_be_stays_within_memory(fresh: DecoderProcesses) -> None:
    source = png(7_000, 7_000, depth=16, colour=6, level=1)
    assert len(source) < 4 * MIB

    made, _ = await rendered(fresh, source, Transform(100, 100), "webp")

    assert (made.width, made.height) == (100, 100)
    assert peak(fresh) < 400 * MIB


async def test_a_picture_that_needs_more_memory_than_there_is_is_refused() -> None:
    flat = plain(5_000, 5_000)
    async with running(DecoderLimits(memory=100 * MIB, timeout=20)) as decoders:
        for source in (
            written(flat, "png", interlace=True, compression=1),
            written(flat, "webp", lossless=True, effort=0),
            written(flat, "jpg", interlace=True, subsample_mode="off"),
        ):
            with pytest.raises(SourceTooManyPixels):
                await rendered(decoders, source)
        made, _ = await rendered(decoders, SOUND)

    assert made.width == 20


async def test_a_moving_picture_of_ten_thousand_frames_costs_sixty(fresh: DecoderProcesses) -> None:
    source = long_gif(10_000)

    made, data = await rendered(fresh, source, Transform(5, 5), "origin")

    assert made.content_type == "image/gif"
    assert opened(data).get_typeof("n-pages") == 0 or opened(data).get("n-pages") <= 60
    assert peak(fresh) < 120 * MIB


@pytest.mark.parametrize(
    "extra",
    [
        lambda: chunk(b"iTXt", b"Comment\0\1\0\0\0" + zipped_zeros(128 * MIB)),
        lambda: chunk(b"zTXt", b"Comment\0\0" + zipped_zeros(128 * MIB)),
        lambda: chunk(b"iCCP", b"profile\0\0" + zipped_zeros(128 * MIB)),
        lambda: b"".join(chunk(b"tEXt", b"Comment\0" + bytes(10)) for _ in range(100_000)),
        lambda: b"".join(chunk(b"zTXt", b"Comment\0\0" + zipped_zeros(4 * MIB)) for _ in range(200)),
        lambda: chunk(b"eXIf", b"Exif\0\0MM\0*\0\0\0\x08" + struct.pack(">H", 65535) + bytes(60)),
    ],
    ids=["iTXt", "zTXt", "iCCP", "many", "many packed", "exif"],
)  # fmt: skip
async def test_what_is_packed_beside_the_pixels_is_not_unpacked_without_end(
    fresh: DecoderProcesses, extra: bytes
) -> None:
    try:
        made, _ = await rendered(fresh, png(40, 20, extra()))
    except SourceUnsupported:
        pass
    else:
        assert made.width == 20

    assert peak(fresh) < 250 * MIB


async def test_pixels_that_do_not_end_are_refused_or_cut(decoders: DecoderProcesses) -> None:
    try:
        made, _ = await rendered(decoders, png(10, 10, rows=zipped_zeros(128 * MIB)))
    except SourceUnsupported:
        return
    assert made.width == 10


async def test_a_profile_in_many_pieces_is_no_bomb(decoders: DecoderProcesses) -> None:
    jpeg = written(quarters(), "jpg")
    piece = b"ICC_PROFILE\0\1\xff" + zlib.compress(b"x")[:2] * 20
    segments = (b"\xff\xe2" + struct.pack(">H", len(piece) + 2) + piece) * 5_000

    try:
        made, _ = await rendered(decoders, jpeg[:2] + segments + jpeg[2:])
    except SourceUnsupported:
        return
    assert made.width == 20


@pytest.mark.parametrize(
    "source",
    [
        lambda: svg(head=f'<!DOCTYPE svg [<!ENTITY l0 "laugh">{LAUGHS}]>', inside="<text>&l11;</text>"),
        lambda: svg(head='<!DOCTYPE svg [<!ENTITY a "&a;">]>', inside="<text>&a;</text>"),
        lambda: svg(inside="<g>" * 100_000),
        lambda: svg(inside="<g>" * 20_000 + "</g>" * 20_000),
        lambda: svg(inside='<g id="a"><use href="#a"/></g>'),
        lambda: svg(
            inside="".join(
                f'<g id="g{at}">{f"""<use href="#g{at + 1}"/>""" * 10}</g>' for at in range(12)
            )
            + '<g id="g12"><rect width="1" height="1"/></g>'
        ),
        lambda: svg(inside='<pattern id="p" width="1" height="1"><rect width="9" height="9" fill="url(#p)"/></pattern><rect width="9" height="9" fill="url(#p)"/>'),
        lambda: gzipped(svg(inside=" " * 50 * MIB)),
    ],
    ids=["laughs", "own entity", "deep", "deep and closed", "own use", "uses", "own pattern", "packed"],
)  # fmt: skip
@pytest.mark.parametrize("output", ["png", "auto"])
async def test_a_drawing_that_grows_without_end_is_refused_or_empty(
    source: Callable[[], bytes], output: Output
) -> None:
    async with running(DecoderLimits(timeout=3)) as fresh:
        try:
            made, _ = await rendered(fresh, source(), output=output)
        except ImageError:
            pass
        else:
            assert made.size == 0 or made.width <= 20

        assert not fresh.pids or peak(fresh) < 400 * MIB


@pytest.mark.parametrize(
    "inside",
    [
        '<image href="{url}" width="80" height="40"/>',
        '<image xlink:href="{url}" width="80" height="40"/>',
        '<style>@import url("{url}");</style><rect width="100%" height="100%" fill="#00ff00"/>',
        '<use href="{url}#a"/>',
        '<rect width="80" height="40" fill="url({url}#a)"/>',
        '<filter id="f"><feImage href="{url}"/></filter><rect width="80" height="40" filter="url(#f)"/>',
        '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="{url}" parse="text"/>',
        '<foreignObject width="80" height="40"><img xmlns="http://www.w3.org/1999/xhtml" src="{url}"/></foreignObject>',
    ],
)
@pytest.mark.parametrize("scheme", ["http", "file"])
async def test_a_drawing_reaches_nothing_outside_of_itself(
    decoders: DecoderProcesses, inside: str, scheme: str, tmp_path: Path
) -> None:
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readline())
        writer.close()

    secret = tmp_path / "secret.png"
    secret.write_bytes(written(plain(80, 40, (255, 0, 0)), "png"))
    os.chmod(secret, 0o644)
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        url = f"http://127.0.0.1:{port}/a.png" if scheme == "http" else secret.as_uri()
        try:
            _, data = await rendered(decoders, svg(inside=inside.format(url=url)), Transform(80, 40))
        except SourceUnsupported:
            data = b""

    assert not asked
    assert not data or not is_near(pixel(opened(data), 40, 20)[:3], (255, 0, 0), 60)


async def test_an_entity_of_a_drawing_reads_no_file(decoders: DecoderProcesses, tmp_path: Path) -> None:
    secret = tmp_path / "secret.svg"
    secret.write_text('<rect xmlns="http://www.w3.org/2000/svg" width="80" height="40" fill="#ff0000"/>')
    source = svg(head=f'<!DOCTYPE svg [<!ENTITY x SYSTEM "{secret.as_uri()}">]>', inside="&x;")

    try:
        _, data = await rendered(decoders, source, Transform(80, 40))
    except SourceUnsupported:
        return

    assert not is_near(pixel(opened(data), 40, 20)[:3], (255, 0, 0), 60)


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "gif", "avif", "tif"])
async def test_files_cut_anywhere_never_end_the_decoder(decoders: DecoderProcesses, suffix: str) -> None:
    noise = pyvips.Image.gaussnoise(64, 64, mean=128, sigma=40).cast("uchar").copy(interpretation="b-w")
    source = written(noise, suffix)
    await rendered(decoders, SOUND)
    before = decoders.pids

    for size in range(0, len(source), max(1, len(source) // 40)):
        try:
            await rendered(decoders, source[:size])
        except SourceUnsupported:
            continue

    assert decoders.pids == before


async def test_a_sound_picture_is_rendered_after_all_of_this(decoders: DecoderProcesses) -> None:
    made, data = await rendered(decoders, SOUND)

    assert (made.width, made.height) == (20, 20)
    assert opened(data).width == 20
