"""A collector of traces for tests: it takes OTLP over HTTP as a real one does, and keeps what came."""

import contextlib
import gzip
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

_PATIENCE_S = 60


@dataclass
class ReceivedSpan:
    """A span as it arrived, with the name of the process that sent it."""

    service: str
    span: Span

    @property
    def name(self) -> str:
        return str(self.span.name)

    @property
    def trace(self) -> str:
        return self.span.trace_id.hex()

    @property
    def id(self) -> str:
        return self.span.span_id.hex()

    @property
    def parent(self) -> str:
        return self.span.parent_span_id.hex()

    @property
    def attributes(self) -> dict[str, str]:
        return {
            each.key: each.value.string_value or str(each.value.int_value) for each in self.span.attributes
        }


@dataclass
class Collector:
    """What has come to an address. `raw` are the bodies, `headers` those of the last one."""

    url: str = ""
    spans: list[ReceivedSpan] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)
    headers: dict[str, str] = field(default_factory=dict)

    def take(self, body: bytes) -> None:
        """Decode what was sent."""
        message = ExportTraceServiceRequest.FromString(body)
        self.raw.append(body)
        for resource in message.resource_spans:
            told = {each.key: each.value.string_value for each in resource.resource.attributes}
            for scope in resource.scope_spans:
                self.spans += [ReceivedSpan(told["service.name"], span) for span in scope.spans]

    def wait(self, wanted: Callable[[list[ReceivedSpan]], bool]) -> list[ReceivedSpan]:
        """Wait until the spans are as wanted, and give them."""
        deadline = time.monotonic() + _PATIENCE_S
        while not wanted(spans := list(self.spans)):
            if time.monotonic() > deadline:
                raise AssertionError([(each.service, each.name, each.attributes) for each in spans])
            time.sleep(0.02)
        return spans

    def of(self, trace: str) -> list[ReceivedSpan]:
        """Give the spans of one trace."""
        return [each for each in self.spans if each.trace == trace]


@contextlib.contextmanager
def collecting() -> Iterator[Collector]:
    """Run a collector on a free port."""
    one = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            one.paths.add(self.path)
            one.headers = {name.lower(): value for name, value in self.headers.items()}
            one.take(body)
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *words: object) -> None:
            del format, words

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    one.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield one
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
