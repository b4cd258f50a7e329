"""Define the errors that the platform answers with instead of a function.

    FunctionError
    ├── NameMissing 400          ├── TokenRefused 401         ├── NoFunction 404
    ├── FunctionFailed 500       ├── BootFailed 503           ├── TooBusy 503       ├── SandboxMissing 503
    ├── NoAnswer 504             └── LimitReached 546

All but `FunctionNameMissing` have the body `{code, message}`. Source: docs/reference/functions.md, section 1.
"""

from schemas.errors import ApiError
from schemas.http import Headers


class FunctionError(ApiError):
    """An error of the platform, not a response of a function."""

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
    """The function requires a token, and the request lacks a valid one. Client libraries detect it by a header."""

    status = 401

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    def headers(self) -> Headers:
        return [("sb-error-code", self.code), ("x-relay-error", "true")]

    def body(self) -> dict[str, object]:
        return {"code": self.code, "message": str(self), "msg": str(self)}


class SandboxMissing(FunctionError):
    """This machine cannot confine the function, and the settings do not accept that."""

    status = 503
    code = "SANDBOX_MISSING"
    message = (
        "Functions are not run here: nothing but the runtime's own permissions would keep them from the platform's files. "
        "See `headwater doctor`, or set edge_runtime.unsafe_without_sandbox"
    )


class FunctionNotFound(FunctionError):
    """The function does not exist, or is switched off."""

    status = 404
    code = "NOT_FOUND"
    message = "Requested function was not found"


class FunctionCrashed(FunctionError):
    """The function's process exited before it had answered, or its answer was not valid HTTP."""

    status = 500
    code = "WORKER_ERROR"
    message = "Function exited due to an error (please check logs)"


class BootFailed(FunctionError):
    """The function does not start."""

    status = 503
    code = "BOOT_ERROR"
    message = "Worker failed to boot (please check logs)"


class FunctionBusy(FunctionError):
    """All processes of the function are busy, and the queue is full."""

    status = 503
    code = "WORKER_BUSY"
    message = "The function has too much to do"

    def headers(self) -> Headers:
        return [("retry-after", "1")]


class FunctionTimedOut(FunctionError):
    """The function did not start to answer in time."""

    status = 504
    code = "IDLE_TIMEOUT"
    message = "Function did not respond in time"


class LimitReached(FunctionError):
    """The function used up its processor time, its memory or its time."""

    status = 546
    code = "WORKER_LIMIT"
    message = "Worker failed to respond due to a resource limit (please check logs)"

    def reason(self) -> str:
        return "Worker Limit"
