"""The interface of spans."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from schemas.http import Headers

Attributes = Mapping[str, str | int]


class Span(Protocol):
    """An operation that is being traced."""

    def note(self, name: str, value: str | int) -> None:
        """Add an attribute that is known only now."""
        ...

    def answered(self, status: int) -> None:
        """Record the HTTP status of the result; from 500 on the span has failed."""
        ...


class Tracing(Protocol):
    """Creates spans. Each is a child of the current one; an exception that leaves it sets `error.type` and passes on."""

    def server_span(
        self, name: str, carrier: Mapping[str, str] | Headers, attributes: Attributes
    ) -> AbstractContextManager[Span]:
        """Open the span of a received request, whose parent is the `traceparent` in `carrier`, if there is one."""
        ...

    def client_span(
        self, name: str, attributes: Attributes, *, may_begin: bool = True
    ) -> AbstractContextManager[Span]:
        """Open the span of a request to another process. Without `may_begin` it is created only inside another span."""
        ...

    def headers(self) -> Headers:
        """Return the headers that pass the current span on: `traceparent`, and `tracestate` if there is one."""
        ...

    def close(self) -> None:
        """Send the remaining spans, and stop."""
        ...
