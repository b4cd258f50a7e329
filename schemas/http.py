"""Define `Request` and `Response`, the messages between an edge and a pool.

The edge builds a `Request` from HTTP, a worker answers it with a `Response`, and the edge turns that into HTTP. A
body of up to `INLINE_LIMIT` bytes is part of the message. A longer one follows as numbered chunks
(`broker/requests/body.py`), and the struct contains a `BodyStream` instead.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import Struct

from schemas.blobs import BlobClaim, StoredBody, UploadGrant
from schemas.caller import AnonymousCaller, Caller

INLINE_LIMIT = 512 * 1024
"""The longest body, in bytes, that is part of the message."""

Headers = list[tuple[str, str]]
"""Names in lower case, in the order of arrival; a repeated header stays repeated."""

T = TypeVar("T")


class RepeatedHeaders(list[tuple[str, str]]):
    """Headers that several requests have in common (`broker/codec.py`). Never changed in place."""

    __slots__ = ("results",)

    def __init__(self, headers: Headers) -> None:
        super().__init__(headers)
        self.results: dict[object, Any] = {}
        """What pure functions returned for these headers, by function."""


def derived(headers: Headers, compute: Callable[[Headers], T]) -> T:
    """Return what a pure function of some headers returns, which is not None; for repeated ones it is computed once. Hot path."""
    if type(headers) is not RepeatedHeaders:
        return compute(headers)
    result: T | None = headers.results.get(compute)
    if result is None:
        result = headers.results[compute] = compute(headers)
    return result


class BodyStream(Struct, frozen=True, tag="stream"):
    """A body that follows as chunks. `id`: the sender's inbox; `size`: its bytes, or -1 where unknown."""

    id: str
    size: int = -1


class Request(Struct, frozen=True, array_like=True, tag="request"):
    """One HTTP request as a pool sees it.

    `path` is the path below the area's prefix, percent-encoded as received (`/items`, `/rpc/f`, `/`);
    `query` the text after `?`, undecoded; `budget_ms` how long the edge will wait from now on;
    `body` is empty when `stream` is set.
    """

    id: str
    method: str
    path: str
    query: str = ""
    headers: Headers = []
    caller: Caller = AnonymousCaller()
    budget_ms: int = 60_000
    body: bytes = b""
    stream: BodyStream | None = None
    client: str = ""
    """The client's address as the gateway determined it, for areas that need it; claims of the client do not count."""
    stored: StoredBody | None = None
    """The result of storing the body in the blob store (`schemas/blobs.py`)."""
    trace: Headers | None = None
    """The trace this belongs to, as W3C's headers (`broker/observability/tracing.py`); None without tracing."""
    caller_key: str = ""
    """The caller whose share of a worker it uses (`broker/requests/fair_queue.py`): a user, or an API key at an
    address. Empty: a request of the platform itself."""
    is_sampled: bool = False
    """It leaves log lines although it is successful and quick (`log.store.requests`)."""
    object_bytes: bytes | None = None
    """All bytes of a small object that is uploaded: the pool may store them itself instead of granting the upload."""


SERVER_ORIGIN = "headwater-origin"
"""Header that the gateway adds to requests of administrators: scheme, host and port under which the client sent them."""

ADMINISTRATOR_COOKIES = ("headwater_session", "__Host-headwater_session")
"""Names of the cookie with an administrator's session, without TLS and with it. Only requests of administrators bring it to a pool."""

STORAGE_URL = "headwater-storage-url"
"""Header that the gateway adds to POST requests of S3: the URL under which the client reaches storage."""


class FilePart(Struct, frozen=True, array_like=True, tag="file"):
    """A body that is part of a file which edge and pool both have. `name`: of the file, as area and pool agree; `start`, `size`: bytes."""

    name: str
    start: int
    size: int


class Response(Struct, frozen=True, array_like=True, tag="response"):
    """One HTTP response. `reason`: the reason phrase, empty for the standard one."""

    status: int
    headers: Headers = []
    body: bytes = b""
    reason: str = ""
    stream: BodyStream | None = None
    grant: UploadGrant | None = None
    """Not a final response: the edge must first store the body in the blob store."""
    claim: BlobClaim | None = None
    """The body is in the blob store."""
    rejected_by: str = ""
    """The pool member that did nothing, because it is overloaded or does not reach its database; another member may take the request."""
    file: FilePart | None = None
    """The body is in a file of this machine: only where the request said that the edge has it (`schemas/sync.py`)."""


def header(headers: Headers, name: str) -> str | None:
    """Return the first value of a header by its lower-case name; None if it is missing."""
    for key, value in headers:
        if key == name:
            return value
    return None


def header_values(headers: Headers, name: str) -> list[str]:
    """Return all values of a header by its lower-case name, in order."""
    return [value for key, value in headers if key == name]
