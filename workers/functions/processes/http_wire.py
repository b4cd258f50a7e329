"""HTTP/1.1 codec of the client side (pure): a request to bytes, bytes to the parts of a response.

    request_head, chunk, LAST_CHUNK        what is sent
    ResponseReader.feed(bytes)             `head`, then pieces of the body; `is_complete` at its end

The length of a response body is given by Content-Length, or by chunks, or by the end of the connection (RFC 9112, 6.3). Responses
to HEAD, and those with status 204 or 304, end after the head. Status 101 ends HTTP: the bytes that follow belong to the other
protocol. Heads with any other 1xx status are skipped. Bytes after a complete response make the connection unusable for another
request (`keeps_alive`), so a function cannot answer a request that was not sent yet. The process is not trusted: the head,
chunk lines and numbers are bounded.
"""

import re
from dataclasses import dataclass

from schemas.http import Headers
from schemas.numbers import LARGEST_SIZE, parse_hex_number, parse_whole_number

LAST_CHUNK = b"0\r\n\r\n"
MOST_HEAD = 256 * 1024
"""Bytes of the longest response head."""
_MOST_LINE = 4096
_HOP_BY_HOP = frozenset({
    "connection", "keep-alive", "proxy-authenticate", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    "content-length",
})  # fmt: skip
_NOT_SENT = _HOP_BY_HOP | {"expect", "host", "proxy-authorization", "sb-api-key"}
_UNSENDABLE = re.compile("[\0-\x08\x0a-\x1f\x7f]")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: ([^\r\n]*))?")


class WireBroken(Exception):
    """The process sent invalid HTTP, or the connection ended in the middle of a response."""


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """The head of a response. `size` is the Content-Length of its body, or -1."""

    status: int
    headers: Headers
    reason: str
    size: int


def request_head(
    method: str, target: str, host: str, headers: Headers, size: int | None, upgrade: str = ""
) -> bytes:
    """Return the head of a request. `size`: length of its body, -1 for chunked, None without a body; `upgrade`: a protocol."""
    lines = [f"{method} {target} HTTP/1.1", f"host: {_sanitized(host)}"]
    lines += [f"{name}: {_sanitized(text)}" for name, text in headers if _is_sent(name)]
    if upgrade:
        lines += ["connection: upgrade", f"upgrade: {_sanitized(upgrade)}"]
    if size is not None:
        lines.append("transfer-encoding: chunked" if size < 0 else f"content-length: {size}")
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "replace")


def chunk(piece: bytes) -> bytes:
    """Return a piece of a body as a chunk; b"" for an empty piece, which would end the body."""
    return b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b""


def _is_sent(name: str) -> bool:
    return name not in _NOT_SENT and _NAME.fullmatch(name) is not None


def _sanitized(text: str) -> str:
    return _UNSENDABLE.sub(" ", text)


class ResponseReader:
    """Parser of one response: feed it bytes, it returns the pieces of the body in them."""

    def __init__(self, *, is_head: bool = False) -> None:
        self.head: ResponseHead | None = None
        self.is_complete = False
        self.is_upgraded = False
        self.keeps_alive = True
        self.rest = b""
        self._is_head = is_head
        self._buffer = b""
        self._left = 0
        self._is_chunked = False
        self._until_end = False
        self._in_trailer = False

    def feed(self, data: bytes) -> list[bytes]:
        """Parse bytes and return the pieces of the body in them. Raises: WireBroken."""
        pieces: list[bytes] = []
        if self.head is None:
            data = self._read_head(self._buffer + data)
            if self.head is None:
                return pieces
        if self.is_upgraded:
            return [data] if data else pieces
        if self.is_complete:
            self._keep_excess(data)
        elif self._is_chunked:
            self._read_chunks(data, pieces)
        else:
            self._read_plain(data, pieces)
        return pieces

    def end(self) -> None:
        """Handle the end of the connection. Raises: WireBroken unless the response may end that way."""
        if self._until_end or self.is_upgraded:
            self.is_complete = True
        elif not self.is_complete:
            raise WireBroken("the connection ended in the middle of a response")

    def _read_head(self, data: bytes) -> bytes:
        while True:
            end = data.find(b"\r\n\r\n")
            if end < 0:
                if len(data) > MOST_HEAD:
                    raise WireBroken("the head of the response is too long")
                self._buffer = data
                return b""
            head, data = data[:end], data[end + 4 :]
            status, reason, headers = _parse_head(head)
            if status >= 200 or status == 101:
                self._buffer = b""
                self._begin(status, reason, headers)
                return data

    def _begin(self, status: int, reason: str, headers: Headers) -> None:
        first = dict(reversed(headers))
        self.keeps_alive = "close" not in first.get("connection", "").lower()
        end_to_end = [field for field in headers if field[0] not in _HOP_BY_HOP]
        length = parse_whole_number(first.get("content-length", ""), most=LARGEST_SIZE)
        size = -1 if length is None else length
        if status == 101:
            self.is_upgraded = True
            end_to_end += [("connection", "upgrade"), ("upgrade", first.get("upgrade", ""))]
        elif self._is_head or status in (204, 304):
            self.is_complete = True
        elif "chunked" in first.get("transfer-encoding", "").lower():
            self._is_chunked, size = True, -1
        elif size >= 0:
            self._left = size
            self.is_complete = size == 0
        else:
            self._until_end, self.keeps_alive = True, False
        self.head = ResponseHead(status, end_to_end, reason, size)

    def _read_plain(self, data: bytes, pieces: list[bytes]) -> None:
        if self._until_end:
            if data:
                pieces.append(data)
            return
        piece, rest = data[: self._left], data[self._left :]
        if piece:
            pieces.append(piece)
            self._left -= len(piece)
        if self._left == 0:
            self.is_complete = True
            self._keep_excess(rest)

    def _read_chunks(self, data: bytes, pieces: list[bytes]) -> None:
        """Parse chunks. `_left` counts the missing bytes of the current chunk, with the CRLF after it."""
        data = self._buffer + data
        self._buffer = b""
        at = 0
        while at < len(data):
            if self._left > 2:
                piece = data[at : at + self._left - 2]
                pieces.append(piece)
                self._left -= len(piece)
                at += len(piece)
            elif self._left:
                line_end = data[at : at + self._left]
                self._left -= len(line_end)
                at += len(line_end)
            else:
                end = data.find(b"\r\n", at)
                if end < 0:
                    self._buffer = data[at:]
                    if len(self._buffer) > _MOST_LINE:
                        raise WireBroken("a chunk line of the response is too long")
                    return
                line, at = data[at:end], end + 2
                if self._in_trailer:
                    if not line:
                        self.is_complete = True
                        self._keep_excess(data[at:])
                        return
                    continue
                size = _chunk_size(line)
                if size:
                    self._left = size + 2
                else:
                    self._in_trailer = True

    def _keep_excess(self, data: bytes) -> None:
        if data:
            self.rest += data
            self.keeps_alive = False


def _parse_head(head: bytes) -> tuple[int, str, Headers]:
    lines = head.split(b"\r\n")
    status = _STATUS.fullmatch(lines[0])
    if not status:
        raise WireBroken("the response has no valid status line")
    headers: Headers = []
    for line in lines[1:]:
        name, colon, text = line.partition(b":")
        if not colon:
            raise WireBroken("a header of the response has no colon")
        headers.append((name.decode("latin-1").strip().lower(), text.decode("utf-8", "replace").strip()))
    return int(status[1]), (status[2] or b"").decode("latin-1"), headers


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    size = parse_hex_number(digits.decode("latin-1"), most=LARGEST_SIZE)
    if size is None:
        raise WireBroken("the size of a chunk is not a number")
    return size
