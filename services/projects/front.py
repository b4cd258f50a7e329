"""The front gateway: which project a request is for, may it come in, is the project awake, and then the project's answer.

    head checks -> route (routing.py) -> limits -> wake (lifecycle.py) -> forward (forward.py)

Errors of its own are JSON with `code`, `message` and `hint`. It says nothing about which projects there are.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import msgspec
from aiohttp import web

from services.gateway.requests.head_checks import head_fault
from services.middleware.limits import Network, client_address, is_in_networks
from services.projects.errors import ProjectOverloaded, ProjectUnavailable
from services.projects.forward import SmallBodyLate, forward
from services.projects.headers import ForwardedClient, is_websocket_request
from services.projects.lifecycle import ProjectLifecycle, SleepState
from services.projects.routing import ProjectRoute, RouteTable, is_dashboard
from services.projects.upstream import UpstreamConnections, UpstreamLost

_HEALTH = "/_health"
_WRITES = frozenset({"POST", "PUT", "PATCH"})
_WRITES_ALWAYS = ("/auth/v1/", "/_/", "/rest/v1/rpc/", "/graphql/v1", "/management/", "/realtime/")
"""Paths whose POST may free room, or is needed to sign in and do so."""
_RETRY_S = 1


class ServedProject:
    """A project that the front gateway serves."""

    def __init__(
        self, lifecycle: ProjectLifecycle, public_url: str, read_secret: Callable[[], str] = str
    ) -> None:
        self.lifecycle, self.public_url = lifecycle, public_url
        self.connections = UpstreamConnections()
        self._read_secret = read_secret
        self._secret: tuple[int, str] = (0, "")

    def proxy_secret(self, port: int) -> str:
        """Return what the project's gateway at a port wants to be shown; it is read again after each start, which may have made a new one."""
        if self._secret[0] != port or not self._secret[1]:
            self._secret = (port, self._read_secret())
        return self._secret[1]

    @property
    def is_full(self) -> bool:
        """Whether the files of the project have reached their limit."""
        return 0 < self.lifecycle.limits.disk_mib <= self.lifecycle.disk_mib


class FrontGateway:
    """Answers the requests of all projects. `projects` and `table` are replaced when projects are added or removed."""

    def __init__(self, trusted: Sequence[Network], scheme: str) -> None:
        self._trusted, self._scheme = trusted, scheme
        self.projects: Mapping[str, ServedProject] = {}
        self.table = RouteTable("", {}, frozenset())

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request. Raises only when the client is gone."""
        hosts = [value for name, value in request.raw_headers if name.lower() == b"host"]
        host = hosts[0].decode("latin-1") if hosts else ""
        if fault := head_fault(request, host):
            return error(*fault)
        if len(hosts) > 1:
            return error(400, "The request has several Host headers")
        is_trusted = is_in_networks(request.remote or "", self._trusted)
        if is_trusted:
            host = _last(request, "x-forwarded-host") or host
        route = self.table.route(host, request.raw_path)
        if route is None:
            return self._unrouted(request)
        return await self._serve(request, route, is_trusted=is_trusted)

    def reject(self, status: int, message: str) -> web.Response:
        """Return the response to bytes that the HTTP parser rejected."""
        return error(status, message)

    async def _serve(
        self, request: web.BaseRequest, route: ProjectRoute, *, is_trusted: bool
    ) -> web.StreamResponse:
        project = self.projects[route.project]
        if route.prefix and is_dashboard(route.path):
            return error(
                404,
                "The dashboard is not served below a path",
                f"Open {project.public_url}/_/: a host of its own keeps its cookies from the other projects",
            )
        if project.is_full and request.method in _WRITES and not route.path.startswith(_WRITES_ALWAYS):
            return error(
                507, "The project has reached its limit of disk space", "Delete something, or raise the limit"
            )
        is_websocket = is_websocket_request(request.method, request.raw_headers)
        lifecycle = project.lifecycle
        try:
            lifecycle.enter(is_socket=is_websocket)
        except ProjectOverloaded as overload:
            return error(
                429, overload.message, "Send fewer requests at the same time", retry_after_s=_RETRY_S
            )
        except ProjectUnavailable as unavailable:
            return error(503, unavailable.message, retry_after_s=unavailable.retry_after_s)
        try:
            return await self._forward(
                request, project, route, is_websocket=is_websocket, is_trusted=is_trusted
            )
        finally:
            lifecycle.leave(is_socket=is_websocket)

    async def _forward(
        self,
        request: web.BaseRequest,
        project: ServedProject,
        route: ProjectRoute,
        *,
        is_websocket: bool,
        is_trusted: bool,
    ) -> web.StreamResponse:
        """Wake the project and pass the request on."""
        lifecycle = project.lifecycle
        try:
            port = lifecycle.port if lifecycle.state is SleepState.AWAKE else await lifecycle.reach()
        except ProjectUnavailable as unavailable:
            return error(503, unavailable.message, retry_after_s=unavailable.retry_after_s)
        client = self._client(request, route, project.proxy_secret(port), is_trusted=is_trusted)
        try:
            return await forward(
                request,
                project.connections,
                port,
                route.path,
                client,
                project.public_url,
                is_websocket=is_websocket,
            )
        except (UpstreamLost, ConnectionError) as lost:
            if request.transport is None or request.transport.is_closing():
                raise ConnectionResetError("the client is gone") from lost
            if request.writer.output_size > 0:
                request.transport.abort()
                raise ConnectionResetError("the response broke off") from lost
            lifecycle.lost()
            is_refused = isinstance(lost, ConnectionRefusedError)
            return error(
                503 if is_refused else 502,
                "The project does not answer" if is_refused else "The project broke the connection off",
                "Send the request again; one that changes something may have been done",
                retry_after_s=_RETRY_S,
            )
        except SmallBodyLate:
            return error(408, "The body of the request did not arrive in time")

    def _client(
        self, request: web.BaseRequest, route: ProjectRoute, secret: str, *, is_trusted: bool
    ) -> ForwardedClient:
        """Return what the project learns of its client: what a trusted proxy says, else what is seen here."""
        address, scheme = request.remote or "", self._scheme
        if is_trusted:
            forwarded = ",".join(request.headers.getall("X-Forwarded-For", ()))
            address = client_address(address, forwarded or None, self._trusted)
            proto = _last(request, "x-forwarded-proto").lower()
            scheme = proto if proto in ("http", "https") else scheme
        return ForwardedClient(address, route.host, scheme, route.prefix, secret)

    def _unrouted(self, request: web.BaseRequest) -> web.Response:
        path = request.raw_path.partition("?")[0]
        if path == _HEALTH and request.method in ("GET", "HEAD"):
            return web.json_response({"status": "ok"}, headers={"Server": "Headwater"})
        return error(
            404, "There is no project at this address", "Ask the operator of the server for its address"
        )


def error(status: int, message: str, hint: str = "", *, retry_after_s: float | None = None) -> web.Response:
    """Return an error of the front gateway."""
    headers = {
        "Content-Type": "application/json; charset=utf-8",
        "Server": "Headwater",
        "Cache-Control": "no-store",
    }
    if retry_after_s is not None:
        headers["Retry-After"] = str(max(1, math.ceil(retry_after_s)))
    body = {"code": _CODES.get(status, "bad_request"), "message": message, "hint": hint or None}
    return web.Response(status=status, headers=headers, body=msgspec.json.encode(body))


_CODES = {
    404: "project_not_found",
    408: "request_timeout",
    429: "project_busy",
    502: "project_broke_off",
    503: "project_unavailable",
    507: "project_full",
}


def _last(request: web.BaseRequest, name: str) -> str:
    """Return the value that the nearest proxy wrote; empty if it is no single word."""
    value = ",".join(request.headers.getall(name, ())).rpartition(",")[2].strip()
    return value if value.isascii() and value.isprintable() and " " not in value else ""
