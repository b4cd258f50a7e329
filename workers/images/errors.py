"""Errors of the images pool, in the shape of storage errors (docs/reference/storage.md, section 3).

ImageError ── SourceUnsupported      not an image, broken, or of a format that cannot be read
           ├─ SourceTooLarge         too many bytes
           ├─ SourceTooManyPixels    too many pixels
           ├─ SourceMissing          the blob does not exist
           ├─ RenderTimedOut         the time limit passed
           └─ RenderFailed           the decoder process ended during the render
"""

from typing import ClassVar

from schemas.errors import ApiError
from schemas.http import Headers


class ImageError(ApiError):
    """An image that was not rendered. The HTTP status is 400 unless the body's `statusCode` is 500."""

    status = 400
    inner: ClassVar[int] = 400
    error: ClassVar[str] = "InvalidRequest"
    code: ClassVar[str] = "InvalidRequest"
    text: ClassVar[str] = ""

    def __init__(self) -> None:
        super().__init__(self.text)

    def body(self) -> dict[str, object]:
        """Return the body of a storage error."""
        return {"statusCode": str(self.inner), "error": self.error, "message": self.text, "code": self.code}


class SourceUnsupported(ImageError):
    """The source is not an image, is broken, or has a format that cannot be read."""

    text = "The source image is invalid or unsupported for rendering"


class SourceTooLarge(ImageError):
    """The source has more bytes than `DecoderLimits.source_bytes`."""

    text = "The source image file is too large to process"


class SourceTooManyPixels(ImageError):
    """The source has more pixels than `max_source_pixels`, or needs more memory than there is."""

    text = "The source image resolution is too large to process"


class SourceMissing(ImageError):
    """The blob of the source is not in the blob store."""

    inner = 404
    error = "Not found"
    code = "NoSuchKey"
    text = "The resource was not found"

    def headers(self) -> Headers:
        """Return headers that forbid caching."""
        return [("cache-control", "no-store")]


class RenderTimedOut(ImageError):
    """The render took longer than `timeout`."""

    inner = 408
    error = "RequestTimeout"
    code = "RequestTimeout"
    text = "Image request timed out"


class RenderFailed(ImageError):
    """The decoder process ended during the render: the image crashed it, or it was killed."""

    status = 500
    inner = 500
    error = "Internal"
    code = "InternalError"
    text = "The image could not be rendered"


DECODER_ERRORS: dict[str, type[ImageError]] = {
    kind.__name__: kind for kind in (SourceUnsupported, SourceTooLarge, SourceTooManyPixels, RenderFailed)
}
"""The errors that a decoder may answer, by name."""
