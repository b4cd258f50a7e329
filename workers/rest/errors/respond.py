"""Errors of the step respond: a function has set malformed headers or a malformed status. Source: docs/reference/rest.md, section 20."""

from workers.rest.errors.base import RestError


class BadResponseHeaders(RestError):
    """The setting `response.headers` is malformed."""

    code, status = "PGRST111", 500

    def __init__(self) -> None:
        super().__init__(
            "response.headers guc must be a JSON array composed of objects with a single key and a string value"
        )


class BadResponseStatus(RestError):
    """The setting `response.status` is malformed."""

    code, status = "PGRST112", 500

    def __init__(self) -> None:
        super().__init__("response.status guc must be a valid status code")
