"""A request of the official Management API as its endpoints see it, and their answers."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from schemas.http import Headers, Response
from workers.management.interface.errors import invalid_arguments
from workers.management.interface.identity.model import Actor
from workers.management.interface.respond import json_response

T = TypeVar("T")
_USUAL_BODY_BYTES = 1024 * 1024
SMALL_BODY_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ProjectCall:
    """One request. `parameters` are those of the path; `operate` runs an operation by its name as the actor."""

    parameters: Mapping[str, str]
    query: Mapping[str, list[str]]
    content_type: str
    accept: str
    body: bytes
    origin: str
    """Scheme, host and port under which the client reached the platform; may be empty."""
    actor: Actor
    ref: str
    operate: Callable[..., Awaitable[Any]]

    @property
    def host(self) -> str:
        """The host under which the client reached the platform."""
        return urlsplit(self.origin).hostname or "127.0.0.1"

    def first(self, name: str) -> str:
        """Return the first value of a parameter of the query, or an empty text."""
        return self.query.get(name, [""])[0]

    def decoded(self, kind: type[T]) -> T:
        """Return the body as JSON of a type. Raises: ManagementError (400)."""
        try:
            return msgspec.json.decode(self.body or b"{}", type=kind)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise invalid_arguments(f"The body: {error}") from None


@dataclass(frozen=True, slots=True)
class ProjectEndpoint:
    """One endpoint: a method, a path with parameters in braces, and what answers it."""

    method: str
    path: str
    answer: Callable[[ProjectCall], Awaitable[Response]]
    max_body_bytes: int = _USUAL_BODY_BYTES


def answered(value: object, status: int = 200, headers: Headers | None = None) -> Response:
    """Return a JSON response that nothing may store."""
    return msgspec.structs.replace(json_response(value, headers), status=status)
