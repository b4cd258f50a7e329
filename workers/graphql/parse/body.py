"""What a request asks for: document, variables and the name of an operation, from a body or a query string. Pure.

Source: reference page "graphql", section 1; the query string is ours, as GraphQL over HTTP has it.
"""

from typing import Any
from urllib.parse import parse_qs

import msgspec
from msgspec import UNSET, Struct, UnsetType

from workers.graphql.errors import BadRequest, GraphQLFailure

Variables = dict[str, object]

_MOST_PARAMETERS = 20


class Asked(Struct, frozen=True):
    """A request: at least one of `query` and `hash` is there."""

    query: str | None
    variables: Variables
    operation: str | None = None
    hash: str | None = None
    """SHA-256 of the document, for clients that send the hash first."""


class _Body(Struct):
    query: Any = None
    variables: Any = None
    operation: Any = msgspec.field(name="operationName", default=None)
    extensions: Any = UNSET


_decode_body = msgspec.json.Decoder(_Body).decode
_decode = msgspec.json.Decoder().decode


def asked_in_body(data: bytes) -> Asked:
    """Read the body of a POST.

    Raises: BadRequest for what is no object with a text `query`; GraphQLFailure for variables that are no object.
    """
    try:
        body = _decode_body(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise BadRequest("The body must be a JSON object") from None
    except RecursionError:
        raise BadRequest("The body is nested too deeply") from None
    return _asked(body)


def asked_in_url(query: str) -> Asked:
    """Read the query string of a GET: `query`, `variables`, `operationName`, `extensions`. Raises: as `asked_in_body`."""
    try:
        found = parse_qs(
            query,
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_PARAMETERS,
            strict_parsing=False,
        )
    except (ValueError, UnicodeDecodeError):
        raise BadRequest("The query string cannot be read") from None
    first = {name: values[0] for name, values in found.items()}
    return _asked(
        _Body(
            query=first.get("query"),
            variables=_json(first, "variables"),
            operation=first.get("operationName") or None,
            extensions=_json(first, "extensions"),
        )
    )


def _json(found: dict[str, str], name: str) -> object:
    text = found.get(name)
    if not text:
        return None
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        raise BadRequest(f"{name} must be JSON") from None


def _asked(body: _Body) -> Asked:
    sha256 = _hash(body.extensions)
    if not isinstance(body.query, str) and (body.query is not None or sha256 is None):
        raise BadRequest("The body must have a text `query`")
    if body.operation is not None and not isinstance(body.operation, str):
        raise BadRequest("operationName must be a text")
    variables = body.variables
    if variables is None:
        variables = {}
    if not isinstance(variables, dict):
        raise GraphQLFailure("variables must be an object")
    return Asked(body.query, variables, body.operation or None, sha256)


def _hash(extensions: object | UnsetType) -> str | None:
    """Give the hash of the persisted-query protocol; everything else in `extensions` is for others."""
    if not isinstance(extensions, dict):
        return None
    persisted = extensions.get("persistedQuery")
    if not isinstance(persisted, dict) or persisted.get("version") != 1:
        return None
    sha256 = persisted.get("sha256Hash")
    return sha256.lower() if isinstance(sha256, str) else None
