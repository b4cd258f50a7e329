"""Extract from an error response what may be logged: its code and message, where these cannot quote values."""

import msgspec
from msgspec import Struct

_LONGEST_BODY, _LONGEST = 16 * 1024, 200
_PROJECT_CODES = ("PT", "P0")
"""Prefixes of SQLSTATEs that the project's own SQL raises: their messages may contain anything."""


class _Failure(Struct, frozen=True):
    """The members of an error body, in the spellings of the REST, auth, storage and functions interfaces."""

    code: str | int | None = None
    error_code: str = ""
    error: object = None
    message: str = ""
    msg: str = ""


_decode = msgspec.json.Decoder(_Failure).decode


def failure_reason(status: int, body: bytes) -> str:
    """Return the log text for a response of status 500 or more; empty if its body lacks a code and a message (pure).

    For status 500 only the code is returned: the message describes an unexpected error and may quote values.
    """
    if len(body) > _LONGEST_BODY:
        return ""
    try:
        failure = _decode(body)
    except msgspec.MsgspecError:
        return ""
    error = failure.error if isinstance(failure.error, str) else ""
    code = failure.error_code or ("" if failure.code in (None, status) else str(failure.code)) or error
    if status == 500 or code.startswith(_PROJECT_CODES):
        return code[:_LONGEST]
    message = failure.message or failure.msg
    return ": ".join(text for text in (code, message) if text)[:_LONGEST]
