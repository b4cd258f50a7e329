"""Render an image: bytes in, bytes out. The only module that imports libvips.

    sniff --> header: size, rotation, frames (nothing is decoded) --> plan --> shrink on load --> cut --> write

- The image is shrunk while it is decoded, so a large photograph is never in memory at its full size.
- EXIF rotation is applied, colours are converted to sRGB, and all metadata is dropped.
- Only the loaders of `formats.py` stay enabled in libvips.
- A slightly broken image is rendered as far as it can be decoded (docs/storage.md, "Images that are slightly broken").
  The first try is strict, so that a whole image is decoded once. If libvips reports an error, two more lenient tries
  follow; all tries of one image share its time limit.
"""

from dataclasses import dataclass
from typing import Any

import pyvips  # type: ignore[import-untyped]  # the library has no types

from schemas.images.transform import Output, Transform
from workers.images import formats
from workers.images.errors import SourceTooLarge, SourceTooManyPixels, SourceUnsupported
from workers.images.formats import ImageFormat
from workers.images.geometry import RenderPlan, corner_of, plan_of
from workers.images.jpeg_scan import has_scan
from workers.images.limits import DecoderLimits

_LOADERS = ("Jpeg", "Png", "Webp", "Nsgif", "Heif", "Svg", "Tiff")
_SIDEWAYS = range(5, 9)
"""EXIF orientations that rotate the image by 90 degrees. Values above 8 do not exist and are ignored."""
_SHRINKS = (1, 2, 4, 8)
_WHITE = 255
_FINAL = ("srgb", "b-w")
"""Colour spaces that need no conversion."""
_STRICT, _ANY_CHECKSUM, _LENIENT = "error", "truncated", "none"
_TRIES = (_STRICT, _ANY_CHECKSUM, _LENIENT)
"""Values of `fail_on`, passed as a loader option: `thumbnail`'s argument of this name does not reach every loader.

`truncated` accepts wrong checksums, `none` also a file that ends early: what is missing is left black or grey.
"""
_COPY_FAILED = "unable to copy to memory"
"""What libvips says of every error while it decodes: it has nothing to do with the lack of memory."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A rendered image. `data` None: the source itself is the result."""

    data: bytes | None
    content_type: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Header:
    """The header of an image, after its rotation; `frames` is the number of frames to render."""

    width: int
    height: int
    frames: int
    has_profile: bool


def prepare() -> None:
    """Configure the library once in a process: no caches, no other loaders, no messages.

    pyvips hands each warning of libvips to a Python function. The garbage collector may run in there and free an image;
    if that warns in turn, GLib takes it for a recursion without end and aborts the process.
    """
    pyvips._remove_log_handler()
    pyvips.cache_set_max(0)
    pyvips.cache_set_max_mem(0)
    pyvips.cache_set_max_files(0)
    pyvips.operation_block_set("VipsForeignLoad", True)
    for loader in _LOADERS:
        pyvips.operation_block_set(f"VipsForeignLoad{loader}", False)


def render(source: Any, transform: Transform, output: Output, limits: DecoderLimits) -> Picture:
    """Render an image; `source` is any buffer, such as a mapped file.

    Raises: SourceUnsupported, SourceTooLarge, SourceTooManyPixels; their `__cause__` is the library's error.
    """
    if len(source) > limits.source_bytes:
        raise SourceTooLarge
    source_format = formats.sniff(bytes(source[: formats.HEAD]))
    if source_format is None:
        raise SourceUnsupported
    if source_format.is_drawing and output in ("auto", "origin"):
        return _passed_through(source, source_format, limits)
    failure = None
    for fail_on in (_STRICT,) if source_format.is_drawing else _TRIES:
        try:
            return _rendered(source, source_format, transform, output, limits, fail_on)
        except pyvips.Error as error:
            if "memory" in str(error).lower().replace(_COPY_FAILED, ""):
                raise SourceTooManyPixels from error
            failure = error
    raise SourceUnsupported from failure


def _passed_through(source: Any, source_format: ImageFormat, limits: DecoderLimits) -> Picture:
    """Return a drawing as it is. A drawing that is not well-formed has no size. Raises: SourceTooManyPixels."""
    try:
        header = _header(source, source_format, limits, _STRICT, keeps_moving=False)
    except pyvips.Error:
        return Picture(None, source_format.content_type, 0, 0)
    return Picture(None, source_format.content_type, header.width, header.height)


def _rendered(
    source: Any,
    source_format: ImageFormat,
    transform: Transform,
    output: Output,
    limits: DecoderLimits,
    fail_on: str,
) -> Picture:
    keeps_moving = formats.output_format(source_format, output, has_alpha=True).animates
    header = _header(source, source_format, limits, fail_on, keeps_moving=keeps_moving)
    plan = plan_of(transform, header.width, header.height, may_enlarge=source_format.is_drawing)
    scaled = _scaled(source, source_format, plan, header, fail_on)
    if fail_on == _LENIENT:
        scaled = _partly_decoded(scaled, source, source_format)
    image = _cut(scaled, transform, plan, header.frames)
    written = formats.output_format(source_format, output, has_alpha=image.hasalpha())
    return Picture(
        _write(image, written, transform.quality), written.content_type, plan.box_width, plan.box_height
    )


def _header(
    source: Any, source_format: ImageFormat, limits: DecoderLimits, fail_on: str, *, keeps_moving: bool
) -> Header:
    """Read the header and reject what is too large. Of an animation, use as many frames as the limits allow."""
    image = pyvips.Image.new_from_source(_source(source), "", access="sequential", fail_on=fail_on)
    width, height, pages = image.width, image.height, 1
    if source_format.animates and keeps_moving:
        pages = _number(image, "n-pages", 1)
    pixels = width * height
    if pixels > limits.source_pixels:
        raise SourceTooManyPixels
    if not source_format.is_drawing and _number(image, "orientation", 1) in _SIDEWAYS:
        width, height = height, width
    frames = max(1, min(pages, limits.frames, limits.source_pixels // pixels))
    return Header(width, height, frames, bool(image.get_typeof("icc-profile-data")))


def _scaled(source: Any, source_format: ImageFormat, plan: RenderPlan, header: Header, fail_on: str) -> Any:
    """Decode at the size of the plan, upright and in sRGB. Frames are stacked vertically.

    `output_profile` on an image without a profile triples the time of a render (28 against 88 ms for 12 MP): so the few
    images in other colour spaces are converted afterwards.
    """
    size: dict[str, Any] = {"height": plan.height, "size": "force"}
    if header.has_profile:
        size["output_profile"] = "srgb"
    if source_format is formats.JPEG:
        image = _shrunk(source, plan, header, fail_on).thumbnail_image(plan.width, **size)
    else:
        frames = f",n={header.frames}" if header.frames > 1 else ""
        options = f"fail_on={fail_on}{frames}"
        image = pyvips.Image.thumbnail_source(_source(source), plan.width, option_string=options, **size)
    return image if image.interpretation in _FINAL else image.colourspace("srgb")


def _shrunk(source: Any, plan: RenderPlan, header: Header, fail_on: str) -> Any:
    """Decode a JPEG at a half, a fourth or an eighth of its size, as far as the plan allows.

    `thumbnail` alone stays at twice the needed size. That costs a quarter to a third more CPU without a visible
    difference: the two differ from a resize of the full image by 51 and 49 dB (4000 to 800 pixels).
    """
    most = min(header.width / plan.width, header.height / plan.height)
    shrink = max(factor for factor in _SHRINKS if factor <= max(most, 1))
    return pyvips.Image.jpegload_source(_source(source), shrink=shrink, access="sequential", fail_on=fail_on)


def _partly_decoded(image: Any, source: Any, source_format: ImageFormat) -> Any:
    """Decode an image that ends early, at its final size. Raises: SourceUnsupported if none of its pixels was decoded.

    Loaders leave zeros where they decoded nothing; only that of JPEG leaves grey.
    """
    decoded = image.copy_memory()
    has_pixels = has_scan(source) if source_format is formats.JPEG else decoded.max() > 0
    if not has_pixels:
        raise SourceUnsupported
    return decoded


def _cut(image: Any, transform: Transform, plan: RenderPlan, frames: int) -> Any:
    """Cut the box of the plan out of every frame."""
    if not plan.is_cut:
        return image
    box = (plan.box_width, plan.box_height)
    if frames == 1 and transform.gravity == "sm":
        return image.copy_memory().smartcrop(*box, interesting="attention")
    left, top = corner_of(transform, plan)
    if frames == 1:
        return image.crop(left, top, *box)
    cut = [image.crop(left, top + at * plan.height, *box) for at in range(frames)]
    joined = pyvips.Image.arrayjoin(cut, across=1).copy()
    joined.set_type(pyvips.GValue.gint_type, "page-height", plan.box_height)
    return joined


def _write(image: Any, written: ImageFormat, quality: int) -> bytes:
    options: dict[str, Any] = {**dict(written.options), "keep": "none"}
    if written.quality is not None:
        options["Q"] = quality or written.quality
    if image.hasalpha() and not written.has_alpha:
        image = image.flatten(background=[_WHITE] * (image.bands - 1))
    suffix = "heif" if written is formats.AVIF else written.name
    data: bytes = getattr(image, f"{suffix}save_buffer")(**options)
    return data


def _source(source: Any) -> Any:
    """Return a libvips source that reads from the buffer without a copy."""
    return pyvips.Source.new_from_memory(source)


def _number(image: Any, name: str, default: int) -> int:
    return int(image.get(name)) if image.get_typeof(name) else default
