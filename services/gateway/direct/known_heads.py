"""Heads of requests that a connection repeats: recognized by their bytes, so that the parser does not read them again. Hot path.

Only a head that the parser has accepted on the same connection is known, and only while the parser waits for the beginning of
a request. All lines but the first must be the same bytes; of a POST or a PUT the digits of Content-Length may differ, and behind
the head must come just so many bytes: the whole body, and nothing of another request.
"""

import re
from typing import NamedTuple

from aiohttp.http_parser import RawRequestMessage

from schemas.http import Headers

_REST_OF_TARGET = rb"[A-Za-z0-9._~!$&'()*+,;=:@%/?\"{}-]*) HTTP/1\.1\r\n"
"""Fewer characters than the parser accepts."""
_GET_LINE = re.compile(rb"GET (/(?:rest|auth)/v1/" + _REST_OF_TARGET)
_POST_LINE = re.compile(
    rb"(POST|PUT) (/(?:rest/v1/|graphql/v1|auth/v1/|storage/v1/object/)" + _REST_OF_TARGET
)
_LENGTH_LINE = re.compile(rb"\r\ncontent-length: ([1-9][0-9]{0,5})\r\n", re.IGNORECASE)
_LENGTH = re.compile(rb"[1-9][0-9]{0,5}")
_LENGTH_NAME = "content-length"
_LINE_END = b"\r\n"
_HEAD_END = b"\r\n\r\n"
_LINES_BESIDE_HEADERS = 2
"""The request line, and the empty line at the end."""
_LONGEST_KNOWN = 4096


class RequestHead(NamedTuple):
    """The converted header lines of a request."""

    headers: Headers
    first: dict[str, str]
    shows_secret: bool = False
    """Whether a line of the head shows `gateway.proxy_secret`."""


class RecognizedRequest(NamedTuple):
    """A request whose head is known."""

    method: str
    target: str
    head: RequestHead
    body: bytes


class KnownHead(NamedTuple):
    """Header lines of a GET without a body that the parser has accepted on this connection, and what they were converted to."""

    lines: bytes
    head: RequestHead

    def request_in(self, data: bytes) -> RecognizedRequest | None:
        """Return the request that consists of a request line and these header lines; None for any other bytes."""
        match = _GET_LINE.match(data)
        if match is None or data[match.end() :] != self.lines:
            return None
        return RecognizedRequest("GET", match[1].decode("ascii"), self.head, b"")


class KnownPost(NamedTuple):
    """Header lines of a POST or a PUT that the parser has accepted on this connection, before and behind the digits of its length."""

    before: bytes
    behind: bytes
    head: RequestHead
    length_at: int
    """Place of the length among the headers."""

    def request_in(self, data: bytes) -> RecognizedRequest | None:
        """Return the request of a request line, these header lines and a body of its length; None for any other bytes."""
        line = _POST_LINE.match(data)
        if line is None or not data.startswith(self.before, line.end()):
            return None
        match = _LENGTH.match(data, line.end() + len(self.before))
        if match is None or not data.startswith(self.behind, match.end()):
            return None
        body = data[match.end() + len(self.behind) :]
        if len(body) != int(match[0]):
            return None
        text = match[0].decode("ascii")
        headers, first = self.head.headers.copy(), self.head.first.copy()
        headers[self.length_at] = (_LENGTH_NAME, text)
        first[_LENGTH_NAME] = text
        method, target = line[1].decode("ascii"), line[2].decode("ascii")
        return RecognizedRequest(method, target, RequestHead(headers, first, self.head.shows_secret), body)


def known_head(data: bytes, message: RawRequestMessage, head: RequestHead) -> KnownHead | KnownPost | None:
    """Return the head of a request to recognize it by; None unless the bytes are this one request from beginning to end.

    They are if each line of the head became a header: if the parser had been inside of an earlier head, the request line
    would be one, too. `message` has no transfer coding, and its body is whole.
    """
    if message.method in ("POST", "PUT"):
        return _known_post(data, message, head)
    match = _GET_LINE.match(data)
    if (
        match is None
        or match[1].decode("ascii") != message.path
        or data.count(_LINE_END) != len(message.raw_headers) + _LINES_BESIDE_HEADERS
        or not data.endswith(_HEAD_END)
        or len(data) - match.end() > _LONGEST_KNOWN
        or _LENGTH_NAME in head.first
    ):
        return None
    return KnownHead(data[match.end() :], head)


def _known_post(data: bytes, message: RawRequestMessage, head: RequestHead) -> KnownPost | None:
    end = data.find(_HEAD_END, 0, _LONGEST_KNOWN) + len(_HEAD_END)
    line = _POST_LINE.match(data)
    length = _LENGTH_LINE.search(data, 0, end)
    if (
        end < len(_HEAD_END)
        or line is None
        or length is None
        or line[1].decode("ascii") != message.method
        or line[2].decode("ascii") != message.path
        or data.count(_LINE_END, 0, end) != len(message.raw_headers) + _LINES_BESIDE_HEADERS
        or len(data) - end != int(length[1])
    ):
        return None
    names = [name for name, _ in head.headers]
    if names.count(_LENGTH_NAME) != 1 or any(
        name.lower() == b"transfer-encoding" for name, _ in message.raw_headers
    ):
        return None
    before, behind = data[line.end() : length.start(1)], data[length.end(1) : end]
    return KnownPost(before, behind, head, names.index(_LENGTH_NAME))
