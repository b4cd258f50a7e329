"""Claim checks: bytes of objects travel between gateway and blob store, messages carry only references.

Upload: the gateway sends the head of a request to the pool, and the pool answers with an `UploadGrant`: where the bytes
go, and at most how many. The gateway streams them there and sends the request again with a `StoredBody`. Download: the
pool answers with a `BlobClaim`, and the gateway sends the bytes from the blob store and handles range and conditional
requests.

Small uploads: the bytes of an object of at most `SMALL_OBJECT` bytes that have arrived with the head of the request are
part of the message (`Request.object_bytes`), and the pool stores them and answers. A pool that does not want to store
them answers with an `UploadGrant`, as if the bytes were not there.

Further uploads of a caller to a bucket: with the first grant the gateway gets an `UploadAllowance`. While it is valid the
gateway stores the bytes of an upload of at most `LARGEST_ALLOWED` bytes first, as a version of its own choice, and calls the pool
once, which decides and writes the row. A pool that does not write it answers with an error or an `UploadGrant`.
"""

from msgspec import Struct, field

from schemas.keys.secret_record import SecretRecord

SMALL_OBJECT = 64 * 1024
"""The longest object, in bytes, whose upload is one message."""

LARGEST_ALLOWED = 8 * 1024 * 1024
"""The longest object, in bytes, that is stored under an allowance: so many bytes are written for nothing if the pool rejects it."""


class BlobReference(Struct, frozen=True, array_like=True):
    """The place of bytes. A version belongs to an object of a bucket; a transform to a version, under its key.

    User input is only in the bucket's id, which `broker/blobs/store.py` encodes.
    """

    bucket: str
    version: str
    """UUID of the version."""
    transform: str = ""
    """Key of a rendition; empty for the object itself."""
    upload: str = ""
    """UUID of the multipart upload that this is a part of; then the version is that of this attempt at the part."""
    part: int = 0
    """Number of the part."""


class UploadAllowance(Struct, frozen=True, array_like=True):
    """The caller of a granted upload may store the bytes of further ones to the same bucket before the pool is asked.

    It spares a call, and decides nothing: the pool tries the policies of every upload. The versions belong to `series`,
    which is part of the sealed `ticket`, so that a version of one allowance cannot be that of another's object.
    """

    ticket: bytes
    bucket: str
    series: str
    """The characters 3 to 13 of each version's text (`allowed_version`)."""
    most: int
    """Bytes of the longest upload."""
    seconds: float
    """Counted from the moment in which the gateway sent the request to the pool."""


class UploadGrant(SecretRecord, Struct, frozen=True, array_like=True, tag="wanted"):
    """The pool requests the body in the blob store: as a new blob, or appended at `offset` of a resumable upload.

    `ticket` records what the pool has checked; it comes back with `StoredBody`. `most` limits the bytes; beyond it the
    gateway reports `StoredBody(is_too_long=True)`.
    """

    blob: BlobReference
    most: int
    ticket: bytes = field(default=b"")
    offset: int = -1
    """-1: a blob that is written in one request. Else: a resumable upload that has this many bytes already."""
    chunk_key: bytes = b""
    """Signing key of `aws-chunked` bodies with signed chunks; empty: the chunks are not signed."""
    is_chunked: bool = False
    """The body is `aws-chunked`: the gateway removes its frames."""
    length: int = -1
    """Length of a resumable upload if it is declared: with that many bytes the gateway completes it to a blob."""
    allowance: UploadAllowance | None = None


class StoredBody(Struct, frozen=True, array_like=True, tag="stored"):
    """The result of storing the body. `fields` are those of a form, before and behind the file."""

    ticket: bytes
    size: int
    md5: str = ""
    """Hexadecimal; empty for an incomplete resumable upload."""
    is_complete: bool = True
    """False: the client disconnected early; a resumable upload keeps the bytes that arrived."""
    is_too_long: bool = False
    fields: dict[str, str] = {}
    is_under_way: bool = False
    """A renewal of the lease: the writer of a resumable upload is alive and asks whether it may continue."""
    version: str = ""
    """The version that the gateway chose under an allowance, whose ticket this is; empty: the one of the grant."""


class FormHead(Struct, frozen=True, array_like=True, tag="form"):
    """The head of a multipart form: the fields before the file, and the file's content type."""

    fields: dict[str, str]
    content_type: str


class LookupReuse(Struct, frozen=True, array_like=True):
    """For how long a gateway may answer the same request by the same response without asking the pool again.

    An `ObjectsChanged` (schemas/storage_events.py) that names the object ends it at once.
    """

    bucket: str
    name: str
    """Name of the object in the bucket."""
    seconds: float
    """Counted from the moment in which the gateway sent the request to the pool."""


class BlobClaim(Struct, frozen=True, array_like=True, tag="claim"):
    """The body of the response is in the blob store: the gateway sends it, whole or a range, or answers 304.

    Status and headers are those of the response with the whole body; the gateway adds Content-Length, ETag,
    Last-Modified, Accept-Ranges and Content-Range.
    """

    blob: BlobReference
    size: int
    etag: str = ""
    """As it is sent, with quotes; empty for none."""
    modified: int = 0
    """Epoch seconds; 0 for none."""
    has_ranges: bool = True
    part: tuple[int, int] | None = None
    """First byte and end (exclusive) of the requested part; it is sent like a range, and a `Range` header is ignored."""
    reuse: LookupReuse | None = None
    """Set where every client gets the same response, as for an object of a public bucket."""
