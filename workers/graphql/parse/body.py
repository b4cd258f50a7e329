"""Parse a request: document, variables and the name of an operation, from a body or a query string. Pure.

Source: docs/reference/graphql.md, section 1. GET is our addition and follows the specification "GraphQL over HTTP".
"""

from typing import Any
from urllib.parse import parse_qs

import msgspec
from msgspec import UNSET, Struct, UnsetType

from workers.graphql.errors import GraphQLFailure, MalformedRequest

Variables = dict[str, object]

_MOST_PARAMETERS = 20


class GraphQLRequest(Struct, frozen=True):
    """A GraphQL request. At least one of `query` and `hash` is present."""

    query: str | None
    variables: Variables
    operation: str | None = None
    hash: str | None = None
    """SHA-256 of the document (automatic persisted queries)."""


class _Body(Struct):
    query: Any = None
    variables: Any = None
    operation: Any = msgspec.field(name="operationName", default=None)
    extensions: msgspec.Raw | UnsetType = UNSET


class _Extensions(Struct):
    """The only extension that counts here; nothing is made of others, however large they are."""

    persisted: msgspec.Raw = msgspec.field(name="persistedQuery", default=msgspec.Raw(b"null"))


_LONGEST_PERSISTED = 4096
_decode_extensions = msgspec.json.Decoder(_Extensions).decode
_decode_body = msgspec.json.Decoder(_Body).decode
_decode = msgspec.json.Decoder().decode


def parse_body(data: bytes) -> GraphQLRequest:
    """Parse the body of a POST.

    Raises: MalformedRequest if it is not an object with a text `query`; GraphQLFailure if `variables` is not an object.
    """
    try:
        body = _decode_body(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise MalformedRequest("The body must be a JSON object") from None
    except RecursionError:
        raise MalformedRequest("The body is nested too deeply") from None
    return _request_from(body)


def parse_query_string(query: str) -> GraphQLRequest:
    """Parse the query string of a GET: `query`, `variables`, `operationName`, `extensions`. Raises: as `parse_body`."""
    try:
        parameters = parse_qs(
            query,
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_PARAMETERS,
            strict_parsing=False,
        )
    except (ValueError, UnicodeDecodeError):
        raise MalformedRequest("The query string cannot be read") from None
    first_values = {name: values[0] for name, values in parameters.items()}
    return _request_from(
        _Body(
            query=first_values.get("query"),
            variables=_json(first_values, "variables"),
            operation=first_values.get("operationName") or None,
            extensions=msgspec.Raw(msgspec.json.encode(_json(first_values, "extensions"))),
        )
    )


def _json(parameters: dict[str, str], name: str) -> object:
    text = parameters.get(name)
    if not text:
        return None
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        raise MalformedRequest(f"{name} must be JSON") from None


def _request_from(body: _Body) -> GraphQLRequest:
    sha256 = _hash(body.extensions)
    if not isinstance(body.query, str) and (body.query is not None or sha256 is None):
        raise MalformedRequest("The body must have a text `query`")
    if body.operation is not None and not isinstance(body.operation, str):
        raise MalformedRequest("operationName must be a text")
    variables = body.variables
    if variables is None:
        variables = {}
    if not isinstance(variables, dict):
        raise GraphQLFailure("variables must be an object")
    return GraphQLRequest(body.query, variables, body.operation or None, sha256)


def _hash(extensions: msgspec.Raw | UnsetType) -> str | None:
    """Return the hash in `extensions.persistedQuery`; other extensions are ignored."""
    if isinstance(extensions, UnsetType):
        return None
    try:
        raw = bytes(_decode_extensions(extensions).persisted)
        persisted = _decode(raw) if len(raw) <= _LONGEST_PERSISTED else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # not an object, or no texts
        return None
    if not isinstance(persisted, dict) or persisted.get("version") != 1:
        return None
    sha256 = persisted.get("sha256Hash")
    return sha256.lower() if isinstance(sha256, str) else None
