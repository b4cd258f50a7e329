"""The operation that calls a function as a program, an anonymous client, or a user would."""

import base64
import re
import time
from typing import Annotated, Literal

import msgspec
from msgspec import Struct

from broker.subjects import FUNCTIONS
from schemas.caller import AnonymousCaller, Caller, ServiceCaller, UserCaller
from schemas.errors import ApiError
from schemas.http import Headers
from workers.management.areas.requested_runs import SQL
from workers.management.areas.user_tokens import TokenOwner, signed_token, user_claims
from workers.management.interface import argument_limits as limits
from workers.management.interface.backends.platform_pools import check_is_on
from workers.management.interface.backends.typed_rows import read_rows
from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.identity.store import as_uuid
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.page_cursor import check_text
from workers.management.interface.rights import Right
from workers.management.operations.functions import function_path

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]{0,8192}")
_OURS = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer", "expect", "x-request-id"}
)  # fmt: skip
_MOST_HEADERS = 100
_MOST_SHOWN = 1024 * 1024
_BUDGET_MS = 50_000


class FunctionInvocation(Struct, frozen=True, forbid_unknown_fields=True):
    """A call: `path` is the one below the function, with a query if there is one. The body is text, or base64 of other bytes.

    `caller`: `anon` (with the public key), `service` (with the secret key), or `user`, whose id is then `user_id`.
    """

    name: str
    method: Annotated[str, limits.choice(*_METHODS)] = "POST"
    path: Annotated[str, limits.text(4096, least=0)] = "/"
    headers: dict[str, str] = {}
    body: str = ""
    body_base64: str = ""
    caller: Literal["anon", "user", "service"] = "anon"
    user_id: str = ""


class FunctionReply(Struct, frozen=True):
    """What the function answered: the first MiB of its body as text, or as base64 if it is none; `duration_ms` for all of it.

    The log lines of the call have `request_id`.
    """

    status: int
    headers: list[tuple[str, str]]
    duration_ms: float
    bytes: int
    is_cut: bool
    request_id: str
    body: str | None = None
    body_base64: str | None = None


async def invoke(context: OperationContext, arguments: FunctionInvocation) -> FunctionReply:
    """Call a function and return its answer."""
    function_path(arguments.name)
    check_is_on(FUNCTIONS.pool, context.configuration)
    path, _, query = check_text("path", arguments.path, longest=4096, least=0).partition("?")
    if path and not path.startswith("/"):
        raise invalid_arguments("`path` must begin with /")
    if arguments.method not in _METHODS:
        raise invalid_arguments(f"`method` must be one of {', '.join(_METHODS)}")
    headers, body = _headers(arguments.headers), _body(arguments)
    caller, credential = await _caller(context, arguments)
    started = time.perf_counter()
    try:
        response = await context.pools.request(
            FUNCTIONS,
            arguments.method,
            f"/{arguments.name}{path if path != '/' else ''}",
            request_id=context.request_id,
            query=query,
            headers=[*headers, *credential],
            body=body,
            budget_ms=_BUDGET_MS,
            caller=caller,
        )
    except ManagementError:
        raise
    except ApiError as error:  # the function's own failure is the answer to this operation
        response = error.response()
    duration_ms = round((time.perf_counter() - started) * 1000, 2)
    beginning = response.body[:_MOST_SHOWN]
    text, encoded = _text(beginning, is_cut=len(beginning) < len(response.body))
    return FunctionReply(
        response.status,
        response.headers,
        duration_ms,
        len(response.body),
        len(beginning) < len(response.body),
        context.request_id,
        text,
        encoded,
    )


async def _caller(context: OperationContext, arguments: FunctionInvocation) -> tuple[Caller, Headers]:
    """Return the caller, and the headers in which a client of this kind sends its credential. Raises: ManagementError."""
    auth = context.configuration.auth
    match arguments.caller:
        case "service":
            return ServiceCaller(), []  # the pool adds the legacy key of the role
        case "anon":
            return AnonymousCaller(), [("apikey", auth.publishable_key.reveal())]
    user_id = as_uuid(arguments.user_id)
    users = await read_rows(context, TokenOwner, SQL["user"], user_id) if user_id else []
    if not users:
        raise not_found(f"user {arguments.user_id[:80]!r}")
    claims = user_claims(users[0], auth)
    token = signed_token(claims, auth)
    headers = [("apikey", auth.publishable_key.reveal()), ("authorization", f"Bearer {token}")]
    return UserCaller(msgspec.json.encode(claims)), headers


def _headers(sent: dict[str, str]) -> Headers:
    """Return the headers of the call. Raises: ManagementError (400)."""
    if len(sent) > _MOST_HEADERS:
        raise invalid_arguments(f"A call may have {_MOST_HEADERS} headers")
    headers: Headers = []
    for name, value in sent.items():
        if not _HEADER.fullmatch(name) or not _VALUE.fullmatch(value):
            raise invalid_arguments(f"{name[:80]!r} is not a header: a name and a value of one line")
        if name.lower() in _OURS:
            raise invalid_arguments(f"The header {name} is set by the platform")
        if name.lower() in ("authorization", "apikey"):
            raise invalid_arguments("`caller` says who calls: leave out authorization and apikey")
        headers.append((name.lower(), value))
    return headers


def _body(arguments: FunctionInvocation) -> bytes:
    if arguments.body and arguments.body_base64:
        raise invalid_arguments("Send `body` or `body_base64`")
    try:
        if arguments.body_base64:
            return base64.b64decode(arguments.body_base64, validate=True)
        return arguments.body.encode()
    except ValueError:
        raise invalid_arguments("The body is not text or base64") from None


def _text(body: bytes, *, is_cut: bool) -> tuple[str | None, str | None]:
    """Return a body as text, or else as base64; the end of a cut text may be half a character."""
    try:
        return body.decode(), None
    except UnicodeDecodeError as error:
        if is_cut and error.start >= len(body) - 3:
            return body[: error.start].decode(), None
        return None, base64.b64encode(body).decode()


def operations() -> list[Operation]:
    """Return the operation of this module."""
    return [
        Operation(
            "functions.invoke",
            "Call a function",
            FunctionInvocation,
            FunctionReply,
            Right.DEVELOPER,
            invoke,
            changes=True,
            secrets=frozenset({"headers", "body", "body_base64"}),
            max_body_bytes=8 * 1024 * 1024,
        )
    ]
