"""Answers requests below `/_/`: the page of the dashboard, and the files that it loads. Reads files only.

    /                       the page; so is every other path, which the page's own router shows
    /assets/<name>          a script or a style; the hash of its content is in its name, so clients keep it
    /frame                  an empty page without scripts, in which the dashboard shows foreign HTML

The page names its files relative to its own address, so it works below any path that a proxy adds. Files are stored
compressed (br, gzip). Nothing here is secret: the page signs in at `/management/v1`.
"""

import gzip
import hashlib
import re
from pathlib import Path

from schemas.http import Headers, Response
from services.middleware.qualities import parse_qualities

STATIC = Path(__file__).parent / "static"
"""The built files; empty in a clone until `scripts/dashboard` ran."""
PREFIX = "/_"
ROOT_MARK = b"{{root}}"
"""In the page: where the address of the dashboard stands, relative to the address of the page."""
_ASSETS = "/assets/"
_ASSET_NAME = re.compile(r"[\w-]+(?:\.[\w-]+)*\.(js|css|svg|json|txt)", re.ASCII)
_TYPES = {
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "json": "application/json",
    "txt": "text/plain; charset=utf-8",
}
_CODINGS = (("br", ".br"), ("gzip", ".gz"))
"""In the order of preference, with the ending of the stored files."""
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob: data:; "
    "frame-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
FRAME_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; form-action 'none'; frame-ancestors 'self'; "
    "base-uri 'none'; sandbox allow-same-origin"
)
"""Content-Security-Policy of the frame: styles of an email apply, scripts, forms and requests to other servers do not."""
_COMMON: Headers = [
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
]
_PAGE_HEADERS: Headers = [
    *_COMMON,
    ("content-type", "text/html; charset=utf-8"),
    ("content-security-policy", PAGE_POLICY),
    ("x-frame-options", "DENY"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ("cache-control", "no-cache"),
]
_FRAME = b'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Preview</title></head><body></body></html>\n'
_NOT_BUILT = b"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Headwater</title>
<script src="{{root}}assets/_reload.js"></script></head><body>
<h1>The dashboard is not built yet</h1>
<p>The platform runs. One that was started from a clone builds its dashboard in the background, which takes some ten seconds and the
network, for npm packages; this page reloads itself. If it stays, <code>headwater logs dashboard</code> says why, and
<code>make dashboard</code> tries again. Packages of a release contain the dashboard.</p></body></html>
"""
_RELOAD_NAME = "_reload.js"
_RELOAD = b"setTimeout(() => location.reload(), 2000);\n"
"""A reload keeps the fragment of the address, which signs the first owner in; `<meta http-equiv="refresh">` need not."""


class DashboardFiles:
    """The built dashboard in a folder. Its files are read when they are asked for, so a new build shows at once."""

    def __init__(self, folder: Path = STATIC) -> None:
        self._folder = folder
        self._assets: dict[str, bytes] = {}

    def answer(self, below: str, accept_encoding: str = "", known_tags: str = "") -> Response:
        """Answer a request that reads the path `below` the prefix; `known_tags` is its `If-None-Match`."""
        if below.startswith(_ASSETS):
            return self._asset(below.removeprefix(_ASSETS), accept_encoding)
        if below == "/frame":
            headers = [
                ("content-type", "text/html; charset=utf-8"),
                ("content-security-policy", FRAME_POLICY),
            ]
            return Response(200, [*_COMMON, *headers, ("cache-control", "no-cache")], _FRAME)
        return self._page(below, known_tags)

    def _page(self, below: str, known_tags: str) -> Response:
        root = b"../" * (below.count("/") - 1) or b"./"
        try:
            page = (self._folder / "index.html").read_bytes()
        except OSError:
            return Response(503, _PAGE_HEADERS, _NOT_BUILT.replace(ROOT_MARK, root))
        body = page.replace(ROOT_MARK, root)
        tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        headers = [*_PAGE_HEADERS, ("etag", tag)]
        return Response(304, headers) if tag in known_tags else Response(200, headers, body)

    def _asset(self, name: str, accept_encoding: str) -> Response:
        if name == _RELOAD_NAME:
            return Response(
                200, [*_COMMON, ("content-type", _TYPES["js"]), ("cache-control", "no-cache")], _RELOAD
            )
        match = _ASSET_NAME.fullmatch(name)
        qualities = parse_qualities(accept_encoding)
        coding, ending = next(
            (pair for pair in _CODINGS if qualities.get(pair[0], qualities.get("*", 0))), ("", ".gz")
        )
        stored = self._stored(name + ending) if match else None
        if match is None or stored is None:
            text = b"There is no such file; reload the page.\n"
            return Response(
                404, [*_COMMON, ("content-type", _TYPES["txt"]), ("cache-control", "no-store")], text
            )
        headers: Headers = [
            *_COMMON,
            ("content-type", _TYPES[match[1]]),
            ("cache-control", "public, max-age=31536000, immutable"),
            ("vary", "Accept-Encoding"),
        ]
        if not coding:
            return Response(200, headers, gzip.decompress(stored))
        return Response(200, [*headers, ("content-encoding", coding)], stored)

    def _stored(self, file_name: str) -> bytes | None:
        """Return a stored file, or None. Names have the hash of their content, so a file that was read stays valid."""
        body = self._assets.get(file_name)
        if body is None:
            try:
                body = (self._folder / "assets" / file_name).read_bytes()
            except OSError:
                return None
            self._assets[file_name] = body
        return body
