"""The base of all errors of the REST interface. Source: docs/reference/rest.md, section 20."""

from schemas.errors import ApiError
from schemas.http import Headers


class RestError(ApiError):
    """A refusal with the four members of the interface: code, message, details, hint."""

    code = "PGRSTX00"
    status = 500

    def __init__(self, message: str, details: object = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.details, self.hint = message, details, hint

    def body(self) -> dict[str, object]:
        return {"code": self.code, "message": self.message, "details": self.details, "hint": self.hint}

    def headers(self) -> Headers:
        return [("proxy-status", f"PostgREST; error={self.code}")]
