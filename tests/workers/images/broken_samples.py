"""Images that are slightly broken, each made from a whole one: the corpus of docs/storage.md, "Images that are slightly broken"."""

import struct
import zlib
from typing import Any

import pyvips

from tests.workers.images.from_fork import from_fork
from tests.workers.images.samples import chunk, moving, png, quarters, svg, written


def noise(width: int = 160, height: int = 80) -> Any:
    """Return a photograph-like image: every part of its file holds pixels."""
    grey = pyvips.Image.gaussnoise(width, height, mean=128, sigma=50, seed=7).cast("uchar")
    return grey.bandjoin([grey.rot180(), grey.fliphor()]).copy(interpretation="srgb")


def start(data: bytes, part: float) -> bytes:
    """Return the first part of a file."""
    return data[: int(len(data) * part)]


def with_byte(data: bytes, at: int) -> bytes:
    """Return a file with all bits of one byte turned over."""
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def with_exif(data: bytes, exif: bytes) -> bytes:
    """Return a JPEG with a block of EXIF behind its first marker."""
    block = b"Exif\0\0" + exif
    return data[:2] + b"\xff\xe1" + struct.pack(">H", len(block) + 2) + block + data[2:]


def orientation(value: int) -> bytes:
    """Return EXIF whose only entry is the orientation."""
    return b"MM\0*\0\0\0\x08" + struct.pack(">HHHIHHI", 1, 0x0112, 3, 1, value, 0, 0)


def _files() -> tuple[dict[str, bytes], dict[str, bytes], dict[str, bytes]]:
    """Return files that are rendered whole, in part, and not at all."""
    quarters_jpeg, noise_jpeg = written(quarters(160, 80), "jpg"), written(noise(), "jpg")
    quarters_png, noise_png = written(quarters(160, 80), "png"), written(noise(), "png")
    scan = noise_jpeg.index(b"\xff\xda")
    pixels = quarters_png.index(b"IDAT")
    pixels_size = struct.unpack(">I", quarters_png[pixels - 4 : pixels])[0]
    head = quarters_png.index(b"IHDR")
    interlaced = bytes(noise().pngsave_buffer(interlace=True))
    cmyk = quarters(160, 80).colourspace("cmyk")
    deep = quarters(160, 80).colourspace("rgb16")

    whole = {
        "JPEG without an end marker": quarters_jpeg[:-2],
        "JPEG with other bytes behind it": quarters_jpeg + b"rubbish" * 100,
        "JPEG with an EXIF orientation that does not exist": with_exif(quarters_jpeg, orientation(9)),
        "JPEG with an EXIF orientation of 0": with_exif(quarters_jpeg, orientation(0)),
        "JPEG with rubbish for EXIF": with_exif(quarters_jpeg, b"II*\0\xff\xff\xff\xff" + b"\xee" * 50),
        "JPEG in CMYK": bytes(cmyk.jpegsave_buffer(keep="none")),
        "progressive JPEG": bytes(quarters(160, 80).jpegsave_buffer(interlace=True)),
        "PNG with a wrong checksum of its pixels": with_byte(quarters_png, pixels + 4 + pixels_size),
        "PNG with a wrong checksum of its head": with_byte(quarters_png, head + 4 + 13),
        "PNG without an end": quarters_png[:-12],
        "PNG with 16 bits": bytes(deep.pngsave_buffer(bitdepth=16)),
        "interlaced PNG": bytes(quarters(160, 80).pngsave_buffer(interlace=True)),
        "PNG with a text of a wrong checksum": quarters_png[: pixels - 4]
        + with_byte(chunk(b"tEXt", b"a\0b"), 12)
        + quarters_png[pixels - 4 :],
    }

    parts = {
        "JPEG that ends in the middle": start(noise_jpeg, 0.6),
        "JPEG with damaged pixels": noise_jpeg[: scan + 40] + bytes(20) + noise_jpeg[scan + 60 :],
        "PNG that ends in the middle": start(noise_png, 0.5),
        "PNG with a wrong checksum inside its pixels": with_byte(noise_png, len(noise_png) - 12 - 5),
        "GIF without an end": written(noise(), "gif")[:-1],
        "GIF that ends in the middle": start(written(noise(), "gif"), 0.6),
        "animated GIF that ends in the middle": start(written(moving(6), "gif"), 0.7),
    }

    unsupported = {
        "JPEG without pixels": noise_jpeg[: scan + 14],
        "JPEG of which only the head is there": noise_jpeg[:40],
        "PNG without pixels": noise_png[: noise_png.index(b"IDAT") + 4],
        "PNG whose pixels are no zlib stream": png(160, 80, rows=b"not zlib at all" * 9),
        "interlaced PNG that ends in the middle": start(interlaced, 0.5),
        "WebP that ends in the middle": start(written(noise(), "webp"), 0.6),
        "animated WebP that ends in the middle": start(written(moving(6), "webp"), 0.7),
        "AVIF that ends in the middle": start(written(noise(), "avif"), 0.6),
        "TIFF that ends in the middle": start(written(noise(), "tif"), 0.6),
        "HEIC": b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(64),
        "empty file": b"",
    }
    return whole, parts, unsupported


WHOLE_QUARTERS, PARTS, UNSUPPORTED = from_fork(_files)
"""Files that are rendered as the whole image, the four quarters; as far as they can be decoded; those that are answered with 400."""

_BLACK_PNG = png(160, 80)
DRAWINGS = {
    "SVG with an element that is not closed": svg().replace(b"</svg>", b"<g>"),
    "SVG that ends in the middle": svg()[:-20],
    "SVG with an entity that is not declared": svg(inside="<text>&nbsp;</text>"),
    "SVG with an attribute twice": svg(inside='<rect x="1" x="2"/>'),
}
"""Drawings that are not well-formed."""

BLACK_WITH_A_WRONG_CHECKSUM = with_byte(
    _BLACK_PNG,
    _BLACK_PNG.index(b"IDAT") + 4 + struct.unpack(">I", _BLACK_PNG[_BLACK_PNG.index(b"IDAT") - 4 :][:4])[0],
)
"""Every pixel of it is zero, as where nothing was decoded, but all of them were."""

ONE_ROW = png(160, 80, rows=zlib.compress(b"\0" + b"\x50" * 480))
"""A PNG with the pixels of one row of eighty."""
