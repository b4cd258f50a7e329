"""Legacy API keys (pure): long-lived JWTs of the API roles, signed with the platform's secret."""

import base64
import hmac
import json

ISSUER = "supabase-demo"
EXPIRES = 1983812996
"""Second of expiry of the legacy keys: the one of the official local stack, in November 2032."""


def legacy_key(secret: str, role: str) -> str:
    """Sign the long-lived JWT (HS256) of an API role. Source: RFC 7515, 3.1."""
    header = _encoded({"alg": "HS256", "typ": "JWT"})
    payload = _encoded({"iss": ISSUER, "role": role, "exp": EXPIRES})
    signature = hmac.digest(secret.encode(), f"{header}.{payload}".encode(), "sha256")
    return f"{header}.{payload}.{_base64url(signature)}"


def _encoded(part: dict[str, object]) -> str:
    return _base64url(json.dumps(part, separators=(",", ":")).encode())


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
