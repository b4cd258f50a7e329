"""Answers the pool management on the subject `AUTH_SETTINGS`, which edges may not publish to.

    POST /check      {"values": {path: value}}: the checks of a start
    POST /emails     {}: every kind of email with its variables, default and present text
    POST /preview    {"kind", "values"?}: an email rendered with sample values
    POST /send-test  {"kind", "to", "limit_key"}: such an email, sent by the present mail server
    POST /providers  {}: the providers of the settings
    POST /provider-check  {"name"}: whether the discovery document of a provider can be used

An error is a JSON object with `code` and `message`.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from msgspec import Struct

from broker.requests.handler import RequestBody
from broker.requests.serve import serve
from broker.subjects import AUTH_SETTINGS
from schemas.http import Request, Response
from schemas.settings.tree import SettingsError
from workers.auth.administration.emails import (
    SampleRejected,
    describe_emails,
    preview_email,
    send_test_email,
)
from workers.auth.administration.providers import check_provider, describe_providers
from workers.auth.http.context import EndpointContext
from workers.auth.live_context import LiveAuthContext
from workers.resources import Resources
from workers.settings.live_settings import LiveSettings

_CONCURRENCY = 4
_MOST_BYTES = 8 * 1024 * 1024


class _Body(Struct, frozen=True):
    values: dict[str, Any] | None = None
    kind: str = ""
    to: str = ""
    limit_key: str = ""
    name: str = ""


async def serve_administration(
    resources: Resources, contexts: LiveAuthContext, current: Callable[[], EndpointContext]
) -> None:
    """Answer the pool management until the process drains."""
    answers = AdministrationServer(resources.live, contexts, current)
    serving = await serve(
        resources.connection, AUTH_SETTINGS, answers.answer, concurrency=_CONCURRENCY, queue=64
    )
    resources.process.on_drain(serving.stop)


class AdministrationServer:
    """Answers requests of the pool management with the context that applies now."""

    def __init__(
        self, live: LiveSettings, contexts: LiveAuthContext, current: Callable[[], EndpointContext]
    ) -> None:
        self._live, self._contexts, self._current = live, contexts, current
        self._routes: dict[str, Callable[[_Body], Awaitable[object]]] = {
            "/check": self._check,
            "/emails": self._emails,
            "/preview": self._preview,
            "/send-test": self._send_test,
            "/providers": self._providers,
            "/provider-check": self._provider_check,
        }

    async def answer(self, request: Request, body: RequestBody) -> Response:
        """Answer one request. Settings are read first: the request may follow a change at once, in another process."""
        await self._live.check()
        route = self._routes.get(request.path)
        if route is None:
            return _error(404, "not_found", f"There is no {request.path}")
        try:
            sent = msgspec.json.decode(await body.read(_MOST_BYTES) or b"{}", type=_Body)
            return Response(200, body=msgspec.json.encode(await route(sent)))
        except msgspec.MsgspecError as error:
            return _error(400, "invalid_arguments", str(error))
        except SettingsError as error:
            return _error(400, "invalid_settings", str(error))
        except SampleRejected as error:
            return _error(error.status, error.code, str(error))

    async def _check(self, body: _Body) -> object:
        self._contexts.context_of(body.values or {})
        return {}

    async def _emails(self, body: _Body) -> object:
        del body
        return describe_emails(self._current().settings)

    async def _preview(self, body: _Body) -> object:
        context = self._current() if body.values is None else self._contexts.context_of(body.values)
        return await preview_email(context, body.kind)

    async def _send_test(self, body: _Body) -> object:
        await send_test_email(self._current(), self._contexts.mail_server, body.kind, body.to, body.limit_key)
        return {}

    async def _providers(self, body: _Body) -> object:
        del body
        return describe_providers(self._current())

    async def _provider_check(self, body: _Body) -> object:
        return await check_provider(self._current(), body.name)


def _error(status: int, code: str, message: str) -> Response:
    return Response(status, body=msgspec.json.encode({"code": code, "message": message}))
