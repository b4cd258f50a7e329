"""A web site at an origin of its own: one page, and the official clients as one module."""

import http.server
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import deno

_HERE = Path(__file__).parent
_PAGE = b"""<!doctype html><meta charset="utf-8"><title>site</title><link rel="icon" href="data:,">
<script type="module">import * as clients from '/clients.js'; Object.assign(window, clients, { isReady: true })</script>
"""
_BUNDLING_S = 90


def bundle(folder: Path) -> bytes:
    """Return the clients of entry.mjs as one module for browsers. Raises AssertionError with Deno's report."""
    target = folder / "clients.js"
    done = subprocess.run(
        [deno.find_deno_bin(), "bundle", "--quiet", "--platform", "browser", "-o", str(target), str(_HERE / "entry.mjs")],
        cwd=folder, capture_output=True, text=True, timeout=_BUNDLING_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return target.read_bytes()


@contextmanager
def site(clients: bytes, page: bytes = _PAGE) -> Iterator[str]:
    """Serve the page at every path but `/clients.js`, and return the site's origin."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            is_script = self.path == "/clients.js"
            body = clients if is_script else page
            self.send_response(200)
            self.send_header("content-type", "text/javascript" if is_script else "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Be quiet."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
