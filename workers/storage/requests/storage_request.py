"""A request as the endpoints of storage read it: identity, path parameters, query, body. Pure.

Source: docs/reference/storage.md, sections 2 and 6.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import parse_qsl

import msgspec
import orjson

from schemas.http import Request, Response, header
from workers.storage.model.errors import invalid_request, invalid_role
from workers.storage.requests.body_reader import BodyReader
from workers.storage.requests.identity import (
    ANONYMOUS,
    SERVICE,
    SessionSettings,
    StorageIdentity,
    settings_for,
)

JSON = ("content-type", "application/json; charset=utf-8")
_MOST_FIELDS = 100
_object = msgspec.json.Decoder(dict[str, object])


@dataclass(frozen=True)
class StorageRequest:
    """One request. `identity` is None on public endpoints, and on optional ones if the token is missing or invalid."""

    http: Request
    parameters: Mapping[str, str]
    operation: str
    identity: StorageIdentity | None = None
    body: bytes = b""

    @property
    def caller(self) -> StorageIdentity:
        """The identity; anonymous if there is none."""
        return self.identity or ANONYMOUS

    @property
    def bucket(self) -> str:
        """The bucket of the path."""
        return self.parameters["bucket"]

    @property
    def key(self) -> str:
        """The name of the object in the path, as it was sent."""
        return self.parameters["key"]

    def header(self, name: str) -> str | None:
        """Return a header of the request."""
        return header(self.http.headers, name)

    def is_true(self, name: str) -> bool:
        """Return whether a header is `true`."""
        return (self.header(name) or "").strip().lower() == "true"

    def as_caller(self) -> SessionSettings:
        """Return the settings of a transaction in which the caller's policies apply."""
        return settings_for(self.caller, self.http, self.operation)

    def as_service(self) -> SessionSettings:
        """Return the settings of a transaction as the service role, without policies."""
        return settings_for(SERVICE, self.http, self.operation)

    def read(self) -> BodyReader:
        """Return a reader of the JSON body; an empty body counts as `{}`. Raises: StorageError if it is not an object."""
        try:
            return BodyReader("body", _object.decode(self.body) if self.body.strip() else {})
        except msgspec.ValidationError:
            raise invalid_request("body must be object") from None
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            raise invalid_request(
                "Body is not valid JSON but content-type is set to 'application/json'"
            ) from None

    def read_nothing(self) -> None:
        """Raises: StorageError if the body has any members."""
        if self.body.strip() not in (b"", b"null", b"{}") and self.read().has_any:
            raise invalid_request("body must NOT have more than 0 properties")

    def read_query(self) -> BodyReader:
        """Return a reader of the query parameters."""
        return BodyReader("querystring", self.query)

    @cached_property
    def query(self) -> dict[str, str]:
        """The query parameters by name, parsed once; of a repeated one the first.

        Raises: StorageError if there are too many.
        """
        if not self.http.query:
            return {}
        try:
            pairs = parse_qsl(self.http.query, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
        except ValueError:
            raise invalid_request("querystring has too many parameters") from None
        values: dict[str, str] = {}
        for name, value in pairs:
            values.setdefault(name, value)
        return values

    def require_service_role(self) -> None:
        """Raises: StorageError (HTTP 403) unless the caller is the service role."""
        if not self.caller.is_service:
            raise invalid_role()


def json_response(value: object) -> Response:
    """Return a JSON response."""
    return Response(200, [JSON], orjson.dumps(value))


def raw_json_response(value: bytes | None) -> Response:
    """Return a response whose JSON the database built."""
    return Response(200, [JSON], value or b"null")


def message_response(message: str) -> Response:
    """Return a response with a message."""
    return json_response({"message": message})
