"""What a transaction is told of the request it serves, by whichever interface that came. Pure.

Policies and functions find role, claims, headers and cookies in the same settings everywhere.
Source: reference page "rest", section 4; reference page "graphql", section 1.
"""

import msgspec

from schemas.http import Headers, Request
from workers.database.catalog import Role
from workers.request_context.identity import Identity
from workers.sql.compose import quoted


def request_settings(
    request: Request, identity: Identity, role: Role, search_path: str
) -> list[tuple[str, str]]:
    """Give the settings in the order in which they are applied."""
    headers, cookies = _headers(request.headers)
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
    """Write the call of the function before every request, which the configuration names as `schema.name` or `name`."""
    return f"select {'.'.join(quoted(part) for part in name.split('.'))}()"


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
    """Split a header as browsers write it: an odd cookie stands beside the others, and values stay as they are."""
    parts = (part.strip().partition("=") for part in header.split(";"))
    return msgspec.json.encode({name: value for name, _, value in parts if name}).decode()
