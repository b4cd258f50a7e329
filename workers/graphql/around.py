"""What a transaction is told of its request: role, claims, search path, headers. Pure.

The same as in the REST area, so that policies and functions find what they look for whichever way a request came.
Source: reference page "graphql", section 1; reference page "rest", section 4.
"""

from collections.abc import Container
from http.cookies import CookieError, SimpleCookie

import msgspec

from schemas.http import Headers, Request
from schemas.settings import Api
from workers.database.catalog import Role
from workers.database.session import Statement
from workers.graphql.execute import Around
from workers.rest.identity import Identity
from workers.sql.compose import quoted


def around(
    request: Request, identity: Identity, role: Role, api: Api, known_missing: Container[str] = ()
) -> Around:
    """Give the transaction of a request."""
    schema = api.schemas[0] if api.schemas else "public"
    path = dict.fromkeys((schema, *api.extra_search_path))
    headers, cookies = _headers(request.headers)
    settings = [
        ("search_path", ", ".join(quoted(name) for name in path)),
        *role.settings,
        ("role", identity.role),
        ("request.jwt.claims", identity.claims),
        ("request.method", request.method),
        ("request.path", request.path),
        ("request.headers", headers),
        ("request.cookies", cookies),
        *api.app_settings.items(),
    ]
    before = [Statement(f"select {_call(api.pre_request)}")] if api.pre_request else []
    return Around(settings, role.isolation, before, known_missing)


def _call(name: str) -> str:
    """Write the call of a function that the configuration names, as `schema.name` or `name`."""
    return ".".join(quoted(part) for part in name.split(".")) + "()"


def _headers(headers: Headers) -> tuple[str, str]:
    """Give `request.headers` and `request.cookies` as JSON objects."""
    told: dict[str, str] = {}
    cookies = "{}"
    for name, value in headers:
        if name == "cookie":
            cookies = _cookies(value)
        else:
            told[name] = f"{told[name]}, {value}" if name in told else value
    return msgspec.json.encode(told).decode(), cookies


def _cookies(header: str) -> str:
    try:
        jar = SimpleCookie(header)
    except CookieError:
        return "{}"
    return msgspec.json.encode({name: morsel.value for name, morsel in jar.items()}).decode()
