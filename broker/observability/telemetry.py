"""Send spans to a collector by OpenTelemetry, as OTLP over HTTP. Only this module imports the packages of OpenTelemetry,
and it is imported only if tracing is on.

Trace ids travel as W3C Trace Context defines, in HTTP and in the messages of the broker (`Request.trace`). A thread
sends spans in batches. While the collector is away they are dropped; requests never wait for it. Source:
https://www.w3.org/TR/trace-context/ ; OpenTelemetry's semantic conventions for HTTP, messaging and databases.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from broker.observability.observe import member_name
from broker.observability.spans import Attributes, Tracing
from schemas.http import Headers
from schemas.settings.tree import Observability

PATH = "/v1/traces"
_EXPORT_S = 5.0
_EVERY_MS = 1000.0
_MOST_WAITING = 8192
"""Spans that wait for the collector; more are dropped."""
_BATCH = 1024
_LONGEST_NAME = 128

_PROPAGATOR = TraceContextTextMapPropagator()
_TRACE_HEADERS = ("traceparent", "tracestate")


def telemetry(options: Observability, process: str, project: str) -> "Telemetry":
    """Start to send spans to the collector of the settings."""
    headers = _pairs(options.otlp_headers.reveal()) if options.otlp_headers else None
    exporter = OTLPSpanExporter(options.otlp_endpoint.rstrip("/") + PATH, headers=headers, timeout=_EXPORT_S)
    return Telemetry(exporter, options.sampling, process, project)


class Telemetry(Tracing):
    """The spans of this process."""

    def __init__(self, exporter: SpanExporter, sampling: float, process: str, project: str) -> None:
        resource = Resource.create(
            {
                "service.namespace": project,
                "service.name": f"headwater-{process}",
                "service.instance.id": member_name(),
            }
        )
        self._provider = TracerProvider(
            sampler=ParentBased(TraceIdRatioBased(sampling)), resource=resource, shutdown_on_exit=False
        )
        self._provider.add_span_processor(
            BatchSpanProcessor(
                exporter,
                max_queue_size=_MOST_WAITING,
                max_export_batch_size=_BATCH,
                schedule_delay_millis=_EVERY_MS,
            )
        )
        self._tracer = self._provider.get_tracer("headwater")

    @contextmanager
    def server_span(
        self, name: str, carrier: Mapping[str, str] | Headers, attributes: Attributes
    ) -> Iterator["_RecordedSpan"]:
        """Open the span of a received request, whose parent is named by its headers."""
        headers = carrier if isinstance(carrier, Mapping) else dict(carrier)
        parent = _PROPAGATOR.extract({field: headers[field] for field in _TRACE_HEADERS if field in headers})
        span = self._tracer.start_span(
            name[:_LONGEST_NAME], parent, kind=SpanKind.SERVER, attributes=attributes
        )
        with _inside(span) as recorded:
            yield recorded

    @contextmanager
    def client_span(
        self, name: str, attributes: Attributes, *, may_begin: bool = True
    ) -> Iterator["_RecordedSpan"]:
        """Open the span of a request to another process: inside a recorded span, or at the root of a trace."""
        current = trace.get_current_span()
        is_inside = current.get_span_context().is_valid
        is_left_out = (
            not current.is_recording() if is_inside else not may_begin
        )  # by sampling, or without a trace
        if is_left_out:
            yield _RecordedSpan(current)
            return
        span = self._tracer.start_span(name[:_LONGEST_NAME], kind=SpanKind.CLIENT, attributes=attributes)
        with _inside(span) as recorded:
            yield recorded

    def headers(self) -> Headers:
        """Return the headers that pass the current span on."""
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier)
        return list(carrier.items())

    def close(self) -> None:
        """Send the remaining spans, and stop the thread."""
        self._provider.shutdown()


class _RecordedSpan:
    """A span behind the interface of `broker/observability/spans.py`."""

    __slots__ = ("_span",)

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def note(self, name: str, value: str | int) -> None:
        self._span.set_attribute(name, value)

    def answered(self, status: int) -> None:
        self._span.set_attribute("http.response.status_code", status)
        if status >= 500:
            self._span.set_status(Status(StatusCode.ERROR))


@contextmanager
def _inside(span: trace.Span) -> Iterator[_RecordedSpan]:
    """Make a span the current one. An exception that leaves it marks it as failed; the exception's message is not recorded."""
    token = contexts.attach(trace.set_span_in_context(span))
    try:
        yield _RecordedSpan(span)
    except BaseException as error:
        span.set_attribute("error.type", type(error).__name__)
        span.set_status(Status(StatusCode.ERROR))
        raise
    finally:
        contexts.detach(token)
        span.end()


def _pairs(text: str) -> dict[str, str]:
    """Parse the headers of the settings: `name=value,name=value`."""
    pairs = (item.partition("=") for item in text.split(",") if "=" in item)
    return {name.strip(): value.strip() for name, _, value in pairs}
