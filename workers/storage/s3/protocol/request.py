"""A request to the S3 endpoint: bucket, key, decoded query, headers. Pure.

A presigned URL may carry `x-amz-*` headers in its query; they count if the request has no header of that name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote_plus, unquote_to_bytes

from schemas.http import STORAGE_URL, Headers
from schemas.numbers import clamp_whole_number, parse_whole_number
from workers.storage.requests.storage_request import StorageRequest
from workers.storage.s3.protocol.errors import S3Error, invalid_argument

PREFIX = "/s3"
_MOUNT = "/storage/v1"
MOST_PARTS = 10_000
"""Largest number of a part."""
_MOST_PARAMETERS = 200
_MOST_NUMBER = 10**9


@dataclass(frozen=True, slots=True)
class S3Request:
    """One S3 request. `bucket` and `key` are decoded, empty if the path has none."""

    storage_request: StorageRequest
    bucket: str
    key: str
    query: list[tuple[str, str]]
    headers: Mapping[str, str]
    """Names in lower case; repeated headers are joined by commas."""
    parameters: Mapping[str, str]
    """The query by name; of a repeated parameter the first value."""
    signing_key: bytes = field(default=b"", repr=False)
    payload: str = ""
    """How the body is signed; set after the signature was verified."""

    @property
    def method(self) -> str:
        """Return the method."""
        return self.storage_request.http.method

    @property
    def resource(self) -> str:
        """Return bucket and key as errors name them."""
        return f"{self.bucket}/{self.key}" if self.key else self.bucket

    @property
    def location(self) -> str:
        """Return the URL of the object; its path alone if the host of the request is unknown."""
        url = self.headers.get(STORAGE_URL, _MOUNT)
        return f"{url}{PREFIX}/{quote(self.bucket)}/{quote(self.key)}"

    def header(self, name: str) -> str | None:
        """Return a header; an `x-amz-*` header may come from the query."""
        header = self.headers.get(name)
        if header is None and name.startswith("x-amz-"):
            return next((value for key, value in self.query if key.lower() == name), None)
        return header

    def parameter(self, name: str) -> str:
        """Return a query parameter; empty if it is missing."""
        return self.parameters.get(name, "")

    def has(self, name: str) -> bool:
        """Return whether the query has a parameter."""
        return name in self.parameters

    def number(self, name: str, usual: int, *, least: int = 0, most: int = _MOST_NUMBER) -> int:
        """Return a query parameter as a whole number, at most `most`. Raises: S3Error (InvalidArgument)."""
        text = self.parameter(name)
        if not text:
            return usual
        number = clamp_whole_number(text, most=most)
        if number is None or number < least:
            raise invalid_argument(f"Provided {name} not an integer or within integer range")
        return number


def read_s3_request(request: StorageRequest) -> S3Request:
    """Parse a request. Raises: S3Error if its path cannot be decoded."""
    bucket, key = split_path(request.http.path)
    query = read_query(request.http.query)
    return S3Request(request, bucket, key, query, joined_headers(request.http.headers), dict(reversed(query)))


def part_number(request: S3Request) -> int:
    """Return the part number of a request. Raises: S3Error (InvalidArgument)."""
    number = parse_whole_number(request.parameter("partNumber"), most=MOST_PARTS)
    if not number:
        raise invalid_argument(f"Part number must be an integer between 1 and {MOST_PARTS}, inclusive")
    return number


def split_path(path: str) -> tuple[str, str]:
    """Return bucket and key of a percent-encoded path below `/s3`. Raises: S3Error.

    The prefix itself must not be encoded: the gateway knows the endpoint by it, and holds the bytes of uploads against their hashes.
    """
    if path != PREFIX and not path.startswith(f"{PREFIX}/"):
        raise S3Error("InvalidURI", "Couldn't parse the specified URI.")
    bucket, _, key = path.removeprefix(PREFIX).removeprefix("/").partition("/")
    try:
        return unquote_to_bytes(bucket).decode(), unquote_to_bytes(key).decode()
    except UnicodeDecodeError:
        raise S3Error("InvalidURI", "Couldn't parse the specified URI.") from None


def read_query(text: str) -> list[tuple[str, str]]:
    """Return the query parameters in their order. Raises: S3Error if there are too many, or they are not UTF-8."""
    parts = [part for part in text.split("&") if part]
    if len(parts) > _MOST_PARAMETERS:
        raise invalid_argument("There are too many parameters")
    pairs = [part.partition("=") for part in parts]
    try:
        return [
            (unquote_plus(name, errors="strict"), unquote_plus(value, errors="strict"))
            for name, _, value in pairs
        ]
    except UnicodeDecodeError:
        raise S3Error("InvalidURI", "Couldn't parse the specified URI.") from None


def joined_headers(headers: Headers) -> dict[str, str]:
    """Return headers by name; repeated ones are joined by commas, in their order."""
    joined: dict[str, str] = {}
    for name, value in headers:
        joined[name] = f"{joined[name]},{value.strip()}" if name in joined else value.strip()
    return joined
