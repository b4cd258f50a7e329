"""The port without TLS beside the gateway's: challenges of HTTP-01 are answered, everything else is sent to https.

A redirect goes to the name that the client used, if it is one of ours; another name is a 421, because it would be redirected to a host that
may not be ours. The status is 308, which keeps method and body (RFC 9110, 15.4.9).
"""

from collections.abc import Collection, Sequence
from urllib.parse import urlsplit

from aiohttp import web

from schemas.http import Response
from schemas.settings.tree import Settings
from services.certificates.challenges import CHALLENGE_PATH, ChallengeResponder
from services.gateway.requests.forward import http_response
from services.middleware.errors import error_response
from services.middleware.request_id import request_id

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_TEXT = ("content-type", "text/plain; charset=utf-8")
_USUAL = 443


class PlainAnswers:
    """Answers the requests of that port. `hosts` are the names to which it redirects."""

    def __init__(
        self, hosts: Collection[str], port: int, responder: ChallengeResponder | None = None
    ) -> None:
        self._hosts, self._responder = frozenset(hosts), responder
        self._port = "" if port == _USUAL else f":{port}"

    async def handle(self, http: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        return http_response(await self._answer(http), [], is_head=http.method == "HEAD")

    def reject(self, status: int, message: str) -> web.Response:
        """Return the response to bytes that the HTTP parser rejected."""
        headers = [("x-request-id", request_id(None))]
        return http_response(error_response("", status, message), headers, is_head=False)

    async def _answer(self, http: web.BaseRequest) -> Response:
        path = http.rel_url.raw_path
        if self._responder is not None and path.startswith(CHALLENGE_PATH) and http.method in ("GET", "HEAD"):
            text = await self._responder.text(path)
            if text is not None:
                return Response(200, [_TEXT], text.encode())
            return error_response("", 404, "No challenge with this token is open here")
        host = _host_of(http.headers.get("host", ""))
        if host not in self._hosts:
            return error_response("", 421, "This server does not serve that host name")
        shown = f"[{host}]" if ":" in host else host
        target = f"https://{shown}{self._port}{http.rel_url.raw_path_qs}"
        return Response(308, [("location", target)], b"")


def hosts_of(settings: Settings) -> Sequence[str]:
    """Return the names under which clients reach the gateway (pure)."""
    public = urlsplit(settings.api.external_url).hostname
    named = (*settings.certificates.domains, public, settings.gateway.host.strip("[]"))
    return [*(name for name in named if name), *_LOOPBACK]


def _host_of(header: str) -> str:
    """Return the host of a Host header in lower case, empty if it is none."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""
