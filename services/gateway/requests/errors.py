"""Errors that the gateway itself answers, in the format of the request's area."""

from schemas.auth_api_version import VERSION_HEADER, parse_api_version
from schemas.http import Headers, Response
from services.gateway.requests.request import GatewayRequest
from services.middleware.errors import error_response

_OF_SYNC = [("cache-control", "private, no-store"), ("vary", "authorization, apikey")]
"""No cache may store an answer about shapes that depends on who asks."""


def gateway_error(
    request: GatewayRequest,
    status: int,
    message: str,
    *,
    hint: str | None = None,
    code: str | None = None,
    headers: Headers | None = None,
    outcome: str = "",
) -> Response:
    """Return the error response to a request. `outcome` is set where the request may have been carried out all the same."""
    return error_response(
        request.area,
        status,
        message,
        hint=hint,
        code=code,
        headers=[*(headers or []), *_OF_SYNC] if request.area == "sync" else headers,
        outcome=outcome,
        version=parse_api_version(request.first.get(VERSION_HEADER)),
        request_id=request.id,
    )
