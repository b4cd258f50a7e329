"""The door's own refusals, each in the error shape of its area. Pure."""

import msgspec

from schemas.http import Headers, Response

JSON = ("content-type", "application/json; charset=utf-8")

_STORAGE_NAMES = {
    400: "InvalidRequest",
    401: "Unauthorized",
    404: "not_found",
    408: "RequestTimeout",
    413: "Payload too large",
    414: "InvalidRequest",
    429: "too_many_requests",
    431: "InvalidRequest",
    501: "NotImplemented",
    503: "ServiceUnavailable",
    504: "RequestTimeout",
}


def refusal(
    area: str,
    status: int,
    message: str,
    *,
    hint: str | None = None,
    code: str | None = None,
    headers: Headers | None = None,
) -> Response:
    """Give a refusal of an area (the first segment of its path). What is no Unicode in the message is marked."""
    message = message.encode(errors="replace").decode()
    body = msgspec.json.encode(_body(area, status, message, hint, code))
    return Response(status, [JSON, *(headers or [])], body)


def _body(area: str, status: int, message: str, hint: str | None, code: str | None) -> dict[str, object]:
    match area:
        case "rest":
            return {"code": code or str(status), "message": message, "details": None, "hint": hint}
        case "graphql":
            return {
                "data": None,
                "errors": [{"message": message}],
                **({"message": message} if status == 501 else {}),
            }
        case "auth":
            return {
                "code": status,
                "error_code": code or "unexpected_failure",
                "msg": message,
                "message": message,
            }
        case "storage":
            name = _STORAGE_NAMES.get(status, code or "InternalError")
            return {"statusCode": str(status), "error": name, "message": message}
        case "functions":
            return {"code": code or str(status), "message": message}
    return {"message": message, **({"hint": hint} if hint else {})}
