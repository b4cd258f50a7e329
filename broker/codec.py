"""Convert structs to bytes and back: MessagePack by msgspec, with one encoder and one decoder a type for the process.

Measured for a request of 300 bytes: 0.5 us to encode, 1.5 us to decode.
"""

from functools import cache
from typing import Generic, TypeVar

import msgspec
from msgspec.structs import force_setattr

from schemas.http import Headers, RepeatedHeaders, Request, Response

T = TypeVar("T")
_MOST_REPEATED = 512
"""Headers that are kept; with what is computed of them at most some 20 KB each, usually 3."""
_LONGEST_REPEATED = 4096
"""Bytes of headers that are kept."""

_ENCODER = msgspec.msgpack.Encoder()

encode = _ENCODER.encode
"""Encode any struct of `schemas/`, or lists and texts of them."""


class InvalidMessage(Exception):
    """Bytes that do not decode to the expected type. `expected`: its name; `reason`: what is wrong."""

    def __init__(self, expected: str, reason: str) -> None:
        super().__init__(f"not a {expected}: {reason}")
        self.expected = expected
        self.reason = reason


class MessageDecoder(Generic[T]):
    """Decodes one type from bytes."""

    __slots__ = ("_decode", "_name")

    def __init__(self, kind: type[T]) -> None:
        self._decode = msgspec.msgpack.Decoder(kind).decode
        self._name = getattr(kind, "__name__", str(kind))

    def __call__(self, data: bytes) -> T:
        """Decode the bytes. Raises: InvalidMessage."""
        try:
            return self._decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidMessage(self._name, str(error)) from None


@cache
def decoder(kind: type[T]) -> MessageDecoder[T]:
    """Return the decoder of a type; each is created once."""
    return MessageDecoder(kind)


class _ReceivedRequest(Request, frozen=True, array_like=True, tag="request"):
    """A request whose headers are not decoded yet."""

    headers: msgspec.Raw = msgspec.Raw(b"\x90")  # type: ignore[assignment]  # replaced before anybody sees it


class RequestDecoder:
    """Decodes requests. The clients of an edge repeat their headers: those that came in the same bytes before are one list.

    What a pool computes of headers is kept with that list (`schemas.http.derived`). Headers are kept from the second time on: where
    each request has others (its id, its trace), nothing is kept, and nothing is evicted for it.
    """

    __slots__ = ("_decode", "_headers", "_known", "_most", "_seen")

    def __init__(self, most: int = _MOST_REPEATED) -> None:
        self._most = most
        self._decode = msgspec.msgpack.Decoder(_ReceivedRequest).decode
        self._headers = msgspec.msgpack.Decoder(Headers).decode
        self._known: dict[bytes, RepeatedHeaders] = {}
        """Headers by their bytes."""
        self._seen: set[int] = set()
        """Hashes of headers that came once."""

    def __call__(self, data: bytes) -> Request:
        """Decode a request. Raises: InvalidMessage."""
        try:
            request = self._decode(data)
            sent = bytes(request.headers)
            headers: Headers | None = self._known.get(sent)
            if headers is None:
                headers = self._headers(sent)
                if len(sent) <= _LONGEST_REPEATED:
                    headers = self._keep(sent, headers)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidMessage("Request", str(error)) from None
        force_setattr(request, "headers", headers)
        return request

    def _keep(self, sent: bytes, headers: Headers) -> Headers:
        """Keep headers that came before. A full memory is emptied: those that are repeated are soon there again."""
        mark = hash(sent)
        if mark not in self._seen:
            if len(self._seen) >= self._most:
                self._seen.clear()
            self._seen.add(mark)
            return headers
        if len(self._known) >= self._most:
            self._known.clear()
        repeated = self._known[sent] = RepeatedHeaders(headers)
        return repeated


decode_request = RequestDecoder()
decode_response = MessageDecoder(Response)
