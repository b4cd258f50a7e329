"""Requests of operations to the pool `auth`, as the service role; its errors keep their status, code and message."""

import re
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from broker.subjects import AUTH
from schemas.auth_api_version import VERSION_HEADER, ApiVersion
from schemas.errors import ApiError
from workers.management.interface.errors import ManagementError, invalid_arguments
from workers.management.interface.identity.store import as_uuid
from workers.management.interface.operation import OperationContext
from workers.management.interface.role_limits import ROLES_OF_USERS

JsonObject = dict[str, Any]
_SQLSTATE = re.compile(r"[0-9A-Z]{5}", re.ASCII)
_TRY_AGAIN = (503, 504)
_USERS = "/admin/users"


class _AuthErrorBody(Struct):
    code: str | int = "unexpected_failure"
    message: str = ""
    msg: str = ""
    hint: str = ""


async def call_auth(
    context: OperationContext,
    method: str,
    path: str,
    body: Struct | JsonObject | None = None,
    query: dict[str, str] | None = None,
) -> Any:
    """Send a request to the pool auth and return the JSON of its answer, None without a body.

    Raises: ManagementError with the status, code and message of the error that auth answered: 400 where SQL of the project
    rejected the change, 502 for errors inside of auth; 403 where a limited administrator may not change the user of the path.
    """
    if context.actor.limits is not None and method != "GET" and path.startswith(f"{_USERS}/"):
        check_reach(context, await read_user(context, path.removeprefix(f"{_USERS}/").partition("/")[0]))
    try:
        response = await context.pools.request(
            AUTH,
            method,
            path,
            request_id=context.request_id,
            query=urlencode({name: text for name, text in (query or {}).items() if text}),
            headers=[("content-type", "application/json"), (VERSION_HEADER, ApiVersion.Y2024.value)],
            body=b"" if body is None else msgspec.json.encode(body),
        )
    except ManagementError:
        raise
    except ApiError as error:
        raise ManagementError(error.status, "auth_unavailable", f"Auth did not answer: {error}") from None
    if response.status < 400:
        return msgspec.json.decode(response.body) if response.body else None
    raise _error(response.status, response.body)


def user_path(id_text: str, *rest: str) -> str:
    """Return the path of a user below `/admin/users`. Raises: ManagementError (400) if the id is not a UUID."""
    return "/".join([_USERS, required_uuid(id_text, "id"), *(quote(part, safe="") for part in rest)])


def required_uuid(text: str, name: str) -> str:
    """Return a UUID in its usual form. Raises: ManagementError (400)."""
    value = as_uuid(text)
    if value is None:
        raise invalid_arguments(f"`{name}` must be a UUID")
    return value


async def read_user(context: OperationContext, id_text: str) -> JsonObject:
    """Return a user as the admin interface of auth shows it. Raises: ManagementError (404)."""
    user: JsonObject = await call_auth(context, "GET", user_path(id_text))
    return user


def check_reach(context: OperationContext, user: JsonObject) -> None:
    """Check that the administrator may change a user. Raises: ManagementError (403) beside the limits of his role."""
    if context.actor.limits is not None and (role := user.get("role") or "") not in ROLES_OF_USERS:
        raise ManagementError(
            403,
            "no_right",
            f"tokens of this user have the role {str(role)[:63]!r}, which reads beside the limits of your role",
            hint="An administrator without a role may.",
        )


def _error(status: int, body: bytes) -> ManagementError:
    try:
        error = msgspec.json.decode(body, type=_AuthErrorBody)
    except (msgspec.MsgspecError, UnicodeError):
        error = _AuthErrorBody()
    message = error.message or error.msg or "Auth answered with an error"
    if _SQLSTATE.fullmatch(str(error.code)):  # a trigger or a constraint of the project rejected the change
        status = 400
    elif status >= 500 and status not in _TRY_AGAIN:
        status = 502
    return ManagementError(status, str(error.code), message, hint=error.hint)
