"""Images for tests, made here: four coloured quarters in every format, moving pictures, and files that mean harm."""

import gzip
import struct
import zlib
from typing import Any

import pyvips

RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)
QUARTERS = {"nowe": RED, "noea": GREEN, "sowe": BLUE, "soea": WHITE}
"""Colour of each corner of `quarters`."""

STEPS = (RED, GREEN, BLUE)
"""Colours of the frames of `moving`."""


def plain(width: int, height: int, colour: tuple[int, ...] = RED) -> Any:
    """Give an image of one colour."""
    bands = pyvips.Image.black(width, height, bands=len(colour)) + list(colour)
    return bands.cast("uchar").copy(interpretation="srgb")


def quarters(width: int = 80, height: int = 40) -> Any:
    """Give an image whose four quarters have the colours of QUARTERS."""
    parts = [plain(width // 2, height // 2, colour) for colour in (RED, GREEN, BLUE, WHITE)]
    return pyvips.Image.arrayjoin(parts, across=2).copy(interpretation="srgb")


def moving(frames: int, width: int = 40, height: int = 20) -> Any:
    """Give a moving picture: frames of one of STEPS in turn; each lasts 30 ms, the whole is shown twice."""
    each = [plain(width, height, STEPS[at % len(STEPS)]) for at in range(frames)]
    image = pyvips.Image.arrayjoin(each, across=1).copy()
    image.set_type(pyvips.GValue.gint_type, "page-height", height)
    image.set_type(pyvips.GValue.array_int_type, "delay", [30] * frames)
    image.set_type(pyvips.GValue.gint_type, "loop", 2)
    return image


def turned(orientation: int) -> Any:
    """Give `quarters` with an EXIF rotation."""
    image = quarters().copy()
    image.set_type(pyvips.GValue.gint_type, "orientation", orientation)
    return image


def written(image: Any, suffix: str, **options: Any) -> bytes:
    """Give an image as a file."""
    if suffix == "avif":
        return bytes(image.heifsave_buffer(compression="av1", effort=0, **options))
    return bytes(image.write_to_buffer(f".{suffix}", **options))


def opened(data: bytes, options: str = "") -> Any:
    """Open a file."""
    return pyvips.Image.new_from_buffer(data, options)


def pixel(image: Any, x: int, y: int) -> tuple[int, ...]:
    """Give a pixel."""
    return tuple(round(value) for value in image(x, y))


def is_near(found: tuple[int, ...], wanted: tuple[int, ...], most: int = 12) -> bool:
    """Tell whether two colours look alike; what is written with loss is never quite the same."""
    return all(abs(a - b) <= most for a, b in zip(found, wanted, strict=False))


def svg(width: object = 80, height: object = 40, inside: str = "", head: str = "") -> bytes:
    """Give a drawing: green, or what is given."""
    inside = inside or '<rect width="100%" height="100%" fill="#00ff00"/>'
    space = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return (
        f'<?xml version="1.0"?>\n{head}<svg {space} width="{width}" height="{height}">{inside}</svg>'.encode()
    )


def slow_svg(width: int = 2000, height: int = 2000) -> bytes:
    """Give a drawing that takes minutes."""
    noise = '<feTurbulence type="turbulence" baseFrequency="0.9" numOctaves="9"/>'
    shapes = '<rect width="100%" height="100%" filter="url(#f)"/>' * 40
    return svg(width, height, f'<filter id="f">{noise}</filter>{shapes}')


def png(
    width: int,
    height: int,
    *extra: bytes,
    depth: int = 8,
    colour: int = 2,
    rows: bytes | None = None,
    level: int = 9,
) -> bytes:
    """Give a PNG made by hand: black, whatever its size, in a few KB; `extra` chunks stand before the pixels."""
    if rows is None:
        row = b"\0" + bytes((width * depth * {0: 1, 2: 3, 6: 4}[colour] + 7) // 8)
        packer = zlib.compressobj(level)
        rows = b"".join([*(packer.compress(row) for _ in range(height)), packer.flush()])
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"".join(
        [b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", head), *extra, chunk(b"IDAT", rows), chunk(b"IEND", b"")]
    )


def chunk(kind: bytes, data: bytes) -> bytes:
    """Give a PNG chunk."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def zipped_zeros(size: int) -> bytes:
    """Give so many zeros, deflated: a thousandth of them."""
    packer = zlib.compressobj(9)
    piece = bytes(1 << 20)
    return b"".join([*(packer.compress(piece) for _ in range(size >> 20)), packer.flush()])


def long_gif(frames: int, width: int = 10, height: int = 10) -> bytes:
    """Give a GIF of so many frames, each of one colour, made by hand."""
    head = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + bytes((255, 0, 0, 0, 0, 255))
    size = width * height
    codes: list[int] = []
    for at in range(size):  # clear the table before it grows: codes of three bits, whatever the pixels are
        codes += [4, 0] if at % 2 == 0 else [0]
    codes.append(5)
    bits = "".join(format(code, "03b")[::-1] for code in codes)
    packed = bytes(int(bits[at : at + 8][::-1], 2) for at in range(0, len(bits), 8))
    blocks = b"".join(
        bytes((len(packed[at : at + 255]),)) + packed[at : at + 255] for at in range(0, len(packed), 255)
    )
    frame = b"\x21\xf9\x04\x04\x03\x00\x00\x00\x2c" + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x02"
    return head + (frame + blocks + b"\0") * frames + b";"


def gzipped(data: bytes) -> bytes:
    """Give a file packed with gzip."""
    return gzip.compress(data)


FOREIGN = {
    "bmp": b"BM" + struct.pack("<IHHI", 70, 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, 2, 2, 1, 24, 0, 16, 1, 1, 0, 0) + bytes(16),
    "heic": b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(64),
    "mif1": bytes.fromhex("00000010667479706d69663100000000"),
    "pdf": b"%PDF-1.7\n1 0 obj<</Type/Catalog>>endobj\n",
    "jxl": bytes.fromhex("ff0affffffffffff"),
    "jp2": bytes.fromhex("0000000c6a5020200d0a870a00000014667479706a703220"),
    "ppm": b"P6\n2 2\n255\n" + bytes(12),
    "csv": b"1,2,3\n4,5,6\n",
    "hdr": b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 2 +X 2\n" + bytes(16),
    "fits": b"SIMPLE  =                    T".ljust(2880),
    "vips": bytes.fromhex("08f2a6b6") + bytes(60),
    "text": b"not an image",
    "html": b"<!DOCTYPE html><html><body>hello</body></html>",
    "zip": b"PK\x03\x04" + bytes(60),
    "ico": b"\0\0\x01\0\x01\0" + bytes(32),
}  # fmt: skip
"""Files of formats that are not rendered."""
