"""Claim checks: how bytes of objects travel between an edge and the blob store while messages carry only references.

Upload: the edge asks the pool with the head of a request; the pool answers `Wanted`: where the bytes go, and how many
at most. The edge streams them there and asks again, with `Stored`. Download: the pool answers with a `Claim`, and the
edge sends the bytes from the blob store, ranges and conditions included. (Architecture, "Claim check".)
"""

from msgspec import Struct, field


class Blob(Struct, frozen=True, array_like=True):
    """Where bytes lie. A version belongs to an object of a bucket; a transform to a version, under its key.

    Nothing a user typed is in it but the bucket's id, which `broker/blobs/store.py` encodes.
    """

    bucket: str
    version: str
    """UUID of the version."""
    transform: str = ""
    """Key of a rendered image; empty for the object itself."""
    upload: str = ""
    """UUID of the multipart upload that this is a part of: then the version is that of this try at the part."""
    part: int = 0
    """Number of the part."""


class Wanted(Struct, frozen=True, array_like=True, tag="wanted"):
    """The pool wants the body in the blob store: a new blob, or behind `offset` bytes of a resumable upload.

    `ticket` is the pool's own memory of what it has checked; it comes back with `Stored`. `most` bounds the bytes;
    beyond, the pool is asked with `Stored(is_too_long=True)`.
    """

    blob: Blob
    most: int
    ticket: bytes = field(default=b"")
    offset: int = -1
    """-1: a blob that is written in one go. Else: a resumable one, which has this many bytes already."""
    chunk_key: bytes = b""
    """Signing key of `aws-chunked` bodies whose chunks are signed; empty: chunks are not signed."""
    is_chunked: bool = False
    """The body is `aws-chunked`: its frames are taken off."""
    length: int = -1
    """Of a resumable upload, where it is known: with so many bytes it is complete, and the edge makes it a blob."""


class Stored(Struct, frozen=True, array_like=True, tag="stored"):
    """What became of the body. `fields` are those of a form, before and behind the file."""

    ticket: bytes
    size: int
    md5: str = ""
    """Hexadecimal; empty for a resumable upload that is not complete."""
    is_complete: bool = True
    """False: the client went away before the end; a resumable upload keeps what arrived."""
    is_too_long: bool = False
    fields: dict[str, str] = {}
    is_under_way: bool = False
    """More is coming to a resumable upload: its writer is alive, and asks whether it may go on."""


class Form(Struct, frozen=True, array_like=True, tag="form"):
    """The head of a multipart form: the fields before the file, and the file's own content type."""

    fields: dict[str, str]
    content_type: str


class Claim(Struct, frozen=True, array_like=True, tag="claim"):
    """The answer's body lies in the blob store: the edge sends it, whole or a range, or says that it has not changed.

    Status and headers are those of the response for the whole body; the edge adds Content-Length, ETag, Last-Modified,
    Accept-Ranges and Content-Range.
    """

    blob: Blob
    size: int
    etag: str = ""
    """As it is sent, quotes included; empty for none."""
    modified: int = 0
    """Epoch seconds; 0 for none."""
    has_ranges: bool = True
