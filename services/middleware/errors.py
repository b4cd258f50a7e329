"""Error responses of the gateway itself, in the format of each area."""

import msgspec

from schemas.auth_api_version import VERSION_HEADER, ApiVersion
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


_AUTH_CODES = {
    400: "validation_failed",
    401: "no_authorization",
    405: "unknown",
    408: "request_timeout",
    413: "request_entity_too_large",
    414: "validation_failed",
    429: "over_request_rate_limit",
    431: "validation_failed",
    501: "feature_disabled",
    504: "request_timeout",
}
"""The code that auth has for an error of this status; `unexpected_failure` for others (docs/reference/auth.md, section 23)."""
_CHALLENGE = ("www-authenticate", "Bearer")


def error_response(
    area: str,
    status: int,
    message: str,
    *,
    hint: str | None = None,
    code: str | None = None,
    headers: Headers | None = None,
    outcome: str = "",
    version: ApiVersion = ApiVersion.FIRST,
    request_id: str = "",
) -> Response:
    """Return an error response of an area (the first segment of its path). Invalid Unicode in the message is marked.

    `outcome` is set where the request may have been carried out all the same. `version` and `request_id` count for auth.
    A 401 has a challenge (RFC 9110, 11.6.1).
    """
    message = message.encode(errors="replace").decode()
    head = [JSON, *([_CHALLENGE] if status == 401 else []), *(headers or [])]
    if area == "auth":
        name = code or _AUTH_CODES.get(status, "unexpected_failure")
        body = _auth_body(status, name, message, hint, version, request_id)
        head.append(("x-sb-error-code", name))
        if version is not ApiVersion.FIRST:
            head.append((VERSION_HEADER, version.value))
    else:
        body = _body(area, status, message, hint, code)
    return Response(status, head, msgspec.json.encode(body | ({"outcome": outcome} if outcome else {})))


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
        case "storage":
            name, stable = _STORAGE_NAMES.get(status, (code or "InternalError", code or "InternalError"))
            return {"statusCode": str(status), "error": name, "message": message, "code": stable}
        case "pg":
            return {"error": message, **({"hint": hint} if hint else {})}
        case "functions":
            return {"code": code or str(status), "message": message}
    return {"message": message, **({"hint": hint} if hint else {})}


def _auth_body(
    status: int, code: str, message: str, hint: str | None, version: ApiVersion, request_id: str
) -> dict[str, object]:
    """Return the body as auth writes it (docs/reference/auth.md, section 1.2), with the members of a missing key's error."""
    if version is not ApiVersion.FIRST:
        body: dict[str, object] = {"code": code, "message": message}
    else:
        body = {"code": status, "error_code": code, "msg": message}
    if version is ApiVersion.FIRST and status >= 500 and request_id:
        body["error_id"] = request_id
    return body | ({"message": message, "hint": hint} if hint else {})
