"""Routes a method and a path to an endpoint. Pure.

A pattern is a path whose segments are texts (`/factors/recovery-codes`) or names in braces (`/factors/{id}/verify`);
the last may be `{name...}`, which takes all that follows, slashes included. Paths are those of `Request.path`,
percent-encoded: they are split into segments first and decoded afterwards, so an encoded slash never separates segments. A text
takes precedence over a name, a name over a rest. Paths that cannot be decoded, or contain a NUL, match no route.

HEAD is answered by the endpoint of GET where a path lacks an endpoint of its own for it (RFC 9110, 9.3.2; the gateway sends no
body), unless the GET changes something (`has_effects`): programs that look at links send HEAD.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from urllib.parse import unquote_to_bytes

T = TypeVar("T")

_NAME = re.compile(r"\{([a-z][a-z0-9_]*)(\.\.\.)?\}")
_BROKEN_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class ServiceRoute(Generic[T]):
    """One line of a pool's `routes.py`."""

    method: str
    pattern: str
    endpoint: T
    has_effects: bool = False
    """A GET that changes something, or sends an email: HEAD is not allowed."""


@dataclass(frozen=True, slots=True)
class RouteMatch(Generic[T]):
    """The endpoint, and the decoded segments that its pattern names."""

    endpoint: T
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NotFound:
    """No pattern matches the path: 404."""


@dataclass(frozen=True, slots=True)
class MethodNotAllowed:
    """Patterns match the path, but for other methods: 405, and `Allow` lists `methods`, sorted."""

    methods: tuple[str, ...]


@dataclass(slots=True)
class _Node(Generic[T]):
    """A node of the tree of path segments: possible next segments, and the routes that end here by method."""

    texts: "dict[str, _Node[T]]" = field(default_factory=dict)
    named: "_Node[T] | None" = None
    rest: "_Node[T] | None" = None
    ends: dict[str, tuple[T, tuple[str, ...]]] = field(default_factory=dict)
    head: tuple[T, tuple[str, ...]] | None = None
    """The endpoint of GET, if it answers HEAD as well."""


class Router(Generic[T]):
    """The routes of one pool."""

    def __init__(self, routes: Iterable[ServiceRoute[T]]) -> None:
        """Raises: ValueError if a pattern is malformed, or two routes mean the same requests."""
        self._root: _Node[T] = _Node()
        self._whole: dict[tuple[str, str], RouteMatch[T]] = {}
        """Routes whose pattern contains no name, by method and path: no other route matches such a path before them."""
        for route in routes:
            self._add(route)

    def find(self, method: str, path: str) -> RouteMatch[T] | MethodNotAllowed | NotFound:
        """Return the endpoint for a request, or why there is none."""
        if (match := self._whole.get((method, path))) is not None:
            return match
        segments = _decoded(path)
        if segments is None:
            return NotFound()
        allowed: set[str] = set()
        for node, values in _ends(self._root, segments, 0, ()):
            end = node.ends.get(method) or (node.head if method == "HEAD" else None)
            if end is not None:
                endpoint, names = end
                return RouteMatch(endpoint, dict(zip(names, values, strict=True)))
            allowed.update(node.ends, ["HEAD"] if node.head else [])
        return MethodNotAllowed(tuple(sorted(allowed))) if allowed else NotFound()

    def _add(self, route: ServiceRoute[T]) -> None:
        node, names = self._root, []
        segments = _split(route.pattern)
        for position, segment in enumerate(segments):
            named = _NAME.fullmatch(segment)
            if named is None and ("{" in segment or "}" in segment):
                raise ValueError(f"{route.pattern}: a name in braces is a whole segment")
            if named is None:
                node = node.texts.setdefault(segment, _Node())
                continue
            names.append(named[1])
            if named[2] and position < len(segments) - 1:
                raise ValueError(f"{route.pattern}: a rest stands last")
            if named[2]:
                node.rest = node.rest or _Node()
                node = node.rest
            else:
                node.named = node.named or _Node()
                node = node.named
        if route.method in node.ends or len(set(names)) < len(names):
            raise ValueError(f"{route.method} {route.pattern}: already taken, or a name used twice")
        node.ends[route.method] = (route.endpoint, tuple(names))
        if not names:
            self._whole[route.method, route.pattern] = RouteMatch(route.endpoint, {})
        if route.method == "GET" and not route.has_effects:
            node.head = node.ends["GET"]


def _ends(
    node: _Node[T], segments: list[str], at: int, values: tuple[str, ...]
) -> Iterable[tuple[_Node[T], tuple[str, ...]]]:
    """Yield the nodes at which this path ends, the most specific first, with the values of their names."""
    if at == len(segments):
        yield node, values
        return
    segment = segments[at]
    if segment in node.texts:
        yield from _ends(node.texts[segment], segments, at + 1, values)
    if node.named is not None and segment:
        yield from _ends(node.named, segments, at + 1, (*values, segment))
    if node.rest is not None and (rest := "/".join(segments[at:])):
        yield node.rest, (*values, rest)


def _split(path: str) -> list[str]:
    if not path.startswith("/"):
        raise ValueError(f"{path}: a pattern starts with a slash")
    return path[1:].split("/")


def _decoded(path: str) -> list[str] | None:
    """Split a path and decode its segments; return None if it is not a valid path."""
    if not path.startswith("/") or _BROKEN_PERCENT.search(path):
        return None
    if "%" not in path:
        return None if "\0" in path else path[1:].split("/")
    try:
        segments = [unquote_to_bytes(segment).decode() for segment in path[1:].split("/")]
    except UnicodeDecodeError:
        return None
    return None if any("\0" in segment for segment in segments) else segments
