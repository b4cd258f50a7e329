"""Trace requests across processes: the switch, and the interface of spans. `broker/observability/telemetry.py`
implements it.

    edge (server) --> call of a pool (client) --> worker (server) --> SQL (client), requests to others (client)

When tracing is off, which is the default, a traced place costs one look at `STATE.tracing`, and the packages of
OpenTelemetry are not imported. When it is on, a span contains names, numbers and the texts of statements. It contains
no header, parameter, URL query or exception message, because these may contain secrets.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from schemas.http import Headers
from schemas.settings.tree import Observability, SettingsError

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


class _State:
    """The tracing of this process; None when it is off."""

    __slots__ = ("tracing",)

    def __init__(self) -> None:
        self.tracing: Tracing | None = None


STATE = _State()


def start_tracing(options: Observability, process: str, project: str) -> None:
    """Start tracing, if the settings name a collector. Raises: SettingsError if the packages are missing.

    The import is inside the function because the packages of OpenTelemetry must not be loaded by a process that does
    not trace.
    """
    if not options.otlp_endpoint:
        return
    try:
        from broker.observability.telemetry import telemetry
    except ModuleNotFoundError:
        raise SettingsError(
            "observability.otlp_endpoint is set, and the packages for traces are not here: "
            "install headwater[telemetry], or leave the endpoint empty"
        ) from None
    STATE.tracing = telemetry(options, process, project)


def stop_tracing() -> None:
    """Stop tracing and send the remaining spans. It waits for the collector, a few seconds at most."""
    tracing, STATE.tracing = STATE.tracing, None
    if tracing is not None:
        tracing.close()
