"""A response whose bytes are complete: many clients are sent the same body at one moment (changes of shapes). Hot path.

aiohttp makes an object of every header first, which costs more than all else that is done for a request that waited. The bytes are
those of `response_bytes.py`. Only short ones are sent so: they fit into the buffer of the socket, so nothing is waited for.
"""

from aiohttp import HttpVersion11, web
from aiohttp.abc import AbstractStreamWriter

from schemas.http import Response
from services.gateway.requests.request import GatewayRequest
from services.gateway.requests.response_bytes import response_bytes

MOST_BYTES = 16 * 1024


class ReadyResponse(web.StreamResponse):
    """Head and body of a response to a request of HTTP/1.1 that is not HEAD."""

    def __init__(self, request: GatewayRequest, response: Response) -> None:
        super().__init__(status=response.status)
        self._request, self._response = request, response

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Write the response. Raises: ConnectionResetError if the client is gone."""
        if self._eof_sent:
            return None
        if self._keep_alive is None:
            self._keep_alive = request.keep_alive
        transport = request.transport
        if transport is None:
            raise ConnectionResetError("the client is gone")
        response = self._response
        data = response_bytes(response, self._request.response_headers, is_last=not self._keep_alive)
        transport.write(data)
        self._body_length = len(response.body)
        self._eof_sent = True
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        """Do nothing: everything is written."""


def may_be_ready(request: GatewayRequest, response: Response) -> bool:
    """Return whether a response can be sent so."""
    return (
        request.method == "GET"
        and len(response.body) <= MOST_BYTES
        and request.http.version == HttpVersion11
        and response.status == 200
    )
