"""A request as endpoints of storage read it: who asks, for which object, with which body. Pure.

Source: reference page "storage", sections 2 and 6.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

import msgspec
import orjson

from schemas.http import Request, Response, header
from workers.storage.callers import ANONYMOUS, SERVICE, Identity, Settings, settings_for
from workers.storage.errors import invalid_request, invalid_role
from workers.storage.reading import Reader

JSON = ("content-type", "application/json; charset=utf-8")
_MOST_FIELDS = 100
_object = msgspec.json.Decoder(dict[str, object])


@dataclass(frozen=True, slots=True)
class Asked:
    """One request. `identity` is None where nobody needs to be known, or the token did not hold."""

    request: Request
    parameters: Mapping[str, str]
    operation: str
    identity: Identity | None = None
    body: bytes = b""

    @property
    def caller(self) -> Identity:
        """Give who asks; nobody is anonymous."""
        return self.identity or ANONYMOUS

    @property
    def bucket(self) -> str:
        """Give the bucket of the path."""
        return self.parameters["bucket"]

    @property
    def key(self) -> str:
        """Give the name of the object in the path, as it was asked."""
        return self.parameters["key"]

    def header(self, name: str) -> str | None:
        """Give a header of the request."""
        return header(self.request.headers, name)

    def is_true(self, name: str) -> bool:
        """Tell whether a header says `true`."""
        return (self.header(name) or "").strip().lower() == "true"

    def as_caller(self) -> Settings:
        """Give the settings of a transaction in which the caller's policies hold."""
        return settings_for(self.caller, self.request, self.operation)

    def as_service(self) -> Settings:
        """Give the settings of a transaction of ours, in which no policies hold."""
        return settings_for(SERVICE, self.request, self.operation)

    def read(self) -> Reader:
        """Give the members of the body; nothing is an empty object. Raises: StorageError for what is no object."""
        try:
            return Reader("body", _object.decode(self.body) if self.body.strip() else {})
        except msgspec.ValidationError:
            raise invalid_request("body must be object") from None
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            raise invalid_request(
                "Body is not valid JSON but content-type is set to 'application/json'"
            ) from None

    def read_nothing(self) -> None:
        """Raises: StorageError if the body says anything."""
        if self.body.strip() not in (b"", b"null", b"{}") and self.read().has_any:
            raise invalid_request("body must NOT have more than 0 properties")

    def read_query(self) -> Reader:
        """Give the parameters of the query; of a repeated one, the first."""
        return Reader("querystring", self.query)

    @property
    def query(self) -> dict[str, str]:
        """Give the parameters of the query by name. Raises: StorageError if there are far too many."""
        if not self.request.query:
            return {}
        try:
            pairs = parse_qsl(self.request.query, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
        except ValueError:
            raise invalid_request("querystring has too many parameters") from None
        found: dict[str, str] = {}
        for name, value in pairs:
            found.setdefault(name, value)
        return found

    def refuse_unless_service(self) -> None:
        """Raises: StorageError (HTTP 403) for everybody but the service role."""
        if not self.caller.is_service:
            raise invalid_role()


def answer(value: object) -> Response:
    """Give a JSON answer."""
    return Response(200, [JSON], orjson.dumps(value))


def answer_raw(value: bytes | None) -> Response:
    """Give an answer whose JSON the database made."""
    return Response(200, [JSON], value or b"null")


def done(message: str) -> Response:
    """Say that something was done."""
    return answer({"message": message})
