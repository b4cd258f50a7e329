"""The image formats there are, one row each (pure): how one is recognised, whether it can be written, and how.

What an upload says of itself is never believed; the first bytes decide. HEIC, PDF, BMP, JPEG XL, JPEG 2000 and all
else that stands in no row is refused. Source: reference page "storage", section 8.
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
"""What may stand before the first element: how it begins, how it ends."""


@dataclass(frozen=True, slots=True)
class Format:
    """A row. `quality` is the default; None where the writer takes none. `options` go to the writer as they are."""

    name: str
    content_type: str
    is_it: Callable[[bytes], object]
    can_write: bool = True
    has_alpha: bool = True
    animates: bool = False
    is_drawing: bool = False
    quality: int | None = None
    options: tuple[tuple[str, Any], ...] = ()


JPEG = Format(
    "jpeg", "image/jpeg", lambda head: head.startswith(b"\xff\xd8\xff"), has_alpha=False, quality=80,
    options=(("optimize_coding", True), ("interlace", True)),
)  # fmt: skip
PNG = Format(
    "png", "image/png", lambda head: head.startswith(b"\x89PNG\r\n\x1a\n"), options=(("compression", 6),)
)
WEBP = Format(
    "webp", "image/webp", lambda head: head[:4] == b"RIFF" and head[8:12] == b"WEBP", animates=True, quality=80,
    options=(("effort", 2),),
)  # fmt: skip
GIF = Format(
    "gif", "image/gif", lambda head: head.startswith((b"GIF87a", b"GIF89a")), animates=True,
    options=(("effort", 3),),
)  # fmt: skip
AVIF = Format(
    "avif", "image/avif", lambda head: _brands(head) & {b"avif", b"avis"}, quality=62,
    options=(("compression", "av1"), ("effort", 1)),
)  # fmt: skip
TIFF = Format(
    "tiff",
    "image/tiff",
    lambda head: head.startswith((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")),
    can_write=False,
)
SVG = Format(
    "svg", "image/svg+xml", lambda head: _SVG.match(_first_element(head)), can_write=False, is_drawing=True
)

FORMATS = (JPEG, PNG, WEBP, GIF, AVIF, TIFF, SVG)
_BY_NAME = {each.name: each for each in FORMATS}


def sniff(head: bytes) -> Format | None:
    """Recognise a format by the first HEAD bytes of a file."""
    return next((each for each in FORMATS if each.is_it(head)), None)


def written_as(source: Format, output: Output, *, has_alpha: bool) -> Format:
    """Decide in which format a result is written. What cannot be written becomes JPEG, or PNG where it has alpha."""
    wanted = _BY_NAME.get("webp" if output == "auto" else output, source)
    if wanted.can_write:
        return wanted
    return PNG if has_alpha else JPEG


def _first_element(head: bytes) -> bytes:
    """Give a text of XML from its first element on; every byte is looked at a few times at most."""
    rest = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    while rest[:2] in (b"<?", b"<!"):
        end = next((end for begin, end in _BEFORE_SVG if rest.startswith(begin)), b">")
        _, _, rest = (_without_subset(rest) if end == b">" else rest).partition(end)
        rest = rest.lstrip()
    return rest


def _without_subset(doctype: bytes) -> bytes:
    """Give a document type's text from the end of what it declares on; all of it where it declares nothing."""
    bracket = doctype.find(b"[")
    if bracket == -1 or bracket > doctype.find(b">"):
        return doctype
    return doctype[doctype.find(b"]", bracket) :]


def _brands(head: bytes) -> set[bytes]:
    """Give the brands of an ISO media file, the major one first; none where it is none."""
    if head[4:8] != b"ftyp":
        return set()
    end = min(int.from_bytes(head[:4], "big"), len(head), _BRANDS_TO)
    brands = head[_BRANDS_FROM:end]
    return {brands[at : at + 4] for at in range(0, len(brands), 4) if at != 4}  # the second is a version
