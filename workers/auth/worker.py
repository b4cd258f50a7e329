"""The accounts pool: a request to its endpoint, every refusal in the shape that its caller reads.

Source: reference page "auth", sections 1.1, 1.2 and 1.5.
"""

import asyncio

from broker.observability.observe import observe
from broker.requests.serve import RequestBody
from schemas.errors import ApiError
from schemas.http import Request, Response, header
from workers.auth.context import Accounts
from workers.auth.database_refused import database_refused
from workers.auth.http.routes import ROUTER
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import VERSION_HEADER, AuthError, OAuthError, parse_api_version, refusal_of
from workers.auth.model.request import Asked
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout
from workers.routing import Found, MethodNotAllowed

MOST_BODY = 1024 * 1024
"""Bytes of the longest body."""


class AuthWorker:
    """Answers requests of the accounts."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    async def answer(self, request: Request, body: RequestBody) -> Response:
        """Answer one request. Every refusal is an answer; only defects raise."""
        try:
            async with asyncio.timeout(float(self._accounts.settings.max_request_duration)):
                return await self._answer(request, body)
        except TimeoutError:
            failure: AuthError | OAuthError = rejections.REQUEST_TIMEOUT()
        except (AuthError, OAuthError) as error:
            failure = error
        except (DatabaseError, Disconnected, PoolTimeout) as error:
            if isinstance(error, DatabaseError):
                observe(database_refused(error, request.id))
            failure = refusal_of(error)
        version = parse_api_version(header(request.headers, VERSION_HEADER))
        return failure.seen_by(version, request.id).response()

    async def _answer(self, request: Request, body: RequestBody) -> Response:
        found = ROUTER.find(request.method, request.path)
        if isinstance(found, MethodNotAllowed):
            raise _Refused(405, found.methods)
        if not isinstance(found, Found):
            raise AuthError(Code.UNKNOWN, "There is nothing at this path below /auth/v1", 404)
        try:
            data = await body.read(MOST_BODY)
        except ApiError as error:
            if error.status != 413:
                raise
            raise AuthError(
                Code.REQUEST_ENTITY_TOO_LARGE, f"The body is longer than {MOST_BODY} bytes", 413
            ) from None
        return await found.endpoint(self._accounts, Asked(request, data, found.parameters))


class _Refused(AuthError):
    """The path is there, but not for this method."""

    def __init__(self, status: int, methods: tuple[str, ...]) -> None:
        listed = ", ".join(methods)
        super().__init__(Code.UNKNOWN, f"This path takes {listed}", status)
        self._allowed = listed

    def headers(self) -> list[tuple[str, str]]:
        return [*super().headers(), ("allow", self._allowed)]
