"""`aws-chunked` bodies: frames taken off, signatures of chunks and of trailers verified. Pure: bytes in, bytes out.

    <size in hex>[;chunk-signature=<64 hex>] CRLF <bytes> CRLF ...  0[;chunk-signature=...] CRLF
    [<trailer>:<value> CRLF ...] [x-amz-trailer-signature:<64 hex> CRLF] CRLF

Each signature covers the previous one, the first one covers the signature of the request. So a changed, missing or moved chunk is detected.
Bytes are handed on before their chunk's signature has been read: what they become counts only after `finish`.
Source: "Signature calculations for the Authorization header: transferring payload in multiple chunks" of the Amazon S3
API reference.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass, field
from enum import Enum

from schemas.numbers import parse_hex_number

_EMPTY = hashlib.sha256(b"").hexdigest()
_LARGEST_CHUNK = 16**12 - 1
_HEAD = re.compile(rb"([0-9a-fA-F]{1,12})(?:;chunk-signature=([0-9a-f]{64}))?")
_SIGNATURE = re.compile(r"[0-9a-f]{64}")
_LONGEST_LINE = 4096
_MOST_TRAILERS = 16
_TRAILER_SIGNATURE = "x-amz-trailer-signature"


class InvalidS3Body(Exception):
    """A body is not as it was signed or announced; `code` is the word of S3 for it."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(slots=True)
class SignatureChain:
    """The chain of signatures, each covering the previous one. `last` starts with the signature of the request."""

    key: bytes = field(repr=False)
    date: str
    scope: str
    last: str

    def check_chunk(self, decoded: str, hashed: str) -> None:
        """Verify the signature of a chunk whose bytes have this hash. Raises: InvalidS3Body."""
        self._check(decoded, "AWS4-HMAC-SHA256-PAYLOAD", _EMPTY, hashed)

    def check_trailers(self, decoded: str, lines: str) -> None:
        """Verify the signature of trailers, each spelled `name:value` with a line's end. Raises: InvalidS3Body."""
        self._check(decoded, "AWS4-HMAC-SHA256-TRAILER", hashlib.sha256(lines.encode()).hexdigest())

    def _check(self, decoded: str, *parts: str) -> None:
        kind, *hashes = parts
        text = "\n".join((kind, self.date, self.scope, self.last, *hashes))
        signature = hmac.digest(self.key, text.encode(), "sha256").hex()
        if not hmac.compare_digest(signature, decoded):
            raise InvalidS3Body("SignatureDoesNotMatch")
        self.last = signature


class _At(Enum):
    HEAD = "head"
    DATA = "data"
    DATA_END = "data end"
    TRAILER = "trailer"
    END = "end"


class ChunkDecoder:
    """Decodes a body. `chain` is None if chunks are not signed; `size` is the size that the client announced."""

    def __init__(self, chain: SignatureChain | None, size: int, *, has_trailers: bool) -> None:
        self.trailers: dict[str, str] = {}
        """Names in lower case, without the signature."""
        self._chain, self._size, self._has_trailers = chain, size, has_trailers
        self._at, self._buffer, self._start = _At.HEAD, b"", 0
        self._left = self._given = 0
        self._signature = ""
        self._hash = hashlib.sha256()

    def feed(self, data: bytes) -> list[bytes]:
        """Take in what has arrived; give the bytes of the body in it. Raises: InvalidS3Body."""
        # The buffer is cut once, at the end: a client may send chunks of one byte, and a cut after each of them would copy the rest
        # as often as there are chunks.
        self._buffer = self._buffer + data if self._buffer else data
        decoded: list[bytes] = []
        while self._start < len(self._buffer) and self._step(decoded):
            pass
        self._buffer, self._start = self._buffer[self._start :], 0
        return decoded

    def finish(self) -> None:
        """Make sure that the body has ended well. Raises: InvalidS3Body."""
        if self._at is not _At.END or self._given != self._size:
            raise InvalidS3Body("IncompleteBody")

    def _step(self, decoded: list[bytes]) -> bool:
        """Go on by one piece; False if more has to arrive."""
        match self._at:
            case _At.DATA:
                self._data(decoded)
                return True
            case _At.END:
                raise InvalidS3Body("InvalidChunk")
        line = self._line()
        if line is None:
            return False
        match self._at:
            case _At.HEAD:
                self._head(line)
            case _At.DATA_END:
                if line:
                    raise InvalidS3Body("InvalidChunk")
                self._at = _At.HEAD
            case _At.TRAILER:
                self._trailer(line)
        return True

    def _line(self) -> bytes | None:
        end = self._buffer.find(b"\n", self._start)
        if (len(self._buffer) if end < 0 else end) - self._start > _LONGEST_LINE:
            raise InvalidS3Body("InvalidChunk")
        if end < 0:
            return None
        line, self._start = self._buffer[self._start : end], end + 1
        return line.removesuffix(b"\r")

    def _head(self, line: bytes) -> None:
        match = _HEAD.fullmatch(line)
        if match is None or (match[2] is None) is not (self._chain is None):
            raise InvalidS3Body("InvalidChunk" if match is None or match[2] else "SignatureDoesNotMatch")
        self._left = parse_hex_number(match[1].decode(), most=_LARGEST_CHUNK) or 0
        self._signature = (match[2] or b"").decode()
        if self._given + self._left > self._size:
            raise InvalidS3Body("IncompleteBody")
        self._hash = hashlib.sha256()
        self._at = _At.DATA
        if not self._left:
            self._end_of_chunk()
            self._at = _At.TRAILER

    def _data(self, decoded: list[bytes]) -> None:
        piece = self._buffer[self._start : self._start + self._left]
        self._start += len(piece)
        self._left -= len(piece)
        self._given += len(piece)
        if self._chain is not None:
            self._hash.update(piece)
        decoded.append(piece)
        if not self._left:
            self._end_of_chunk()
            self._at = _At.DATA_END

    def _end_of_chunk(self) -> None:
        if self._chain is not None:
            self._chain.check_chunk(self._signature, self._hash.hexdigest())

    def _trailer(self, line: bytes) -> None:
        if not line:
            self._end_of_trailers()
            return
        name, colon, value = line.decode("latin-1").partition(":")
        name = name.strip().lower()
        if (
            not self._has_trailers
            or not colon
            or name in self.trailers
            or len(self.trailers) >= _MOST_TRAILERS
        ):
            raise InvalidS3Body("MalformedTrailerError")
        self.trailers[name] = value.strip()

    def _end_of_trailers(self) -> None:
        signature = self.trailers.pop(_TRAILER_SIGNATURE, "")
        if self._chain is not None and self._has_trailers:
            if not _SIGNATURE.fullmatch(signature):
                raise InvalidS3Body("MalformedTrailerError")
            lines = "".join(f"{name}:{value}\n" for name, value in self.trailers.items())
            self._chain.check_trailers(signature, lines)
        self._at = _At.END
