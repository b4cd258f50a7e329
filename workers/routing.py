"""Routing: a method and a path to an endpoint. Pure.

A pattern is a path whose segments are texts (`/factors/recovery-codes`) or names in braces (`/factors/{id}/verify`);
the last may be `{name...}`, which takes all that follows, slashes included. Paths come as `Request.path` has them,
percent-encoded: segments are split first and decoded then, so an encoded slash never makes a segment. A text wins
over a name, a name over a rest. Paths that do not decode, or hold a NUL, are found nowhere.
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
class Route(Generic[T]):
    """One line of a pool's `routes.py`."""

    method: str
    pattern: str
    endpoint: T


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """The endpoint, and the decoded segments that its pattern names."""

    endpoint: T
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NotFound:
    """No pattern is like this path: 404."""


@dataclass(frozen=True, slots=True)
class MethodNotAllowed:
    """Patterns are like this path, but for other methods: 405, and `Allow` lists `methods`, sorted."""

    methods: tuple[str, ...]


@dataclass(slots=True)
class _Node(Generic[T]):
    """What may follow a beginning of a path, and what ends there: method -> (endpoint, names)."""

    texts: "dict[str, _Node[T]]" = field(default_factory=dict)
    named: "_Node[T] | None" = None
    rest: "_Node[T] | None" = None
    ends: dict[str, tuple[T, tuple[str, ...]]] = field(default_factory=dict)


class Router(Generic[T]):
    """The routes of one pool."""

    def __init__(self, routes: Iterable[Route[T]]) -> None:
        """Raises: ValueError if a pattern is malformed, or two routes mean the same requests."""
        self._root: _Node[T] = _Node()
        for route in routes:
            self._add(route)

    def find(self, method: str, path: str) -> Found[T] | MethodNotAllowed | NotFound:
        """Give the endpoint for a request, or why there is none."""
        segments = _decoded(path)
        if segments is None:
            return NotFound()
        allowed: set[str] = set()
        for node, values in _ends(self._root, segments, 0, ()):
            if method in node.ends:
                endpoint, names = node.ends[method]
                return Found(endpoint, dict(zip(names, values, strict=True)))
            allowed.update(node.ends)
        return MethodNotAllowed(tuple(sorted(allowed))) if allowed else NotFound()

    def _add(self, route: Route[T]) -> None:
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


def _ends(
    node: _Node[T], segments: list[str], at: int, values: tuple[str, ...]
) -> Iterable[tuple[_Node[T], tuple[str, ...]]]:
    """Give the nodes where this path ends, the most particular first, with the values of their names."""
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
    """Split a path and decode its segments; None if it is no path."""
    if not path.startswith("/") or _BROKEN_PERCENT.search(path):
        return None
    if "%" not in path:
        return None if "\0" in path else path[1:].split("/")
    try:
        segments = [unquote_to_bytes(segment).decode() for segment in path[1:].split("/")]
    except UnicodeDecodeError:
        return None
    return None if any("\0" in segment for segment in segments) else segments
