"""Image transformations as values: the request, its texts on the wire, the result of a render.

    query or body --> Transform --> Output (with Accept) --> key of the result in the blob store
                                                         --> RenderOrder --> the images pool --> Rendered

`reading.py` parses a Transform from a query, the body of a signing request or the text inside a token. This module uses
no image library. Source: docs/reference/storage.md, section 8.
"""

import hashlib
from typing import Literal

from msgspec import Struct

from schemas.blobs import BlobReference

Resize = Literal["cover", "contain", "fill"]
Output = Literal["origin", "auto", "webp", "jpeg", "png", "avif"]
"""The format of a result: `origin` is the format of the source; `auto` is WebP, but SVG stays SVG; others as requested."""

FORMATS = ("origin", "webp", "avif", "jpeg", "jpg", "png")
GRAVITIES = ("no", "so", "ea", "we", "noea", "nowe", "soea", "sowe", "ce", "sm", "fp")
WIRE_RESIZE: dict[Resize, str] = {"cover": "fill", "contain": "fit", "fill": "force"}
"""Our names of the modes -> those of the header `X-Transformations`."""

_RENDERER = "1"
"""Part of every key: raise it when the same order produces other bytes, so that old results are not used."""


class Transform(Struct, frozen=True, array_like=True):
    """A requested transformation. 0 and empty mean not requested. Sizes are clamped when they are parsed."""

    width: int = 0
    height: int = 0
    resize: Resize = "cover"
    format: str = ""
    """One of FORMATS; `jpg` as it was requested."""
    quality: int = 0
    gravity: str = ""
    """One of GRAVITIES: which part a crop keeps."""
    x_offset: float | None = None
    """From the edge or point of `gravity`: pixels, or a fraction of the side below 1; for `fp` the point itself."""
    y_offset: float | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is requested."""
        return self == Transform(resize=self.resize)


class RenderOrder(Struct, frozen=True, array_like=True):
    """Body of a request to the images pool: render `source` and store the result beside it, under `key`."""

    source: BlobReference
    transform: Transform
    output: Output

    @property
    def key(self) -> str:
        """The key of the result."""
        return cache_key(self.transform, self.output)

    @property
    def result(self) -> BlobReference:
        """The blob of the result."""
        return BlobReference(self.source.bucket, self.source.version, self.key)

    @property
    def about(self) -> BlobReference:
        """The blob of the result's `Rendered`, as JSON; it is written last, so where it exists, the result does."""
        return BlobReference(self.source.bucket, self.source.version, f"{self.key}.about")


class Rendered(Struct, frozen=True):
    """Body of the images pool's response, JSON: what is stored under the order's key."""

    content_type: str
    size: int
    width: int
    height: int
    is_source: bool = False
    """Nothing had to be changed: the source itself is the result, and nothing is stored under the key."""


def output_of(transform: Transform, accept: str) -> Output:
    """Return the output format for a transformation and the request's Accept header (pure)."""
    match transform.format:
        case "webp" | "avif" | "png" | "origin" as asked:
            return asked
        case "jpeg" | "jpg":
            return "jpeg"
    return "auto" if _takes_webp(accept) else "origin"


def is_negotiated(transform: Transform) -> bool:
    """Return whether the response depends on Accept, and needs Vary."""
    return not transform.format


def x_transformations(transform: Transform) -> str:
    """Return the header `X-Transformations`; empty means no header. It lists the request, not the result."""
    return ",".join(_segments(transform, "resizing_type", WIRE_RESIZE[transform.resize], "origin"))


def token_text(transform: Transform) -> str:
    """Return the text of a token's claim `transformations`."""
    return ",".join(_segments(transform, "resize", transform.resize, ""))


def cache_key(transform: Transform, output: Output) -> str:
    """Return the name of a result beside its source: lower-case letters, digits, `-`, `.` and `_` only.

    Parameters that cannot change the result are left out, so that equal results share one key.
    """
    has_box = bool(transform.width and transform.height)
    parts = [_RENDERER, output, f"{transform.width}x{transform.height}"]
    if has_box:
        parts.append(transform.resize)
    if transform.quality:
        parts.append(f"q{transform.quality}")
    is_middle = transform.gravity in ("", "ce") and transform.x_offset is None
    if has_box and transform.resize == "cover" and not is_middle:
        parts.append(_gravity(transform, "_"))
    return "-".join(parts)


def variant_etag(source: str, key: str) -> str:
    """Return the ETag of a result with quotes, derived from its source's ETag and its key."""
    return f'"{hashlib.md5(f"{source} {key}".encode(), usedforsecurity=False).hexdigest()}"'


def _segments(transform: Transform, resize_name: str, resize: str, untold_format: str) -> list[str]:
    segments = [f"height:{transform.height}"] if transform.height else []
    if transform.width:
        segments.append(f"width:{transform.width}")
    if segments:
        segments.append(f"{resize_name}:{resize}")
    if transform.quality:
        segments.append(f"quality:{transform.quality}")
    if transform.format not in ("", untold_format):
        segments.append(f"format:{transform.format}")
    if transform.gravity:
        segments.append(f"gravity:{_gravity(transform, ':')}")
    return segments


def _gravity(transform: Transform, separator: str) -> str:
    if transform.x_offset is None or transform.y_offset is None:
        return transform.gravity
    return separator.join((transform.gravity, _number(transform.x_offset), _number(transform.y_offset)))


def _number(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".")


def _takes_webp(accept: str) -> bool:
    """Return whether Accept names `image/webp` with a quality above 0. Wildcards do not count."""
    for part in accept.split(","):
        kind, *parameters = (text.strip().lower() for text in part.split(";"))
        if kind == "image/webp":
            quality = next((text[2:].strip() for text in parameters if text.startswith("q=")), "1")
            return quality.strip("0.") != ""
    return False
