"""Admin endpoints of functions, below `/functions/v1/_internal`, for the service role; the command line uses them.

    GET    functions                     all functions that run: deployed and local ones
    PUT    functions/<name>              the body is a bundle (schemas/functions/deployments.py); it runs when this responds;
                                         409 with `?base=N` if another version than N runs
    GET    functions/<name>              its versions, newest first
    GET    functions/<name>/files        ?version= (the active one, or the project folder's without one): its source files
    POST   functions/<name>/rollback     {"version"?}
    GET    functions/<name>/bundle       ?version= (the active one without it): its bundle
    DELETE functions/<name>              with all its versions
    GET    secrets                       names and digests
    PUT    secrets                       {name: value}
    DELETE secrets                       [name]
    GET    logs                          ?function= ?lines= ?follow=1: one JSON object a line
                                         ?level= ?after= ?before= (epoch seconds) ?text= ?request_id=: only such lines
    POST   session                       {"env", "verify_jwt"}: responds as `logs?follow=1`; in force until the client leaves

A function cannot be named `_internal`: names start with a-z or A-Z.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from typing import TypeVar
from urllib.parse import parse_qs, unquote

import msgspec

from broker.blobs.errors import BlobError
from broker.requests.handler import BodyTooLarge, RequestBody, StreamedResponse
from schemas.caller import Caller, ServiceCaller, UserCaller
from schemas.functions.deployments import (
    FUNCTION_NAME,
    LONGEST_SECRET,
    MOST_PACKED,
    MOST_SECRETS,
    DeployedSources,
    ListedFunction,
    ServeSession,
)
from schemas.http import Request, Response
from schemas.numbers import clamp_whole_number, parse_decimal_number, parse_whole_number
from workers.functions.catalog.registry import HostedFunction
from workers.functions.deployments.deployments import Deployments
from workers.functions.deployments.errors import (
    AdminForbidden,
    BadAdminRequest,
    DeployRejected,
    EndpointNotFound,
    StoreUnavailable,
)
from workers.functions.deployments.sources import bundle_sources, folder_sources
from workers.functions.logs.reading import LEVELS, LogCondition, LogReader

PREFIX = "/_internal/"
_JSON = [("content-type", "application/json; charset=utf-8"), ("cache-control", "no-store")]
_BUNDLE = [("content-type", "application/gzip"), ("cache-control", "no-store")]
_LINES = [("content-type", "application/x-ndjson"), ("cache-control", "no-store")]
_MOST_SECRET_BYTES = MOST_SECRETS * (LONGEST_SECRET + 512)
_SMALL = 256 * 1024
_USUAL_LINES, _MOST_LINES = 100, 10_000
_MOST_VERSION = 999_999
_LATEST = 1e11
"""Seconds since 1970, in the year 5138."""

T = TypeVar("T")


class Rollback(msgspec.Struct, frozen=True):
    """The version to run again; without it, the one before the active version."""

    version: int | None = None


class AdminEndpoints:
    """Answers the admin endpoints."""

    def __init__(self, deployments: Deployments, logs: LogReader) -> None:
        self._deployments = deployments
        self._logs = logs

    async def answer(
        self, request: Request, body: RequestBody, functions: Callable[[], Mapping[str, HostedFunction]]
    ) -> Response | StreamedResponse:
        """Answer one request; `functions` returns the functions that run now. Raises: FunctionError."""
        if not is_service_role(request.caller):
            raise AdminForbidden
        if request.method == "HEAD":  # the gateway sends no body
            request = msgspec.structs.replace(request, method="GET")
        resource, _, rest = request.path.removeprefix(PREFIX).partition("/")
        try:
            match resource:
                case "functions":
                    return await self._functions(request, body, unquote(rest), functions)
                case "secrets" if not rest:
                    return await self._secrets(request, body)
                case "logs" if request.method == "GET" and not rest:
                    return self._lines(request.query)
                case "session" if request.method == "POST" and not rest:
                    return await self._session(await _read(body, ServeSession))
        except BlobError:
            raise StoreUnavailable from None
        raise EndpointNotFound

    async def _functions(
        self,
        request: Request,
        body: RequestBody,
        rest: str,
        functions: Callable[[], Mapping[str, HostedFunction]],
    ) -> Response:
        name, _, action = rest.partition("/")
        if not name and request.method == "GET":
            return _json(self._list_functions(functions()))
        if not FUNCTION_NAME.fullmatch(name):
            raise EndpointNotFound
        match request.method, action:
            case "PUT", "":
                base = _version_number(request.query, "base")
                return _json(await self._deployments.deploy(name, await _read_bundle(body), base))
            case "GET", "":
                return _json(await self._deployments.versions(name))
            case "GET", "files":
                return _json(await self._sources(request.query, name, functions()))
            case "GET", "bundle":
                number = _version_number(request.query)
                return Response(200, _BUNDLE, await self._deployments.stored_bundle(name, number))
            case "DELETE", "":
                await self._deployments.delete(name)
                return _json({"name": name, "is_local": name in functions()})
            case "POST", "rollback":
                change = await _read(body, Rollback)
                return _json(await self._deployments.roll_back(name, change.version))
        raise EndpointNotFound

    async def _secrets(self, request: Request, body: RequestBody) -> Response:
        match request.method:
            case "GET":
                return _json(self._deployments.secrets)
            case "PUT":
                await self._deployments.set_secrets(await _read(body, dict[str, str], _MOST_SECRET_BYTES))
            case "DELETE":
                await self._deployments.unset_secrets(await _read(body, list[str]))
            case _:
                raise EndpointNotFound
        return _json({"count": len(self._deployments.secrets)})

    def _list_functions(self, functions: Mapping[str, HostedFunction]) -> list[ListedFunction]:
        unpacked = self._deployments.unpacked
        listed: list[ListedFunction] = []
        for name in sorted({*functions, *unpacked}):
            version, function = unpacked.get(name), functions.get(name)
            settings = function.settings if function else version.settings if version else None
            status = "off" if function is None else "deployed" if version else "local"
            listed.append(
                ListedFunction(
                    name,
                    status,
                    version.number if version else None,
                    version.at if version else None,
                    settings.verify_jwt if settings else True,
                    settings.schedule if settings else "",
                    version.sha256 if version else "",
                    settings.timezone if settings else "UTC",
                    version.size if version else None,
                    settings.queue if settings and settings.queue.queue else None,
                    settings.job if settings and settings.job.enabled else None,
                )
            )
        return listed

    async def _sources(
        self, query: str, name: str, functions: Mapping[str, HostedFunction]
    ) -> DeployedSources:
        """Return the files of a stored version, or of the function in the project's folder. Raises: FunctionError."""
        number = _version_number(query)
        if number is None and name not in self._deployments.unpacked and name in functions:
            return await asyncio.to_thread(folder_sources, functions[name])
        version, bundle = await self._deployments.bundle(name, number)
        return bundle_sources(name, version.number, bundle)

    def _lines(self, query: str) -> StreamedResponse:
        parameters = parse_qs(query)
        name = parameters.get("function", [""])[0]
        if name and not FUNCTION_NAME.fullmatch(name):
            raise BadAdminRequest("this is not a valid name of a function")
        lines = clamp_whole_number(parameters.get("lines", [str(_USUAL_LINES)])[0], most=_MOST_LINES)
        if lines is None:
            raise BadAdminRequest("lines is not a number")
        follows = parameters.get("follow", ["0"])[0] in ("1", "true")
        condition = _log_condition(parameters)
        return StreamedResponse(
            200, _LINES, self._logs.lines(name, lines, follows=follows, condition=condition)
        )

    async def _session(self, session: ServeSession) -> StreamedResponse:
        await self._deployments.begin_session(session)
        end = partial(self._deployments.end_session, session)
        return StreamedResponse(200, _LINES, _SessionLines(self._logs.lines("", 0, follows=True), end))


def _version_number(query: str, parameter: str = "version") -> int | None:
    """Return the number of a version in a parameter, or None without one. Raises: BadAdminRequest."""
    text = parse_qs(query).get(parameter, [""])[0]
    number = parse_whole_number(text, least=1, most=_MOST_VERSION) if text else None
    if text and number is None:
        raise BadAdminRequest(f"{parameter} is not the number of a version")
    return number


def _log_condition(parameters: Mapping[str, list[str]]) -> LogCondition:
    """Return which lines are requested. Raises: BadAdminRequest."""
    texts = {name: values[0] for name, values in parameters.items()}
    moments = [
        parse_decimal_number(texts[name], least=0, most=_LATEST) if name in texts else None
        for name in ("after", "before")
    ]
    if any(
        moment is None and name in texts for name, moment in zip(("after", "before"), moments, strict=True)
    ):
        raise BadAdminRequest("after and before are seconds since 1970")
    level = texts.get("level", "")
    if level and level not in LEVELS:
        raise BadAdminRequest(f"level is one of {', '.join(LEVELS)}")
    return LogCondition(level, moments[0], moments[1], texts.get("text", ""), texts.get("request_id", ""))


class _SessionLines(AsyncIterator[bytes]):
    """The log lines of a session. Closing them ends the session, whether they were read or not."""

    def __init__(self, lines: AsyncGenerator[bytes, None], end: Callable[[], Awaitable[None]]) -> None:
        self._lines, self._end = lines, end

    async def __anext__(self) -> bytes:
        return await anext(self._lines)

    async def aclose(self) -> None:
        """End the session."""
        try:
            await self._lines.aclose()
        finally:
            await self._end()


def is_service_role(caller: Caller) -> bool:
    """Return whether a caller has the service role, by its key or by its token."""
    match caller:
        case ServiceCaller():
            return True
        case UserCaller():
            return caller.decoded().get("role") == "service_role"
    return False


async def _read_bundle(body: RequestBody) -> bytes:
    try:
        return await body.read(MOST_PACKED)
    except BodyTooLarge:
        raise DeployRejected(f"the bundle is longer than {MOST_PACKED // (1024 * 1024)} MB") from None


async def _read(body: RequestBody, kind: type[T], limit: int = _SMALL) -> T:
    data = await body.read(limit)
    try:
        return msgspec.json.decode(data or b"{}", type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadAdminRequest(f"The body cannot be read: {error}") from None


def _json(value: object) -> Response:
    return Response(200, _JSON, msgspec.json.encode(value))
