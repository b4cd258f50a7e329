"""The two documents by which clients find everything. Pure.

Both hold the same: what OpenID Connect adds does no harm to a client that knows OAuth alone.
Source: reference page "auth", section 15; OpenID Connect Discovery, 3; RFC 8414, 2 and 3; RFC 9207, 3.
"""

from collections.abc import Sequence
from urllib.parse import urlsplit

from schemas.settings.auth import Auth
from workers.auth.accounts.users.shown import Shown
from workers.auth.federation.oauth_server.registration import GRANT_TYPES, METHODS, RESPONSE_TYPES
from workers.auth.federation.oauth_server.scopes import CLAIMS, SUPPORTED


def issuer_of(own: Auth) -> str:
    """Give who issues tokens."""
    return own.jwt_issuer or own.external_url


def document(own: Auth, algorithms: Sequence[str]) -> Shown:
    """Give what a client must know; `algorithms` are those of ID tokens."""
    base = own.external_url.rstrip("/")
    shown: Shown = {
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
        shown["registration_endpoint"] = f"{base}/oauth/clients/register"
    return shown


def is_of_issuer(own: Auth, path: str) -> bool:
    """Tell whether the part of an address behind `/.well-known/<name>/` is the path of who issues tokens (RFC 8414, 3.1)."""
    return path.strip("/") == urlsplit(issuer_of(own)).path.strip("/")
