"""A receiver of webhooks: an HTTP server that keeps what it gets and answers as a test says."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class ReceivedEvent:
    """A request: its path, headers in lower case, and body."""

    path: str
    headers: dict[str, str]
    body: str

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


@dataclass(slots=True)
class Receiver:
    """What came, in order. `statuses` has the next answers of a path; without one it is 200. `held`: paths whose answers wait for `let_go`."""

    port: int = 0
    events: list[ReceivedEvent] = field(default_factory=list)
    statuses: dict[str, list[int]] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    let_go: threading.Event = field(default_factory=threading.Event)
    arrived: threading.Condition = field(default_factory=threading.Condition)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def at(self, path: str) -> list[ReceivedEvent]:
        return [event for event in list(self.events) if event.path == path]

    def wait_for(self, path: str, count: int) -> list[ReceivedEvent]:
        """Wait until a path has so many requests, and return them."""
        with self.arrived:
            came = self.arrived.wait_for(lambda: len(self.at(path)) >= count, _PATIENCE_S)
        assert came, f"{path} has {self.at(path)}"
        return self.at(path)


@contextmanager
def receiver() -> Iterator[Receiver]:
    """Run a receiver on a free port of this machine."""
    made = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            headers = {name.lower(): value for name, value in self.headers.items()}
            with made.arrived:
                made.events.append(ReceivedEvent(self.path, headers, body))
                made.arrived.notify_all()
            if self.path in made.held:
                made.let_go.wait(_PATIENCE_S)
            left = made.statuses.get(self.path, [])
            status = left.pop(0) if left else 200
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("location", made.url("/redirected"))
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, format: str, *_: object) -> None:
            """Write no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield made
    finally:
        made.let_go.set()
        server.shutdown()
        thread.join()
        server.server_close()
