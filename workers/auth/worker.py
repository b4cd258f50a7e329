"""Dispatches a request to its endpoint, and turns every error into the JSON that the caller's API version expects.

Sources: docs/reference/auth.md, sections 1.1, 1.2 and 1.5.
"""

import asyncio

from broker.observability.observe import observe
from broker.requests.handler import RequestBody
from schemas.auth_api_version import VERSION_HEADER, parse_api_version
from schemas.errors import ApiError
from schemas.http import Request, Response, header
from workers.auth.database_errors import change_rejected
from workers.auth.http.context import EndpointContext
from workers.auth.http.error_page import as_page, wants_page
from workers.auth.http.routes import ROUTER
from workers.auth.model import rejections
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import (
    UNEXPECTED,
    AuthError,
    OAuthError,
    error_from_database,
)
from workers.auth.model.request import AuthRequest
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.routing import MethodNotAllowed, RouteMatch

MAX_BODY_BYTES = 1024 * 1024
_SAVING = "Database error saving new user"
_MESSAGES = {
    ("POST", "/signup"): _SAVING,
    ("POST", "/invite"): _SAVING,
    ("POST", "/admin/users"): "Database error creating new user",
}
"""What the official server writes where a new user cannot be stored, such as after the error of a trigger: users search for it."""


class AuthWorker:
    """Answers requests of auth with one context."""

    def __init__(self, context: EndpointContext) -> None:
        self._context = context

    async def answer(self, request: Request, body: RequestBody) -> Response:
        """Answer one request. Every error of a request becomes a response; only defects raise."""
        try:
            async with asyncio.timeout(float(self._context.settings.max_request_duration)):
                return await self._answer(request, body)
        except TimeoutError:
            failure: AuthError | OAuthError = rejections.REQUEST_TIMEOUT()
        except (AuthError, OAuthError) as error:
            failure = error
        except (DatabaseError, Disconnected, PoolTimeout) as error:
            if isinstance(error, DatabaseError):
                observe(change_rejected(error, request.id))
            message = _MESSAGES.get((request.method, request.path), UNEXPECTED)
            failure = error_from_database(error, message)
        version = parse_api_version(header(request.headers, VERSION_HEADER))
        response = failure.for_version(version, request.id).response()
        if not wants_page(request):
            return response
        code = failure.code.value if isinstance(failure, AuthError) else failure.error
        return as_page(response, code, str(failure))

    async def _answer(self, request: Request, body: RequestBody) -> Response:
        match = ROUTER.find(request.method, request.path)
        if isinstance(match, MethodNotAllowed):
            raise _MethodNotAllowedError(match.methods)
        if not isinstance(match, RouteMatch):
            raise AuthError(ErrorCode.UNKNOWN, "There is nothing at this path below /auth/v1", 404)
        try:
            data = await body.read(MAX_BODY_BYTES)
        except ApiError as error:
            if error.status != 413:
                raise
            raise AuthError(
                ErrorCode.REQUEST_ENTITY_TOO_LARGE, f"The body is longer than {MAX_BODY_BYTES} bytes", 413
            ) from None
        return await match.endpoint(self._context, AuthRequest(request, data, match.parameters))


class _MethodNotAllowedError(AuthError):
    """The path exists, but not for this method (405)."""

    def __init__(self, methods: tuple[str, ...]) -> None:
        allowed = ", ".join(methods)
        super().__init__(ErrorCode.UNKNOWN, f"This path takes {allowed}", 405)
        self._allowed = allowed

    def headers(self) -> list[tuple[str, str]]:
        return [*super().headers(), ("allow", self._allowed)]
