"""Request and Response: what crosses the hall between an edge and a pool.

A request is data on every step. The edge makes a `Request` from HTTP, a worker answers it with a `Response`,
the edge turns that back into HTTP. Bodies up to `INLINE_LIMIT` bytes ride inside the message; longer ones
follow as numbered chunks (`broker/requests/body.py`) and the struct carries a `Stream` instead.
"""

from msgspec import Struct

from schemas.blobs import Claim, Stored, Wanted
from schemas.caller import Anonymous, Caller

INLINE_LIMIT = 512 * 1024
"""Bytes of a body that ride inside the message (architecture, decision 6)."""

Headers = list[tuple[str, str]]
"""Names in lower case, in the order of arrival; a repeated header stays repeated."""


class Stream(Struct, frozen=True, tag="stream"):
    """A body that follows as chunks: `id` names the transfer, `size` its bytes where known, else -1."""

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
    caller: Caller = Anonymous()
    budget_ms: int = 60_000
    body: bytes = b""
    stream: Stream | None = None
    client: str = ""
    """Address of the client, where an area asks for it: the door's finding, whatever the client says of itself."""
    stored: Stored | None = None
    """The body, where it went into the blob store (`schemas/blobs.py`)."""
    trace: Headers | None = None
    """The trace this belongs to, as W3C's headers (`broker/observability/tracing.py`); None where nothing is traced."""
    caller_key: str = ""
    """Whose share of a worker it takes (`broker/requests/fair_queue.py`): a user, or a key at an address. Empty: the platform's own request."""


class Response(Struct, frozen=True, array_like=True, tag="response"):
    """One HTTP answer. `reason` is the reason phrase when it is not the standard one."""

    status: int
    headers: Headers = []
    body: bytes = b""
    reason: str = ""
    stream: Stream | None = None
    wanted: Wanted | None = None
    """Not an answer yet: the body shall be put into the blob store first."""
    claim: Claim | None = None
    """The body lies in the blob store."""
    refused_by: str = ""
    """The member of a pool that did not begin the request, because it has too much to do: another one may."""


def header(headers: Headers, name: str) -> str | None:
    """Give the first value of a header by its lower-case name."""
    for key, value in headers:
        if key == name:
            return value
    return None


def header_values(headers: Headers, name: str) -> list[str]:
    """Give all values of a header by its lower-case name, in order."""
    return [value for key, value in headers if key == name]
