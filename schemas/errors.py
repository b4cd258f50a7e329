"""ApiError: the root of every area's error tree.

A step that knows what is wrong raises one; it becomes a `Response` in one place (`broker/requests/serve.py` on the
worker side, `services/middleware/refusals.py` for the edge's own refusals).
"""

import msgspec

from schemas.http import Headers, Response

UNKNOWN = "unknown"
"""Outcome of a request that a worker may have carried out without our learning of it."""


class ApiError(Exception):
    """A refusal the caller gets to see: a status, headers and a body, in the shape of its area."""

    status: int = 500

    def headers(self) -> Headers:
        """Give extra response headers, names in lower case."""
        return []

    def body(self) -> dict[str, object]:
        """Give the JSON object that is sent."""
        return {"message": str(self)}

    def reason(self) -> str:
        """Give the reason phrase when it is not the standard one."""
        return ""

    def response(self) -> Response:
        """Turn the refusal into the answer that is sent."""
        own = self.headers()
        typed = any(name == "content-type" for name, _ in own)
        headers = own if typed else [("content-type", "application/json; charset=utf-8"), *own]
        return Response(self.status, headers, _encoded(self.body()), self.reason())


def _encoded(body: dict[str, object]) -> bytes:
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:  # half a character that a client sent, quoted in a message
        shown = {key: _whole(value) if isinstance(value, str) else value for key, value in body.items()}
        return msgspec.json.encode(shown)


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


class Unavailable(ApiError):
    """A part of the platform cannot answer now; the same request may succeed after `retry_after_s` seconds."""

    status = 503

    def __init__(self, message: str, retry_after_s: int = 1) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s

    def headers(self) -> Headers:
        return [("retry-after", str(self.retry_after_s))]


class OutcomeUnknown(Unavailable):
    """A request was handed to a worker, and its answer will not come: it may have been carried out or not.

    No `Retry-After`: a client that repeats a write might do it twice. A read may be repeated; edges do so by themselves.
    """

    status = 504
    outcome = UNKNOWN

    def headers(self) -> Headers:
        return []

    def body(self) -> dict[str, object]:
        return {"message": str(self), "outcome": self.outcome}


class DeadlineExceeded(ApiError):
    """The platform did not answer within the time the edge gives a request. It may have been carried out or not."""

    status = 504
    outcome = UNKNOWN

    def body(self) -> dict[str, object]:
        return {"message": str(self), "outcome": self.outcome}
