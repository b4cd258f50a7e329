"""API keys (pure): the legacy keys are JWTs signed with the platform's secret, the new ones are opaque strings.

With the development secret the legacy keys equal those of the official local stack byte for byte.
"""

import base64
import hashlib
import secrets
from dataclasses import dataclass, field

from schemas.keys.legacy_keys import EXPIRES as EXPIRES
from schemas.keys.legacy_keys import ISSUER as ISSUER
from schemas.keys.legacy_keys import legacy_key as legacy_key
from schemas.settings.tree import Auth


@dataclass(frozen=True, slots=True, repr=False)
class ApiKeys:
    """The keys of one platform, as texts."""

    jwt_secret: str = field(repr=False)
    anon_key: str
    service_role_key: str = field(repr=False)
    publishable_key: str
    secret_key: str = field(repr=False)


def keys_of(auth: Auth) -> ApiKeys:
    """Return the keys of the settings; a legacy key that is not set is signed with the JWT secret."""
    secret = auth.jwt_secret.reveal()
    return ApiKeys(
        jwt_secret=secret,
        anon_key=auth.anon_key.reveal() if auth.anon_key else legacy_key(secret, "anon"),
        service_role_key=auth.service_role_key.reveal()
        if auth.service_role_key
        else legacy_key(secret, "service_role"),
        publishable_key=auth.publishable_key.reveal(),
        secret_key=auth.secret_key.reveal(),
    )


def random_keys() -> ApiKeys:
    """Generate random keys and sign the legacy keys."""
    secret = secrets.token_urlsafe(36)
    return ApiKeys(
        jwt_secret=secret,
        anon_key=legacy_key(secret, "anon"),
        service_role_key=legacy_key(secret, "service_role"),
        publishable_key=_opaque_key("sb_publishable_"),
        secret_key=_opaque_key("sb_secret_"),
    )


def _opaque_key(prefix: str) -> str:
    """Generate a key in the official format: 22 random characters and an 8-character checksum for leak scanners."""
    body = prefix + _base64url(secrets.token_bytes(16))
    return f"{body}_{_base64url(hashlib.sha256(body.encode()).digest()[:6])}"


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
