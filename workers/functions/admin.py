"""The endpoints by which the command line administers functions, below `/functions/v1/_internal`, for the service role.

    GET    functions                     all that are run: deployed and local ones
    PUT    functions/<name>              the body is a bundle (schemas/functions/deployments.py); it is run when this answers
    GET    functions/<name>              its versions, the newest first
    POST   functions/<name>/rollback     {"version"?}
    DELETE functions/<name>              with all its versions
    GET    secrets                       names and digests
    PUT    secrets                       {name: value}
    DELETE secrets                       [name]
    GET    logs                          ?function= ?lines= ?follow=1: one JSON object a line
    POST   session                       {"env", "verify_jwt"}: as `logs?follow=1`; holds as long as somebody reads

No function can have this name: they begin with a letter.
"""

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
    FunctionSummary,
    ServeSession,
)
from schemas.http import Request, Response
from schemas.numbers import clamp_whole_number
from workers.functions.admin_errors import (
    AdminForbidden,
    BadRequest,
    DeployRefused,
    NoSuchEndpoint,
    StoreDown,
)
from workers.functions.deployments import Deployments
from workers.functions.log_reading import LogReading
from workers.functions.registry import Function

PREFIX = "/_internal/"
_JSON = [("content-type", "application/json; charset=utf-8"), ("cache-control", "no-store")]
_LINES = [("content-type", "application/x-ndjson"), ("cache-control", "no-store")]
_MOST_SECRET_BYTES = MOST_SECRETS * (LONGEST_SECRET + 512)
_SMALL = 256 * 1024
_USUAL_LINES, _MOST_LINES = 100, 10_000

T = TypeVar("T")


class Rollback(msgspec.Struct, frozen=True):
    """Which version is wanted again; the one before the present one without."""

    version: int | None = None


class Admin:
    """Answers the endpoints."""

    def __init__(self, deployments: Deployments, logs: LogReading) -> None:
        self._deployments = deployments
        self._logs = logs

    async def answer(
        self, request: Request, body: RequestBody, functions: Callable[[], Mapping[str, Function]]
    ) -> Response | StreamedResponse:
        """Answer one request; `functions` gives those that are run now. Raises: FunctionError."""
        if not is_service(request.caller):
            raise AdminForbidden
        what, _, rest = request.path.removeprefix(PREFIX).partition("/")
        try:
            match what:
                case "functions":
                    return await self._functions(request, body, unquote(rest), functions)
                case "secrets" if not rest:
                    return await self._secrets(request, body)
                case "logs" if request.method == "GET" and not rest:
                    return self._lines(request.query)
                case "session" if request.method == "POST" and not rest:
                    return await self._session(await _read(body, ServeSession))
        except BlobError:
            raise StoreDown from None
        raise NoSuchEndpoint

    async def _functions(
        self, request: Request, body: RequestBody, rest: str, functions: Callable[[], Mapping[str, Function]]
    ) -> Response:
        name, _, action = rest.partition("/")
        if not name and request.method == "GET":
            return _json(self._listed(functions()))
        if not FUNCTION_NAME.fullmatch(name):
            raise NoSuchEndpoint
        match request.method, action:
            case "PUT", "":
                return _json(await self._deployments.deploy(name, await _bundle(body)))
            case "GET", "":
                return _json(await self._deployments.versions(name))
            case "DELETE", "":
                await self._deployments.delete(name)
                return _json({"name": name, "is_local": name in functions()})
            case "POST", "rollback":
                wanted = await _read(body, Rollback)
                return _json(await self._deployments.roll_back(name, wanted.version))
        raise NoSuchEndpoint

    async def _secrets(self, request: Request, body: RequestBody) -> Response:
        match request.method:
            case "GET":
                return _json(self._deployments.secrets)
            case "PUT":
                await self._deployments.set_secrets(await _read(body, dict[str, str], _MOST_SECRET_BYTES))
            case "DELETE":
                await self._deployments.unset_secrets(await _read(body, list[str]))
            case _:
                raise NoSuchEndpoint
        return _json({"count": len(self._deployments.secrets)})

    def _listed(self, functions: Mapping[str, Function]) -> list[FunctionSummary]:
        laid = self._deployments.laid
        found: list[FunctionSummary] = []
        for name in sorted({*functions, *laid}):
            one, function = laid.get(name), functions.get(name)
            settings = function.settings if function else one.settings if one else None
            status = "off" if function is None else "deployed" if one else "local"
            found.append(
                FunctionSummary(
                    name,
                    status,
                    one.number if one else None,
                    one.at if one else None,
                    settings.verify_jwt if settings else True,
                    settings.schedule if settings else "",
                    one.sha256 if one else "",
                    settings.timezone if settings else "UTC",
                )
            )
        return found

    def _lines(self, query: str) -> StreamedResponse:
        asked = parse_qs(query)
        name = asked.get("function", [""])[0]
        if name and not FUNCTION_NAME.fullmatch(name):
            raise BadRequest("there can be no function of this name")
        lines = clamp_whole_number(asked.get("lines", [str(_USUAL_LINES)])[0], most=_MOST_LINES)
        if lines is None:
            raise BadRequest("lines is no number")
        follows = asked.get("follow", ["0"])[0] in ("1", "true")
        return StreamedResponse(200, _LINES, self._logs.lines(name, lines, follows=follows))

    async def _session(self, session: ServeSession) -> StreamedResponse:
        await self._deployments.begin_session(session)
        end = partial(self._deployments.end_session, session)
        return StreamedResponse(200, _LINES, _Held(self._logs.lines("", 0, follows=True), end))


class _Held(AsyncIterator[bytes]):
    """The lines of a session. Closing them ends it, read or not."""

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


def is_service(caller: Caller) -> bool:
    """Tell whether a caller is a trusted server: by its key, or by a token of that role."""
    match caller:
        case ServiceCaller():
            return True
        case UserCaller():
            return caller.decoded().get("role") == "service_role"
    return False


async def _bundle(body: RequestBody) -> bytes:
    try:
        return await body.read(MOST_PACKED)
    except BodyTooLarge:
        raise DeployRefused(f"the bundle is longer than {MOST_PACKED // (1024 * 1024)} MB") from None


async def _read(body: RequestBody, kind: type[T], limit: int = _SMALL) -> T:
    data = await body.read(limit)
    try:
        return msgspec.json.decode(data or b"{}", type=kind)
    except msgspec.MsgspecError as error:
        raise BadRequest(f"The body cannot be read: {error}") from None


def _json(value: object) -> Response:
    return Response(200, _JSON, msgspec.json.encode(value))
