"""Error responses of the gateway itself, in the format of each area."""

import msgspec

from schemas.http import Headers, Response

JSON = ("content-type", "application/json; charset=utf-8")

_STORAGE_NAMES = {
    400: ("InvalidRequest", "InvalidRequest"),
    401: ("Unauthorized", "AccessDenied"),
    404: ("not_found", "NoSuchKey"),
    408: ("RequestTimeout", "RequestTimeout"),
    413: ("Payload too large", "EntityTooLarge"),
    414: ("InvalidRequest", "InvalidRequest"),
    429: ("too_many_requests", "SlowDown"),
    431: ("InvalidRequest", "InvalidRequest"),
    500: ("Internal", "InternalError"),
    501: ("NotImplemented", "NotImplemented"),
    503: ("ServiceUnavailable", "ServiceUnavailable"),
    504: ("RequestTimeout", "RequestTimeout"),
    507: ("InsufficientStorage", "InsufficientStorage"),
}
"""The names of errors in storage: the older one for people, the stable code for programs (docs/reference/storage.md, section 3)."""


def error_response(
    area: str,
    status: int,
    message: str,
    *,
    hint: str | None = None,
    code: str | None = None,
    headers: Headers | None = None,
    outcome: str = "",
) -> Response:
    """Return an error response of an area (the first segment of its path). Invalid Unicode in the message is marked.

    `outcome` is set where the request may have been carried out all the same.
    """
    message = message.encode(errors="replace").decode()
    body = _body(area, status, message, hint, code) | ({"outcome": outcome} if outcome else {})
    return Response(status, [JSON, *(headers or [])], msgspec.json.encode(body))


def versioning_disabled() -> Response:
    """Refuse to read a version of an object by its id: storage keeps none but the present one."""
    body = {
        "statusCode": "409",
        "error": "FeatureNotEnabled",
        "message": "The feature versioning is not enabled for this resource",
        "code": "FeatureNotEnabled",
    }
    return Response(400, [JSON], msgspec.json.encode(body))


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
            name, stable = _STORAGE_NAMES.get(status, (code or "InternalError", code or "InternalError"))
            return {"statusCode": str(status), "error": name, "message": message, "code": stable}
        case "functions":
            return {"code": code or str(status), "message": message}
    return {"message": message, **({"hint": hint} if hint else {})}
