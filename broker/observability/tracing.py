"""Traces: the switch, and what the house says of its work. Who makes spans of that stands in `broker/observability/telemetry.py`.

    edge (server) --> call of a pool (client) --> worker (server) --> SQL (client), requests to others (client)

Off, which is the default, a place that could be traced costs one look at `STATE.tracing`; the packages of OpenTelemetry are not even
imported then. On, a span holds names, numbers and the texts of statements: no header, no parameter, no query of a URL and
no words of an exception, for they may hold secrets.
"""

import importlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from schemas.http import Headers
from schemas.settings.tree import Observability, SettingsError

Attributes = Mapping[str, str | int]


class Span(Protocol):
    """A piece of work that is under way."""

    def note(self, name: str, value: str | int) -> None:
        """Add what is known only now."""
        ...

    def answered(self, status: int) -> None:
        """Note the HTTP status that the work ended with; from 500 on it has failed."""
        ...


class Tracing(Protocol):
    """Makes spans. Each is a child of the one around it; an exception marks it with its class and passes."""

    def serve(
        self, name: str, carrier: Mapping[str, str] | Headers, attributes: Attributes
    ) -> AbstractContextManager[Span]:
        """Answer a request whose `traceparent`, if it has one, stands in `carrier`."""
        ...

    def ask(
        self, name: str, attributes: Attributes, *, may_begin: bool = True
    ) -> AbstractContextManager[Span]:
        """Ask somebody else. Without `may_begin` it is traced only inside of another span."""
        ...

    def headers(self) -> Headers:
        """Give what tells the next process of the span around this: `traceparent`, and `tracestate` where there is one."""
        ...

    def close(self) -> None:
        """Send what is left, and end."""
        ...


class _State:
    """What this process uses; None where nothing is traced."""

    __slots__ = ("tracing",)

    def __init__(self) -> None:
        self.tracing: Tracing | None = None


STATE = _State()


def begin_tracing(options: Observability, process: str, project: str) -> None:
    """Trace from now on, if the settings name a collector. Raises: SettingsError if it cannot be done."""
    if not options.otlp_endpoint:
        return
    try:
        made: Callable[[Observability, str, str], Tracing] = importlib.import_module(
            "broker.observability.telemetry"
        ).telemetry
    except ModuleNotFoundError:
        raise SettingsError(
            "observability.otlp_endpoint is set, and the packages for traces are not here: "
            "install headwater[telemetry], or leave the endpoint empty"
        ) from None
    STATE.tracing = made(options, process, project)


def end_tracing() -> None:
    """Send what is left. It waits for the collector, a few seconds at most."""
    tracing, STATE.tracing = STATE.tracing, None
    if tracing is not None:
        tracing.close()
