"""Which responses are compressed, with which coding, and what that changes in their head. Source: RFC 9110, 8.4 and 12.5.3.

Text and JSON of at least `gateway.compression.threshold` bytes (a stream of unknown length, too) are sent in the coding
that the client prefers; of codings that it likes equally: zstd, br, gzip. Such a response has `Vary: Accept-Encoding`
whichever coding it is sent in, and a weak entity tag, because its bytes are not those that the tag was made for.

Never compressed: what is compressed already (by its type or its `Content-Encoding`), byte ranges, `no-transform`, server-sent
events, and the responses of `is_secret`. There a secret and a text that an attacker chooses may stand in one body, and
the length of the compressed body would betray the secret byte by byte (BREACH). The attack needs requests that a page
of the attacker can make with the victim's credentials. Credentials here are headers that only the application can set,
except for the pages of auth, and for functions that use cookies or passwords of the browser. S3 clients
compare the bytes with the checksum they expect.
"""

import re
from collections.abc import Mapping

import msgspec

from schemas.bounded_cache import BoundedCache
from schemas.http import Headers, Response, header
from schemas.settings.tree import CompressionSettings
from services.gateway.requests.encoders import THREAD_BYTES, Encoder, Encoders
from services.gateway.requests.request import GatewayRequest
from services.middleware.qualities import parse_qualities

CODINGS = ("zstd", "br", "gzip")
"""In the order of preference."""
IDENTITY = "identity"
VARY = ("vary", "Accept-Encoding")
_TYPES = re.compile(
    r"text/(?!event-stream)[\w.+-]+|[\w.-]+/(?:[\w.-]+\+)?(?:json|xml)|"
    r"application/(?:javascript|ecmascript|x-ndjson|ndjson|jsonl|sql|yaml|x-yaml|toml|wasm|graphql|manifest\+json)|"
    r"application/(?:vnd\.pgrst\.[\w.+-]+)|image/(?:bmp|x-icon|vnd\.microsoft\.icon)|font/(?:ttf|otf)",
    re.ASCII,
)
_PUBLIC_AUTH = ("/.well-known/", "/settings", "/health", "/sso/saml/metadata")
"""Documents of auth that are the same for every client."""
_TAG = re.compile(r'"[^"]*"')
_CACHED = 512
_LONGEST_CACHED = 256
_BODILESS = (204, 304)
_codings: BoundedCache[str, str] = BoundedCache(_CACHED)
_text_types: BoundedCache[str, bool] = BoundedCache(_CACHED)


class ResponseCompression:
    """Compresses responses as the settings say."""

    def __init__(self, settings: CompressionSettings) -> None:
        self._encoders = Encoders(settings)
        self._is_enabled = settings.enabled
        self.threshold = settings.threshold if settings.enabled else 1 << 62
        """Bytes from which a body is compressed."""

    def coding_for(self, accept: str | None, headers: Headers, size: int) -> str | None:
        """Return the coding of a body of `size` bytes (-1: unknown), `identity` if the client takes no other.

        Return None if the body is not compressed for any client.
        """
        if not self._is_enabled or 0 <= size < self.threshold:
            return None
        kind = header(headers, "content-type")
        if kind is None or not _is_text(kind) or header(headers, "content-encoding") is not None:
            return None
        if (header(headers, "content-range") or "").startswith("bytes"):
            return None
        if "no-transform" in (header(headers, "cache-control") or ""):
            return None
        return preferred_coding(accept)

    async def compressed(self, request: GatewayRequest, response: Response) -> Response:
        """Return a response with its body compressed if the client wants that. HEAD gets the head that GET has."""
        is_unknown = request.method == "HEAD" and not response.body
        coding = self._coding_of(request, response, -1 if is_unknown else len(response.body))
        if coding is None:
            return response
        # Where the length of GET's body is unknown, whether it would be compressed is unknown as well.
        headers, body = encoded_headers(response.headers, IDENTITY if is_unknown else coding), response.body
        if coding != IDENTITY:
            # A response to HEAD gets no length: only compressing would tell it.
            body = b"" if request.method == "HEAD" else await self._encoders.compress(coding, body)
        return Response(response.status, headers, body, response.reason)

    def compressed_now(self, request: GatewayRequest, response: Response) -> Response | None:
        """Return the response to a request that is not HEAD as `compressed` does; None if a thread should compress it."""
        coding = self._coding_of(request, response, len(response.body))
        if coding is None:
            return response
        headers, body = encoded_headers(response.headers, coding), response.body
        if coding != IDENTITY:
            if len(body) > THREAD_BYTES:
                return None
            body = self._encoders.compress_now(coding, body)
        return Response(response.status, headers, body, response.reason)

    def _coding_of(self, request: GatewayRequest, response: Response, size: int) -> str | None:
        if response.status in _BODILESS or is_secret(request):
            return None
        return self.coding_for(request.first.get("accept-encoding"), response.headers, size)

    def stream_coding(self, request: GatewayRequest, response: Response) -> str | None:
        """Return the coding of a streamed response, as `coding_for` does."""
        size = -1 if response.stream is None else response.stream.size
        if response.status in (101, *_BODILESS) or is_secret(request):
            return None
        return self.coding_for(request.first.get("accept-encoding"), response.headers, size)

    def encoder(self, coding: str | None) -> Encoder | None:
        """Return an encoder for a body that comes in pieces; None for one that is sent as it is."""
        return None if coding is None or coding == IDENTITY else self._encoders.encoder(coding)

    async def compress(self, coding: str, body: bytes) -> bytes:
        """Return a whole body in a coding."""
        return await self._encoders.compress(coding, body)


def is_secret(request: GatewayRequest) -> bool:
    """Return whether a secret and an attacker's text may stand in the response, or its bytes must stay as they are."""
    route = request.route
    if route is None:
        return False
    match route.area:
        case "auth":
            return not request.below.startswith(_PUBLIC_AUTH) or request.method not in ("GET", "HEAD")
        case "functions":
            first = request.first
            return "cookie" in first or first.get("authorization", "").lower().startswith("basic")
    return route.has_xml_errors


def preferred_coding(accept: str | None) -> str:
    """Return the coding that `Accept-Encoding` prefers, `identity` if it lists none of ours."""
    if not accept:
        return IDENTITY
    coding = _codings.get(accept)
    if coding is None:
        coding = _preferred(parse_qualities(accept))
        if len(accept) <= _LONGEST_CACHED:
            _codings.put(accept, coding)
    return coding


def _preferred(qualities: Mapping[str, int]) -> str:
    others = qualities.get("*", 0)
    best, best_quality = IDENTITY, 0
    for coding in CODINGS:
        alias = qualities.get("x-gzip", others) if coding == "gzip" else others
        quality = qualities.get(coding, alias)
        if quality > best_quality:
            best, best_quality = coding, quality
    return IDENTITY if qualities.get(IDENTITY, 0) > best_quality else best


def encoded_headers(headers: Headers, coding: str) -> Headers:
    """Return the head of a response that could be compressed: it varies, and in a coding it has a weak tag and no length."""
    if coding == IDENTITY:
        return [*headers, VARY]
    changed = [
        (name, f"W/{value}" if name == "etag" and value.startswith('"') else value)
        for name, value in headers
        if name != "content-length"
    ]
    return [*changed, ("content-encoding", coding), VARY]


def with_known_tag(response: Response, condition: str | None, accept: str | None) -> Response:
    """Return a 304 with the tag of the 200: as the client knows it (`weakened`), because the length of the body, which decides whether it
    would be compressed, is unknown here. `accept` is the request's `Accept-Encoding`.
    """
    if preferred_coding(accept) == IDENTITY:
        return response
    return msgspec.structs.replace(response, headers=weakened(response.headers, condition))


def weakened(headers: Headers, condition: str | None) -> Headers:
    """Return the head of a 304 with the tag as the client knows it: weak if the body it has was compressed."""
    tag = header(headers, "etag")
    if condition is None or tag is None or f"W/{tag}" not in condition or not _TAG.fullmatch(tag):
        return headers
    return [*((name, f"W/{tag}") if name == "etag" else (name, value) for name, value in headers), VARY]


def _is_text(kind: str) -> bool:
    is_text = _text_types.get(kind)
    if is_text is None:
        is_text = _TYPES.match(kind.partition(";")[0].strip().lower()) is not None
        is_text = is_text and not kind.lower().startswith("text/event-stream")
        if len(kind) <= _LONGEST_CACHED:
            _text_types.put(kind, is_text)
    return is_text
