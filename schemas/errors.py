"""Define `ApiError`, the root of every area's error classes.

Code that detects an error raises one. It is turned into a `Response` in one place: `broker/requests/serve.py` in
workers, `services/middleware/errors.py` in edges.
"""

import msgspec

from schemas.http import Headers, Response

UNKNOWN = "unknown"
"""The outcome of a request that a worker may have carried out although its reply was lost."""


class ApiError(Exception):
    """An error that is sent to the client: status, headers and body, in the format of its area."""

    status: int = 500

    def headers(self) -> Headers:
        """Return extra response headers, names in lower case."""
        return []

    def body(self) -> dict[str, object]:
        """Return the JSON object of the body."""
        return {"message": str(self)}

    def reason(self) -> str:
        """Return the reason phrase; empty for the standard one."""
        return ""

    def response(self) -> Response:
        """Build the response of the error."""
        headers = self.headers()
        if not any(name == "content-type" for name, _ in headers):
            headers = [("content-type", "application/json; charset=utf-8"), *headers]
        return Response(self.status, headers, _encoded(self.body()), self.reason())


def _encoded(body: dict[str, object]) -> bytes:
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:  # a lone surrogate that a client sent, quoted in a message
        cleaned = {
            key: _replace_surrogates(value) if isinstance(value, str) else value
            for key, value in body.items()
        }
        return msgspec.json.encode(cleaned)


def _replace_surrogates(text: str) -> str:
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

    No `Retry-After`: a client that repeats a write might do it twice. A read may be repeated; edges do so by
    themselves.
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
