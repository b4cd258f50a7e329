"""Errors that the functions pool answers with when a function itself does not answer.

    FunctionError
    ├── FunctionNameMissing 400  ├── FunctionTokenRejected 401    ├── FunctionNotFound 404
    ├── FunctionCrashed 500      ├── BootFailed 503               ├── TooBusy 503       ├── SandboxMissing 503
    ├── FunctionTimeout 504      └── LimitReached 546

All but `FunctionNameMissing` have the body `{code, message}`. Source: docs/reference/functions.md, section 1.
"""

from schemas.errors import ApiError
from schemas.http import Headers

PROCESS_ENDED = ("x-headwater-process", "ended")
"""Header of errors after which other requests of the same process have failed, too."""


class FunctionError(ApiError):
    """An error of the platform, as opposed to a response of a function."""

    code = "Internal Server Error"
    message = "Request failed due to an internal server error"

    def __init__(self, message: str = "") -> None:
        super().__init__(message or self.message)

    def body(self) -> dict[str, object]:
        return {"code": self.code, "message": str(self)}


class FunctionNameMissing(FunctionError):
    """The path contains no function name."""

    status = 400
    message = "missing function name in request"

    def body(self) -> dict[str, object]:
        return {"msg": str(self)}


class FunctionTokenRejected(FunctionError):
    """The function requires a token; the request's token is missing or invalid. Client libraries recognize it by a header."""

    status = 401

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    def headers(self) -> Headers:
        return [("sb-error-code", self.code), ("x-relay-error", "true")]

    def body(self) -> dict[str, object]:
        return {"code": self.code, "message": str(self), "msg": str(self)}


class SandboxMissing(FunctionError):
    """This machine cannot confine functions, and the settings do not accept that."""

    status = 503
    code = "SANDBOX_MISSING"
    message = (
        "Functions are not run here: nothing but the runtime's own permissions would keep them from the platform's files. "
        "See `headwater doctor`, or set edge_runtime.unsafe_without_sandbox"
    )


class FunctionNotFound(FunctionError):
    """The function does not exist, or it is disabled."""

    status = 404
    code = "NOT_FOUND"
    message = "Requested function was not found"


class FunctionCrashed(FunctionError):
    """The process of the function exited before it answered, or answered with invalid HTTP."""

    status = 500
    code = "WORKER_ERROR"
    message = "Function exited due to an error (please check logs)"

    def headers(self) -> Headers:
        return [PROCESS_ENDED]


class BootFailed(FunctionError):
    """The function did not start."""

    status = 503
    code = "BOOT_ERROR"
    message = "Worker failed to boot (please check logs)"


class TooBusy(FunctionError):
    """All processes of the function are at their limit of requests, and the queue is full."""

    status = 503
    code = "WORKER_BUSY"
    message = "The function has too much to do"

    def headers(self) -> Headers:
        return [("retry-after", "1")]


class FunctionTimeout(FunctionError):
    """The function did not begin to answer in time."""

    status = 504
    code = "IDLE_TIMEOUT"
    message = "Function did not respond in time"


class LimitReached(FunctionError):
    """The function exceeded its processor time, its memory or its time."""

    status = 546
    code = "WORKER_LIMIT"
    message = "Worker failed to respond due to a resource limit (please check logs)"

    def headers(self) -> Headers:
        return [PROCESS_ENDED]

    def reason(self) -> str:
        return "Worker Limit"
