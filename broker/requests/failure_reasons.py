"""Why a pool answered with a failure, for the log: the code and the words of its answer, where these hold no values."""

import msgspec
from msgspec import Struct

_LONGEST_BODY, _LONGEST = 16 * 1024, 200
_OF_PROJECTS = ("PT", "P0")
"""SQLSTATEs that SQL of the project raises: their words may hold anything."""


class _Failure(Struct, frozen=True):
    """The members of an error body, in the spellings of our interfaces."""

    code: str | int | None = None
    error_code: str = ""
    error: object = None
    message: str = ""
    msg: str = ""


_decode = msgspec.json.Decoder(_Failure).decode


def failure_words(status: int, body: bytes) -> str:
    """Return what the log says about an answer of status 500 or more; empty if the answer does not tell (pure).

    With 500 only the code is returned: the words of such an answer are about what was not expected, and may quote values.
    """
    if len(body) > _LONGEST_BODY:
        return ""
    try:
        failure = _decode(body)
    except msgspec.MsgspecError:
        return ""
    error = failure.error if isinstance(failure.error, str) else ""
    code = failure.error_code or ("" if failure.code in (None, status) else str(failure.code)) or error
    if status == 500 or code.startswith(_OF_PROJECTS):
        return code[:_LONGEST]
    words = failure.message or failure.msg
    return ": ".join(text for text in (code, words) if text)[:_LONGEST]
