"""HTTP/1.1 as a client of a function's process (pure): a request as bytes, bytes as the events of an answer.

    request_head, chunk, LAST_CHUNK        what is sent
    AnswerReader.feed(bytes)               Head, then pieces of the body; `is_complete` at its end

The body of an answer is as long as Content-Length says, or chunked, or ends with the connection; 101 ends HTTP: what
follows is the other protocol's (`rest`). The process is not trusted: sizes are bounded. Source: RFC 9112.
"""

import re
from dataclasses import dataclass

from schemas.http import Headers
from schemas.numbers import LARGEST_SIZE, parse_hex_number, parse_whole_number

LAST_CHUNK = b"0\r\n\r\n"
MOST_HEAD = 256 * 1024
"""Bytes of the longest head of an answer."""
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
    """What the process sent is no HTTP, or it ended in the middle of it."""


@dataclass(frozen=True, slots=True)
class Head:
    """The head of an answer. `size` is the length of its body where it is told, else -1."""

    status: int
    headers: Headers
    reason: str
    size: int


def request_head(
    method: str, target: str, host: str, headers: Headers, size: int | None, upgrade: str = ""
) -> bytes:
    """Give the head of a request; `size` is its body's, -1 for chunks, None for none. `upgrade` names another protocol."""
    lines = [f"{method} {target} HTTP/1.1", f"host: {_clean(host)}"]
    lines += [f"{name}: {_clean(text)}" for name, text in headers if _may_go(name)]
    if upgrade:
        lines += ["connection: upgrade", f"upgrade: {_clean(upgrade)}"]
    if size is not None:
        lines.append("transfer-encoding: chunked" if size < 0 else f"content-length: {size}")
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "replace")


def chunk(piece: bytes) -> bytes:
    """Give a piece of a body as a chunk; an empty piece would be the last one and gives nothing."""
    return b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b""


def _may_go(name: str) -> bool:
    return name not in _NOT_SENT and _NAME.fullmatch(name) is not None


def _clean(text: str) -> str:
    return _UNSENDABLE.sub(" ", text)


class AnswerReader:
    """Reads one answer. Feed it what arrives; it gives the pieces of the body that were in it."""

    def __init__(self, *, is_head: bool = False) -> None:
        self.head: Head | None = None
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
        """Take bytes; give the pieces of the body. Raises: WireBroken."""
        pieces: list[bytes] = []
        if self.head is None:
            data = self._read_head(self._buffer + data)
            if self.head is None:
                return pieces
        if self.is_upgraded:
            return [data] if data else pieces
        if self.is_complete:
            self._leave(data)
        elif self._is_chunked:
            self._read_chunks(data, pieces)
        else:
            self._read_plain(data, pieces)
        return pieces

    def end(self) -> None:
        """The connection has ended. Raises: WireBroken unless that is how the answer ends."""
        if self._until_end or self.is_upgraded:
            self.is_complete = True
        elif not self.is_complete:
            raise WireBroken("the connection ended in the middle of an answer")

    def _read_head(self, data: bytes) -> bytes:
        while True:
            end = data.find(b"\r\n\r\n")
            if end < 0:
                if len(data) > MOST_HEAD:
                    raise WireBroken("the head of the answer is too long")
                self._buffer = data
                return b""
            head, data = data[:end], data[end + 4 :]
            status, reason, headers = _parsed(head)
            if status >= 200 or status == 101:
                self._buffer = b""
                self._begin(status, reason, headers)
                return data

    def _begin(self, status: int, reason: str, headers: Headers) -> None:
        first = dict(reversed(headers))
        self.keeps_alive = "close" not in first.get("connection", "").lower()
        sent = [each for each in headers if each[0] not in _HOP_BY_HOP]
        length = parse_whole_number(first.get("content-length", ""), most=LARGEST_SIZE)
        size = -1 if length is None else length
        if status == 101:
            self.is_upgraded = True
            sent += [("connection", "upgrade"), ("upgrade", first.get("upgrade", ""))]
        elif self._is_head or status in (204, 304):
            self.is_complete = True
        elif "chunked" in first.get("transfer-encoding", "").lower():
            self._is_chunked, size = True, -1
        elif size >= 0:
            self._left = size
            self.is_complete = size == 0
        else:
            self._until_end, self.keeps_alive = True, False
        self.head = Head(status, sent, reason, size)

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
            self._leave(rest)

    def _read_chunks(self, data: bytes, pieces: list[bytes]) -> None:
        """Take chunks apart. `_left` counts what is missing of one, with the line end behind it."""
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
                taken = data[at : at + self._left]
                self._left -= len(taken)
                at += len(taken)
            else:
                end = data.find(b"\r\n", at)
                if end < 0:
                    self._buffer = data[at:]
                    if len(self._buffer) > _MOST_LINE:
                        raise WireBroken("a line of the answer is too long")
                    return
                line, at = data[at:end], end + 2
                if self._in_trailer:
                    if not line:
                        self.is_complete = True
                        self._leave(data[at:])
                        return
                    continue
                size = _chunk_size(line)
                if size:
                    self._left = size + 2
                else:
                    self._in_trailer = True

    def _leave(self, data: bytes) -> None:
        if data:
            self.rest += data
            self.keeps_alive = False


def _parsed(head: bytes) -> tuple[int, str, Headers]:
    lines = head.split(b"\r\n")
    found = _STATUS.fullmatch(lines[0])
    if not found:
        raise WireBroken("the answer does not begin as one of HTTP")
    headers: Headers = []
    for line in lines[1:]:
        name, colon, text = line.partition(b":")
        if not colon:
            raise WireBroken("a header of the answer is none")
        headers.append((name.decode("latin-1").strip().lower(), text.decode("utf-8", "replace").strip()))
    return int(found[1]), (found[2] or b"").decode("latin-1"), headers


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    size = parse_hex_number(digits.decode("latin-1"), most=LARGEST_SIZE)
    if size is None:
        raise WireBroken("the size of a chunk is none")
    return size
