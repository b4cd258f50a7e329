"""The table of image formats (pure): how to recognize one, whether it can be written, and its writer options.

The declared content type is ignored; the first bytes decide. HEIC, PDF, BMP, JPEG XL, JPEG 2000 and every format
without a row are rejected. Source: docs/reference/storage.md, section 8.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from schemas.images.transform import Output

HEAD = 4096
"""Bytes from the start of a file that `sniff` looks at."""

_BRANDS_FROM, _BRANDS_TO = 8, 256
_SVG = re.compile(rb"<(?:[\w.-]{1,64}:)?svg[\s>/]")
_BEFORE_SVG = ((b"<?", b"?>"), (b"<!--", b"-->"))
"""What may precede the first element: its start, its end."""


@dataclass(frozen=True, slots=True)
class ImageFormat:
    """A row. `quality` is the default, None if the writer takes none; `options` are passed to the writer."""

    name: str
    content_type: str
    is_it: Callable[[bytes], object]
    can_write: bool = True
    has_alpha: bool = True
    animates: bool = False
    is_drawing: bool = False
    quality: int | None = None
    options: tuple[tuple[str, Any], ...] = ()


JPEG = ImageFormat(
    "jpeg", "image/jpeg", lambda head: head.startswith(b"\xff\xd8\xff"), has_alpha=False, quality=80,
    options=(("optimize_coding", True), ("interlace", True)),
)  # fmt: skip
PNG = ImageFormat(
    "png", "image/png", lambda head: head.startswith(b"\x89PNG\r\n\x1a\n"), options=(("compression", 6),)
)
WEBP = ImageFormat(
    "webp", "image/webp", lambda head: head[:4] == b"RIFF" and head[8:12] == b"WEBP", animates=True, quality=80,
    options=(("effort", 2),),
)  # fmt: skip
GIF = ImageFormat(
    "gif", "image/gif", lambda head: head.startswith((b"GIF87a", b"GIF89a")), animates=True,
    options=(("effort", 3),),
)  # fmt: skip
AVIF = ImageFormat(
    "avif", "image/avif", lambda head: _brands(head) & {b"avif", b"avis"}, quality=62,
    options=(("compression", "av1"), ("effort", 1)),
)  # fmt: skip
TIFF = ImageFormat(
    "tiff",
    "image/tiff",
    lambda head: head.startswith((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")),
    can_write=False,
)
SVG = ImageFormat(
    "svg", "image/svg+xml", lambda head: _SVG.match(_first_element(head)), can_write=False, is_drawing=True
)

FORMATS = (JPEG, PNG, WEBP, GIF, AVIF, TIFF, SVG)
_BY_NAME = {row.name: row for row in FORMATS}


def sniff(head: bytes) -> ImageFormat | None:
    """Return the format of a file from its first HEAD bytes, or None."""
    return next((row for row in FORMATS if row.is_it(head)), None)


def output_format(source: ImageFormat, output: Output, *, has_alpha: bool) -> ImageFormat:
    """Return the format of a result. A format that cannot be written becomes JPEG, or PNG if the image has alpha."""
    requested = _BY_NAME.get("webp" if output == "auto" else output, source)
    if requested.can_write:
        return requested
    return PNG if has_alpha else JPEG


def _first_element(head: bytes) -> bytes:
    """Return an XML text from its first element on. Linear time: every byte is read a few times at most."""
    rest = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    while rest[:2] in (b"<?", b"<!"):
        end = next((end for begin, end in _BEFORE_SVG if rest.startswith(begin)), b">")
        _, _, rest = (_without_subset(rest) if end == b">" else rest).partition(end)
        rest = rest.lstrip()
    return rest


def _without_subset(doctype: bytes) -> bytes:
    """Return a doctype's text after its internal subset; all of it if it has none."""
    bracket = doctype.find(b"[")
    if bracket == -1 or bracket > doctype.find(b">"):
        return doctype
    return doctype[doctype.find(b"]", bracket) :]


def _brands(head: bytes) -> set[bytes]:
    """Return the brands of an ISO media file, the major one first; empty for other files."""
    if head[4:8] != b"ftyp":
        return set()
    end = min(int.from_bytes(head[:4], "big"), len(head), _BRANDS_TO)
    brands = head[_BRANDS_FROM:end]
    return {
        brands[at : at + 4] for at in range(0, len(brands), 4) if at != 4
    }  # the second entry is a version
