"""The metadata documents of the server, for clients that configure themselves. Pure.

Both documents have the same content: an OAuth client ignores what OpenID Connect adds.
Source: docs/reference/auth.md, section 15; OpenID Connect Discovery, 3; RFC 8414, 2 and 3; RFC 9207, 3.
"""

from collections.abc import Sequence
from urllib.parse import urlsplit

from schemas.settings.auth import Auth
from workers.auth.federation.oauth_server.registration import GRANT_TYPES, METHODS, RESPONSE_TYPES
from workers.auth.federation.oauth_server.scopes import CLAIMS, SUPPORTED
from workers.auth.model.user_json import JsonObject


def issuer_of(own: Auth) -> str:
    """Return the issuer of tokens."""
    return own.jwt_issuer or own.external_url


def server_metadata(own: Auth, algorithms: Sequence[str]) -> JsonObject:
    """Return the metadata document; `algorithms` are those of ID tokens."""
    base = own.external_url.rstrip("/")
    members: JsonObject = {
        "issuer": issuer_of(own),
        "authorization_endpoint": f"{base}/oauth/authorize",
        "token_endpoint": f"{base}/oauth/token",
        "userinfo_endpoint": f"{base}/oauth/userinfo",
        "jwks_uri": f"{base}/.well-known/jwks.json",
        "scopes_supported": list(SUPPORTED),
        "response_types_supported": list(RESPONSE_TYPES),
        "response_modes_supported": ["query"],
        "grant_types_supported": list(GRANT_TYPES),
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": list(algorithms),
        "token_endpoint_auth_methods_supported": list(METHODS),
        "code_challenge_methods_supported": ["S256", "plain"],
        "claims_supported": list(CLAIMS),
        "authorization_response_iss_parameter_supported": True,
    }
    if own.oauth_server.allow_dynamic_registration:
        members["registration_endpoint"] = f"{base}/oauth/clients/register"
    return members


def is_of_issuer(own: Auth, path: str) -> bool:
    """Return whether the part of a URL behind `/.well-known/<name>/` is the path of the issuer (RFC 8414, 3.1)."""
    return path.strip("/") == urlsplit(issuer_of(own)).path.strip("/")
