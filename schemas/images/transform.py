"""Image transformation as values: what is asked of an image, how it is spelled on the wire, what a render answers.

    query or body --> Transform --> Output (with Accept) --> key of the result in the blob store
                                                         --> Order --> the images pool --> Rendered

`images_reading.py` makes a Transform from a query, the body of a signing request or the text inside a token. Nothing
here knows an image library. Source: reference page "storage", section 8.
"""

import hashlib
from typing import Literal

from msgspec import Struct

from schemas.blobs import Blob

Resize = Literal["cover", "contain", "fill"]
Output = Literal["origin", "auto", "webp", "jpeg", "png", "avif"]
"""What a render makes: the format of the source; `auto`: WebP, but a drawing (SVG) stays one; or what was asked for."""

FORMATS = ("origin", "webp", "avif", "jpeg", "jpg", "png")
GRAVITIES = ("no", "so", "ea", "we", "noea", "nowe", "soea", "sowe", "ce", "sm", "fp")
WIRE_RESIZE: dict[Resize, str] = {"cover": "fill", "contain": "fit", "fill": "force"}
"""Our words for the modes -> those of the header `X-Transformations`."""

_RENDERER = "1"
"""Part of every key: raise it when the same order gives other bytes, and old results are not found any more."""


class Transform(Struct, frozen=True, array_like=True):
    """What is asked of an image. 0 and empty: not asked. Sizes are clamped to the limits when it is read."""

    width: int = 0
    height: int = 0
    resize: Resize = "cover"
    format: str = ""
    """Of FORMATS; `jpg` as it was asked."""
    quality: int = 0
    gravity: str = ""
    """Of GRAVITIES: which part a crop keeps."""
    x_offset: float | None = None
    """From the edge or point of `gravity`: pixels, a fraction of the side below 1; for `fp` the point itself."""
    y_offset: float | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is asked."""
        return self == Transform(resize=self.resize)


class Order(Struct, frozen=True, array_like=True):
    """Body of a request to the images pool: render `source` and put the result beside it, under `key`."""

    source: Blob
    transform: Transform
    output: Output

    @property
    def key(self) -> str:
        """Give the key of the result."""
        return cache_key(self.transform, self.output)

    @property
    def result(self) -> Blob:
        """Give the place of the result."""
        return Blob(self.source.bucket, self.source.version, self.key)

    @property
    def about(self) -> Blob:
        """Give the place of the `Rendered` of the result, as JSON; it is written last: where it is, the result is."""
        return Blob(self.source.bucket, self.source.version, f"{self.key}.about")


class Rendered(Struct, frozen=True):
    """Body of the images pool's answer, JSON: what lies under the order's key."""

    content_type: str
    size: int
    width: int
    height: int
    is_source: bool = False
    """Nothing was to be done: the source itself is the result, and nothing lies under the key."""


def output_of(transform: Transform, accept: str) -> Output:
    """Decide what a render makes, from what was asked and the request's Accept header (pure)."""
    match transform.format:
        case "webp" | "avif" | "png" | "origin" as asked:
            return asked
        case "jpeg" | "jpg":
            return "jpeg"
    return "auto" if _takes_webp(accept) else "origin"


def is_negotiated(transform: Transform) -> bool:
    """Tell whether the answer depends on Accept, and must say so in Vary."""
    return not transform.format


def x_transformations(transform: Transform) -> str:
    """Give the text of the header `X-Transformations`; empty: no header. It tells what was asked, not what was made."""
    return ",".join(_segments(transform, "resizing_type", WIRE_RESIZE[transform.resize], "origin"))


def token_text(transform: Transform) -> str:
    """Give the text of a token's claim `transformations`."""
    return ",".join(_segments(transform, "resize", transform.resize, ""))


def cache_key(transform: Transform, output: Output) -> str:
    """Give the name of a result beside its source: lower-case letters, digits, `-`, `.` and `_` only.

    What cannot change the result is left out, so that it is kept once.
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
    """Give the ETag of a result, quotes included, from that of its source and its key."""
    return f'"{hashlib.md5(f"{source} {key}".encode(), usedforsecurity=False).hexdigest()}"'


def _segments(transform: Transform, resize_name: str, resize: str, untold_format: str) -> list[str]:
    found = [f"height:{transform.height}"] if transform.height else []
    if transform.width:
        found.append(f"width:{transform.width}")
    if found:
        found.append(f"{resize_name}:{resize}")
    if transform.quality:
        found.append(f"quality:{transform.quality}")
    if transform.format not in ("", untold_format):
        found.append(f"format:{transform.format}")
    if transform.gravity:
        found.append(f"gravity:{_gravity(transform, ':')}")
    return found


def _gravity(transform: Transform, separator: str) -> str:
    if transform.x_offset is None or transform.y_offset is None:
        return transform.gravity
    return separator.join((transform.gravity, _number(transform.x_offset), _number(transform.y_offset)))


def _number(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".")


def _takes_webp(accept: str) -> bool:
    """Tell whether a header names `image/webp` and does not refuse it. Wildcards do not count: who wants it names it."""
    for part in accept.split(","):
        kind, *parameters = (each.strip().lower() for each in part.split(";"))
        if kind == "image/webp":
            quality = next((each[2:].strip() for each in parameters if each.startswith("q=")), "1")
            return quality.strip("0.") != ""
    return False
