"""Responses of other pools as values, and their errors as errors of this interface. Pure."""

from typing import TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from schemas.http import Response
from schemas.numbers import parse_whole_number
from workers.management.interface.errors import ManagementError

T = TypeVar("T")


class _PoolErrorBody(Struct, rename={"status_code": "statusCode"}):
    message: str = ""
    code: str = ""
    error: str = ""
    status_code: str = ""
    hint: str = ""


def result_of(response: Response, kind: type[T]) -> T:
    """Return the body of a response of another pool. Raises: ManagementError with the pool's status, code and message."""
    check_answer(response)
    return msgspec.json.decode(response.body, type=kind)


def check_answer(response: Response) -> None:
    """Raise the error that another pool answered with, as an error of this interface."""
    if response.status < 400:
        return
    try:
        body = msgspec.json.decode(response.body, type=_PoolErrorBody, strict=False)
    except (msgspec.MsgspecError, UnicodeError):
        body = _PoolErrorBody()
    # Storage answers 400 to most errors and tells the real status in the body.
    status = parse_whole_number(body.status_code, least=400, most=599) or response.status
    if status == 401:  # it would mean that the administrator is not signed in
        status = 502
    code = body.code or body.error or "rejected"
    raise ManagementError(status, code, body.message or f"The pool answered {status}", hint=body.hint)


def path_part(text: str) -> str:
    """Return a text as one part of a path: whatever it contains stays one part."""
    return quote(text, safe="")


def path_tail(text: str) -> str:
    """Return a key with slashes as the rest of a path."""
    return quote(text, safe="/")
