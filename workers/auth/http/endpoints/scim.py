"""SCIM 2.0: what the service tells of itself, for those who provision users. The users themselves are not served yet.

Off unless the settings want it. Source: reference page "auth", section 16.9; RFC 7643, 5 to 8; RFC 7644, 4.
"""

from collections.abc import Iterable

import orjson

from schemas.http import Response
from workers.auth.accounts.users.shown import Shown
from workers.auth.context import Accounts
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked

_JSON = ("content-type", "application/scim+json")
_CORE = "urn:ietf:params:scim:schemas:core:2.0:"
_LIST = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
_OFF = {"supported": False}


async def service_provider_config(accounts: Accounts, asked: Asked) -> Response:
    """Tell which parts of SCIM there are. Raises: AuthError (404)."""
    base = _base(accounts, asked)
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


async def resource_types(accounts: Accounts, asked: Asked) -> Response:
    """List the kinds of resources. Raises: AuthError (404)."""
    return _answer(_list(_resource_types(_base(accounts, asked))))


async def resource_type(accounts: Accounts, asked: Asked) -> Response:
    """Give one kind of resources. Raises: AuthError (404)."""
    return _answer(_one(_resource_types(_base(accounts, asked)), asked))


async def schemas(accounts: Accounts, asked: Asked) -> Response:
    """List the schemas of resources. Raises: AuthError (404)."""
    return _answer(_list(_schemas(_base(accounts, asked))))


async def schema(accounts: Accounts, asked: Asked) -> Response:
    """Give the schema of a kind of resources. Raises: AuthError (404)."""
    return _answer(_one(_schemas(_base(accounts, asked)), asked))


def _base(accounts: Accounts, asked: Asked) -> str:
    """Give the address of SCIM. Raises: AuthError (404) if it is off, (403) for a filter (RFC 7644, 4)."""
    if not accounts.settings.scim.enabled:
        raise rejections.SCIM_DISABLED()
    if asked.query("filter"):
        raise AuthError(Code.VALIDATION_FAILED, "These resources cannot be filtered", 403)
    return f"{accounts.settings.external_url.rstrip('/')}/scim/v2"


def _resource_types(base: str) -> list[Shown]:
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


def _schemas(base: str) -> list[Shown]:
    """Describe an account in the words of SCIM: what of them it has."""
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
) -> Shown:
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


def _meta(kind: str, location: str) -> Shown:
    return {"resourceType": kind, "location": location}


def _list(found: list[Shown]) -> Shown:
    return {
        "schemas": [_LIST],
        "totalResults": len(found),
        "itemsPerPage": len(found),
        "startIndex": 1,
        "Resources": found,
    }


def _one(found: Iterable[Shown], asked: Asked) -> Shown:
    for each in found:
        if each["id"] == asked.parameters["id"]:
            return each
    raise AuthError(Code.UNKNOWN, "There is no such resource", 404)


def _answer(body: Shown) -> Response:
    return Response(200, [_JSON, ("cache-control", "no-store")], orjson.dumps(body))
