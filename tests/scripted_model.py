"""A server that speaks chat completions as a model does, and says what a test wrote down: each request takes the next answer."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class ScriptedModel:
    """`answers`: one list of events for each request; `requests`: bodies that came; `keys`: what was sent as authorization."""

    url: str
    answers: list[list[object]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)

    def says(self, *parts: str) -> None:
        """Answer a request by a text in parts."""
        self.answers.append([{"choices": [{"delta": {"content": part}}]} for part in parts])

    def calls(self, name: str, arguments: object, *, id: str = "call-1") -> None:
        """Answer a request by a call of a tool, whose arguments come in two parts."""
        text = json.dumps(arguments)
        first = {"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": text[:3]}}
        rest = {"index": 0, "function": {"arguments": text[3:]}}
        self.answers.append([{"choices": [{"delta": {"tool_calls": [part]}}]} for part in (first, rest)])

    def sent(self, request: int = -1) -> str:
        """Return all that one request carried, as text."""
        return json.dumps(self.requests[request])


@contextmanager
def scripted_model() -> Iterator[ScriptedModel]:
    """Serve a model at a port of this machine. Without an answer it refuses as a service refuses a wrong key."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            model.requests.append(body)
            model.keys.append(self.headers["authorization"])
            if self.path != "/v1/chat/completions" or not model.answers:
                self._send(401, "application/json", b'{"error": {"message": "Incorrect API key provided"}}')
                return
            events = [json.dumps(event) for event in model.answers.pop(0)]
            self._send(
                200,
                "text/event-stream",
                "".join(f"data: {text}\n\n" for text in [*events, "[DONE]"]).encode(),
            )

        def _send(self, status: int, kind: str, data: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        model = ScriptedModel(f"http://127.0.0.1:{server.server_address[1]}/v1")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield model
        finally:
            server.shutdown()
