"""Transaction settings that describe the request, the same for every interface. Pure.

Policies and functions read role, claims, headers and cookies from these settings.
Source: docs/reference/rest.md, section 4; docs/reference/graphql.md, section 1.
"""

import msgspec

from schemas.http import Headers, Request, derived
from workers.database.schema_cache.catalog import Role
from workers.request_context.identity import RequestIdentity
from workers.sql.compose import quoted


def request_settings(
    request: Request, identity: RequestIdentity, role: Role, search_path: str
) -> list[tuple[str, str]]:
    """Return the settings in the order in which they are applied."""
    headers, cookies = derived(request.headers, _headers)
    return [
        ("search_path", search_path),
        *role.settings,
        ("role", identity.role),
        ("request.jwt.claims", identity.claims),
        ("request.method", request.method),
        ("request.path", request.path),
        ("request.headers", headers),
        ("request.cookies", cookies),
    ]


def pre_request_call(name: str) -> str:
    """Return the call of the pre-request function, which the configuration names as `schema.name` or `name`."""
    return f"select {'.'.join(quoted(part) for part in name.split('.'))}()"


def _headers(headers: Headers) -> tuple[str, str]:
    """Return `request.headers` and `request.cookies` as JSON objects."""
    by_name: dict[str, str] = {}
    cookies = "{}"
    for name, value in headers:
        if name == "cookie":
            cookies = _cookies(value)
        else:
            by_name[name] = f"{by_name[name]}, {value}" if name in by_name else value
    return msgspec.json.encode(by_name).decode(), cookies


def _cookies(header: str) -> str:
    """Parse a cookie header as browsers write it: a malformed cookie does not affect the others, values are not decoded."""
    parts = (part.strip().partition("=") for part in header.split(";"))
    return msgspec.json.encode({name: value for name, _, value in parts if name}).decode()
