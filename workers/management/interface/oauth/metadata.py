"""What clients learn before they sign in: who protects `/mcp` (RFC 9728), and how to ask it (RFC 8414). Pure."""

from typing import Any

RESOURCE_METADATA = "/.well-known/oauth-protected-resource"
SERVER_METADATA = "/.well-known/oauth-authorization-server/management/v1/oauth"
_MCP = "/mcp"
_ISSUER = "/management/v1/oauth"
METADATA_PATHS = frozenset(
    {
        RESOURCE_METADATA,
        RESOURCE_METADATA + _MCP,
        SERVER_METADATA,
        "/oauth/.well-known/oauth-authorization-server",
        "/oauth/.well-known/openid-configuration",
    }
)
"""The last two are below the issuer, where clients look that find none at the root of the host."""


def resource_of(public_url: str) -> str:
    """Return the address to which tokens are bound."""
    return public_url + _MCP


def issuer_of(public_url: str) -> str:
    """Return the name of the authorization server."""
    return public_url + _ISSUER


def challenge(public_url: str, *, has_token: bool) -> str:
    """Return `WWW-Authenticate` of a request to `/mcp` without a valid token."""
    error = 'error="invalid_token", ' if has_token else ""
    return f'Bearer {error}resource_metadata="{public_url}{RESOURCE_METADATA}{_MCP}"'


def metadata(path: str, public_url: str) -> dict[str, Any]:
    """Return the document at one of `METADATA_PATHS`."""
    if path.startswith(RESOURCE_METADATA):
        return {
            "resource": resource_of(public_url),
            "authorization_servers": [issuer_of(public_url)],
            "bearer_methods_supported": ["header"],
            "resource_name": "Headwater",
        }
    issuer = issuer_of(public_url)
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        "registration_endpoint": f"{issuer}/register",
        "revocation_endpoint": f"{issuer}/revoke",
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": True,
        "client_id_metadata_document_supported": True,
    }
