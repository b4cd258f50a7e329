"""Which project a request is for, and under which path the project gets it (pure).

    Host: NAME.<base>, or a host name of the project      the path as it came
    Host: anything else that is not below <base>          /NAME/rest/v1/... -> /rest/v1/...

The path is taken as it came, byte by byte: nothing is decoded, and no `..` is resolved, so that what a project's gateway checks is what
the client sent. Below a path all projects share one origin for browsers. Therefore nothing that needs a cookie is served there: neither
cookies nor the dashboard (docs/projects.md).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from services.projects.model import ProjectRecord

DASHBOARD = "/_"
_PORT = re.compile(r":[0-9]*\Z")
_FIRST = re.compile(r"/([a-z0-9-]{1,48})(?=[/?]|\Z)", re.ASCII)
_ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*://([^/?#]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ProjectRoute:
    """Where a request goes: the project, the path with its query, and the prefix that was taken off."""

    project: str
    path: str
    host: str
    """Host and port that the client used."""
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class RouteTable:
    """The host names and names of all projects. `base` is the host of the server."""

    base: str
    hosts: Mapping[str, str]
    names: frozenset[str]

    def route(self, host: str, target: str) -> ProjectRoute | None:
        """Return the route of a request, or None. `target` is the request's target as it came: a path, or a URL."""
        if absolute := _ABSOLUTE.match(
            target
        ):  # RFC 9112, 3.2.2: its authority counts, and not the Host header
            host = absolute[1].rpartition("@")[2]
            target = target[absolute.end() :]
            target = target if target.startswith("/") else f"/{target}"
        if not target.startswith("/"):
            return None
        name = host_of(host)
        if project := self.hosts.get(name):
            return ProjectRoute(project, target, host)
        if name.endswith(f".{self.base}"):
            return None
        first = _FIRST.match(target)
        if first is None or first[1] not in self.names:
            return None
        rest = target[first.end() :]
        return ProjectRoute(first[1], rest if rest.startswith("/") else f"/{rest}", host, f"/{first[1]}")


def route_table(records: Iterable[ProjectRecord], base: str) -> RouteTable:
    """Return the table of all projects."""
    hosts: dict[str, str] = {}
    listed = list(records)
    for record in listed:
        hosts |= dict.fromkeys([f"{record.name}.{base}", *record.hosts], record.name)
    return RouteTable(base, MappingProxyType(hosts), frozenset(record.name for record in listed))


def host_of(header: str) -> str:
    """Return the host of a Host header: in lower case, without the port and the dot at its end."""
    host = header if header.startswith("[") and header.endswith("]") else _PORT.sub("", header)
    return host.lower().rstrip(".")


def is_dashboard(path: str) -> bool:
    """Return whether a path is that of the dashboard, however it is spelled."""
    return path.partition("?")[0].replace("%5F", "_").replace("%5f", "_").lstrip("/").partition("/")[0] == "_"
