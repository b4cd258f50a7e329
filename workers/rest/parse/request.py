"""Step one: what the request asks for, without knowing the database.

The order of checks is the order in which refusals win: path, schema, method, query string, ranges.
Source: docs/reference/rest.md, sections 1 and 16.
"""

from typing import NamedTuple
from urllib.parse import unquote

from schemas.http import Headers
from workers.rest.errors.parse import (
    BadPath,
    LimitOnUpsert,
    MethodNotForFunctions,
    RootDisabled,
    SchemaNotExposed,
    UnsupportedMethod,
)
from workers.rest.model import ApiRequest, RequestAction, RestOptions, RowRange
from workers.rest.parse.media import parse_accept
from workers.rest.parse.preferences import parse_preferences
from workers.rest.parse.query import parse_query
from workers.rest.parse.ranges import intersection, parse_range_header

_RELATION_METHODS = {
    "GET": RequestAction.READ,
    "HEAD": RequestAction.READ,
    "POST": RequestAction.CREATE,
    "PATCH": RequestAction.UPDATE,
    "PUT": RequestAction.UPSERT,
    "DELETE": RequestAction.DELETE,
    "OPTIONS": RequestAction.OPTIONS,
}
_READS = frozenset({"GET", "HEAD", "OPTIONS"})


class PlanHeaders(NamedTuple):
    """The headers that decide what is done; requests that agree in them and in their URL's shape share a plan."""

    accept: str | None = None
    prefer: tuple[str, ...] = ()
    accept_profile: str | None = None
    content_profile: str | None = None
    range: str | None = None
    content_type: str | None = None


_WANTED = {
    "accept": 0, "accept-profile": 2, "content-profile": 3, "range": 4, "content-type": 5,
}  # fmt: skip


def plan_headers(headers: Headers) -> PlanHeaders:
    """Pick the headers that decide what is done."""
    values: list[str | None] = [None] * 6
    prefer: list[str] = []
    for name, value in headers:
        position = _WANTED.get(name)
        if position is not None:
            if values[position] is None:
                values[position] = value
        elif name == "prefer":
            prefer.append(value)
    return PlanHeaders(values[0], tuple(prefer), values[2], values[3], values[4], values[5])


def is_call_path(path: str) -> bool:
    """Return whether a path names a function."""
    return path.startswith("/rpc/")


def parse_request(
    method: str, path: str, shape: str, headers: PlanHeaders, options: RestOptions
) -> ApiRequest:
    """Read everything of a request but its body.

    Raises: the 1xx refusals of `errors.py`.
    """
    target, is_call = _resource(path, options)
    schema, negotiated = _schema(method, headers, options)
    action = _action(method, target, is_call)
    query = parse_query(shape, is_call=is_call and method in _READS)
    header_range = parse_range_header(headers.range) if method == "GET" else RowRange()
    root = dict(query.ranges).get((), RowRange())
    if action is RequestAction.UPSERT and root != RowRange():
        raise LimitOnUpsert
    return ApiRequest(
        action=action,
        method=method,
        schema=schema,
        target=target,
        query=query,
        preferences=parse_preferences(headers.prefer),
        accept=parse_accept(headers.accept),
        range=intersection(root, header_range),
        content_type=_content_type(headers.content_type),
        negotiated_schema=negotiated,
    )


def _resource(path: str, options: RestOptions) -> tuple[str, bool]:
    segments = path.split("/")[1:]
    if "%" in path:
        segments = [unquote(part) for part in segments]
    match segments:
        case [] | [""]:
            if options.openapi_mode == "disabled" and not options.root_spec:
                raise RootDisabled
            return "", False
        case ["rpc", function]:
            return function, True
        case [relation]:
            return relation, False
    raise BadPath


def _schema(method: str, headers: PlanHeaders, options: RestOptions) -> tuple[str, bool]:
    profile = headers.accept_profile if method in _READS else headers.content_profile
    if profile is None:
        return options.schemas[0], len(options.schemas) > 1
    if profile not in options.schemas:
        raise SchemaNotExposed(profile, options.schemas)
    return profile, True


def _action(method: str, target: str, is_call: bool) -> RequestAction:
    if is_call:
        if method == "OPTIONS":
            return RequestAction.OPTIONS
        if method not in ("GET", "HEAD", "POST"):
            raise MethodNotForFunctions(method)
        return RequestAction.CALL
    if not target:
        if method == "OPTIONS":
            return RequestAction.OPTIONS
        if method not in ("GET", "HEAD"):
            raise UnsupportedMethod(method)
        return RequestAction.DESCRIBE
    if method not in _RELATION_METHODS:
        raise UnsupportedMethod(method)
    return _RELATION_METHODS[method]


def _content_type(header: str | None) -> str:
    return (header or "").partition(";")[0].strip().lower() or "application/json"
