"""A request to the S3 endpoint as its operations read it: bucket, key, decoded query, headers. Pure.

A presigned URL may carry headers `x-amz-*` in its query; they are read as headers where the request has none of that name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote_plus, unquote_to_bytes

from schemas.http import Headers
from schemas.numbers import clamp_whole_number
from workers.storage.asked import Asked
from workers.storage.s3.errors import S3Error, invalid_argument

PREFIX = "/s3"
_MOST_PARAMETERS = 200
_MOST_NUMBER = 10**9


@dataclass(frozen=True, slots=True)
class Asking:
    """One request. `bucket` and `key` are decoded, empty where the path has none."""

    asked: Asked
    bucket: str
    key: str
    query: list[tuple[str, str]]
    headers: Mapping[str, str]
    """Names in lower case; repeated ones are joined by commas."""
    parameters: Mapping[str, str]
    """The query by name; of a repeated one, the first."""
    signing_key: bytes = field(default=b"", repr=False)
    payload: str = ""
    """How the body is signed, once the signature has been verified."""

    @property
    def method(self) -> str:
        """Give the method."""
        return self.asked.request.method

    @property
    def resource(self) -> str:
        """Give bucket and key as errors name them."""
        return f"{self.bucket}/{self.key}" if self.key else self.bucket

    def header(self, name: str) -> str | None:
        """Give a header; one of S3's own may stand in the query."""
        found = self.headers.get(name)
        if found is None and name.startswith("x-amz-"):
            return next((value for key, value in self.query if key.lower() == name), None)
        return found

    def parameter(self, name: str) -> str:
        """Give a parameter of the query; empty if it is not there."""
        return self.parameters.get(name, "")

    def has(self, name: str) -> bool:
        """Tell whether the query names something."""
        return name in self.parameters

    def number(self, name: str, usual: int, *, least: int = 0, most: int = _MOST_NUMBER) -> int:
        """Give a whole number of the query, cut at `most`. Raises: S3Error (InvalidArgument)."""
        text = self.parameter(name)
        if not text:
            return usual
        number = clamp_whole_number(text, most=most)
        if number is None or number < least:
            raise invalid_argument(f"Provided {name} not an integer or within integer range")
        return number


def read_asking(asked: Asked) -> Asking:
    """Read a request. Raises: S3Error if its path is no path."""
    bucket, key = split_path(asked.request.path)
    query = read_query(asked.request.query)
    return Asking(asked, bucket, key, query, joined(asked.request.headers), dict(reversed(query)))


def split_path(path: str) -> tuple[str, str]:
    """Give bucket and key of a path below the area, percent-encoded. Raises: S3Error."""
    bucket, _, key = path.removeprefix(PREFIX).removeprefix("/").partition("/")
    try:
        return unquote_to_bytes(bucket).decode(), unquote_to_bytes(key).decode()
    except UnicodeDecodeError:
        raise S3Error("InvalidURI", "Couldn't parse the specified URI.") from None


def read_query(text: str) -> list[tuple[str, str]]:
    """Give the parameters of a query in their order. Raises: S3Error if there are far too many, or no text."""
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


def joined(headers: Headers) -> dict[str, str]:
    """Give headers by name; repeated ones are joined by commas, in their order."""
    found: dict[str, str] = {}
    for name, value in headers:
        found[name] = f"{found[name]},{value.strip()}" if name in found else value.strip()
    return found
