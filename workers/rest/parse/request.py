"""Step one: what the request asks for, without knowing the database.

The order of checks is the order in which refusals win: path, schema, method, query string, ranges.
Source: reference page "rest", sections 1 and 16.
"""

from typing import NamedTuple
from urllib.parse import unquote

from schemas.http import Headers
from workers.rest.errors import (
    BadPath,
    LimitOnUpsert,
    MethodNotForFunctions,
    RootDisabled,
    SchemaNotExposed,
    UnsupportedMethod,
)
from workers.rest.model import Action, ApiRequest, Options, Range
from workers.rest.parse.media import parse_accept
from workers.rest.parse.preferences import parse_preferences
from workers.rest.parse.query import parse_query
from workers.rest.parse.ranges import intersection, parse_range_header

_RELATION_METHODS = {
    "GET": Action.READ,
    "HEAD": Action.READ,
    "POST": Action.CREATE,
    "PATCH": Action.UPDATE,
    "PUT": Action.UPSERT,
    "DELETE": Action.DELETE,
    "OPTIONS": Action.OPTIONS,
}
_READS = frozenset({"GET", "HEAD", "OPTIONS"})


class Wanted(NamedTuple):
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


def wanted_headers(headers: Headers) -> Wanted:
    """Pick the headers that decide what is done."""
    found: list[str | None] = [None] * 6
    prefer: list[str] = []
    for name, value in headers:
        place = _WANTED.get(name)
        if place is not None:
            if found[place] is None:
                found[place] = value
        elif name == "prefer":
            prefer.append(value)
    return Wanted(found[0], tuple(prefer), found[2], found[3], found[4], found[5])


def is_call_path(path: str) -> bool:
    """Tell whether a path names a function."""
    return path.startswith("/rpc/")


def parse_request(method: str, path: str, shape: str, wanted: Wanted, options: Options) -> ApiRequest:
    """Read everything of a request but its body.

    Raises: the 1xx refusals of `errors.py`.
    """
    target, is_call = _resource(path, options)
    schema, negotiated = _schema(method, wanted, options)
    action = _action(method, target, is_call)
    query = parse_query(shape, is_call=is_call and method in _READS)
    header_range = parse_range_header(wanted.range) if method == "GET" else Range()
    root = dict(query.ranges).get((), Range())
    if action is Action.UPSERT and root != Range():
        raise LimitOnUpsert
    return ApiRequest(
        action=action,
        method=method,
        schema=schema,
        target=target,
        query=query,
        preferences=parse_preferences(wanted.prefer),
        accept=parse_accept(wanted.accept),
        range=intersection(root, header_range),
        content_type=_content_type(wanted.content_type),
        negotiated_schema=negotiated,
    )


def _resource(path: str, options: Options) -> tuple[str, bool]:
    segments = [unquote(part) for part in path.split("/")[1:]]
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


def _schema(method: str, wanted: Wanted, options: Options) -> tuple[str, bool]:
    asked = wanted.accept_profile if method in _READS else wanted.content_profile
    if asked is None:
        return options.schemas[0], len(options.schemas) > 1
    if asked not in options.schemas:
        raise SchemaNotExposed(asked, options.schemas)
    return asked, True


def _action(method: str, target: str, is_call: bool) -> Action:
    if is_call:
        if method == "OPTIONS":
            return Action.OPTIONS
        if method not in ("GET", "HEAD", "POST"):
            raise MethodNotForFunctions(method)
        return Action.CALL
    if not target:
        if method == "OPTIONS":
            return Action.OPTIONS
        if method not in ("GET", "HEAD"):
            raise UnsupportedMethod(method)
        return Action.DESCRIBE
    if method not in _RELATION_METHODS:
        raise UnsupportedMethod(method)
    return _RELATION_METHODS[method]


def _content_type(header: str | None) -> str:
    return (header or "").partition(";")[0].strip().lower() or "application/json"
