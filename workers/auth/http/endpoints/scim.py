"""SCIM 2.0: the discovery endpoints for clients that provision users. The users themselves are not served yet.

Disabled by default. Source: docs/reference/auth.md, section 16.9; RFC 7643, 5 to 8; RFC 7644, 4.
"""

from collections.abc import Iterable

import orjson

from schemas.http import Response
from workers.auth.http.caller import require_admin
from workers.auth.http.context import EndpointContext
from workers.auth.model import rejections
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.request import AuthRequest
from workers.auth.model.user_json import JsonObject

_JSON = ("content-type", "application/scim+json")
_CORE = "urn:ietf:params:scim:schemas:core:2.0:"
_LIST = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
_OFF = {"supported": False}


async def service_provider_config(context: EndpointContext, request: AuthRequest) -> Response:
    """Return the supported features of SCIM. Raises: AuthError (404)."""
    base = await _base(context, request)
    return _answer(
        {
            "schemas": [f"{_CORE}ServiceProviderConfig"],
            "patch": _OFF,
            "bulk": {**_OFF, "maxOperations": 0, "maxPayloadSize": 0},
            "filter": {**_OFF, "maxResults": 0},
            "changePassword": _OFF,
            "sort": _OFF,
            "etag": _OFF,
            "authenticationSchemes": [
                {
                    "type": "oauthbearertoken",
                    "name": "OAuth Bearer Token",
                    "description": "A bearer token in the header Authorization",
                    "specUri": "https://www.rfc-editor.org/rfc/rfc6750",
                    "primary": True,
                }
            ],
            "meta": _meta("ServiceProviderConfig", f"{base}/ServiceProviderConfig"),
        }
    )


async def resource_types(context: EndpointContext, request: AuthRequest) -> Response:
    """Return the resource types. Raises: AuthError (404)."""
    return _answer(_list(_resource_types(await _base(context, request))))


async def resource_type(context: EndpointContext, request: AuthRequest) -> Response:
    """Return one resource type. Raises: AuthError (404)."""
    return _answer(_one(_resource_types(await _base(context, request)), request))


async def schemas(context: EndpointContext, request: AuthRequest) -> Response:
    """Return the schemas of resources. Raises: AuthError (404)."""
    return _answer(_list(_schemas(await _base(context, request))))


async def schema(context: EndpointContext, request: AuthRequest) -> Response:
    """Return the schema of a resource type. Raises: AuthError (404)."""
    return _answer(_one(_schemas(await _base(context, request)), request))


async def _base(context: EndpointContext, request: AuthRequest) -> str:
    """Return the base URL of SCIM.

    Raises: AuthError (404) if it is disabled, (401, 403) for a caller without the rights of an administrator, (403) for a filter (RFC 7644, 4).
    """
    if not context.settings.scim.enabled:
        raise rejections.SCIM_DISABLED()
    await require_admin(context, request)
    if request.query("filter"):
        raise AuthError(ErrorCode.VALIDATION_FAILED, "These resources cannot be filtered", 403)
    return f"{context.settings.external_url.rstrip('/')}/scim/v2"


def _resource_types(base: str) -> list[JsonObject]:
    return [
        {
            "schemas": [f"{_CORE}ResourceType"],
            "id": "User",
            "name": "User",
            "endpoint": "/Users",
            "description": "An account",
            "schema": f"{_CORE}User",
            "schemaExtensions": [],
            "meta": _meta("ResourceType", f"{base}/ResourceTypes/User"),
        }
    ]


def _schemas(base: str) -> list[JsonObject]:
    """Return the SCIM schema of an account, with the attributes that accounts have."""
    email = (
        _attribute("value", "The address"),
        _attribute("primary", "Whether it is the account's own", kind="boolean"),
    )
    attributes = (
        _attribute("userName", "What names the user for good", required=True, uniqueness="server"),
        _attribute("displayName", "The full name"),
        _attribute("active", "Whether the account may be used", kind="boolean"),
        {**_attribute("emails", "E-mail addresses", kind="complex", many=True), "subAttributes": email},
    )
    return [
        {
            "schemas": [f"{_CORE}Schema"],
            "id": f"{_CORE}User",
            "name": "User",
            "description": "An account",
            "attributes": attributes,
            "meta": _meta("Schema", f"{base}/Schemas/{_CORE}User"),
        }
    ]


def _attribute(
    name: str,
    description: str,
    *,
    kind: str = "string",
    required: bool = False,
    many: bool = False,
    uniqueness: str = "none",
) -> JsonObject:
    return {
        "name": name,
        "type": kind,
        "multiValued": many,
        "description": description,
        "required": required,
        "caseExact": False,
        "mutability": "readWrite",
        "returned": "default",
        "uniqueness": uniqueness,
    }


def _meta(kind: str, location: str) -> JsonObject:
    return {"resourceType": kind, "location": location}


def _list(found: list[JsonObject]) -> JsonObject:
    return {
        "schemas": [_LIST],
        "totalResults": len(found),
        "itemsPerPage": len(found),
        "startIndex": 1,
        "Resources": found,
    }


def _one(found: Iterable[JsonObject], request: AuthRequest) -> JsonObject:
    for resource in found:
        if resource["id"] == request.parameters["id"]:
            return resource
    raise AuthError(ErrorCode.UNKNOWN, "There is no such resource", 404)


def _answer(body: JsonObject) -> Response:
    return Response(200, [_JSON, ("cache-control", "no-store")], orjson.dumps(body))
