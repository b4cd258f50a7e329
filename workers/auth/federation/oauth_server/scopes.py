"""Scopes: the supported ones, and the claims of a user that each gives to a client. Pure.

Source: docs/reference/auth.md, section 15; RFC 6749, 3.3; OpenID Connect Core, 5.4.
"""

from collections.abc import Iterable

from workers.auth.model.rows import AuthUser
from workers.auth.model.user_json import JsonObject

OPENID = "openid"
SUPPORTED = (OPENID, "profile", "email", "phone", "offline_access")
"""Every scope that a client may request."""

CLAIMS = (
    "sub", "aud", "iss", "exp", "iat", "auth_time", "nonce", "email", "email_verified", "phone", "phone_verified",
    "name", "picture", "preferred_username", "updated_at", "user_metadata",
)  # fmt: skip
"""The claims of ID tokens and of the userinfo endpoint."""

_PROFILE = {
    "name": ("full_name", "name"),
    "picture": ("avatar_url", "picture"),
    "preferred_username": ("user_name", "preferred_username"),
}
"""Claim -> the keys of the user's metadata that hold it; the first one that is set."""


class BadScope(ValueError):
    """A scope that does not exist, or was not granted. The text is for the client."""


def parse_scopes(text: str, usual: str = "") -> tuple[str, ...]:
    """Parse scopes separated by blanks, without duplicates; an empty text means `usual`.

    Raises: BadScope for one that does not exist.
    """
    requested = tuple(dict.fromkeys(text.split() or usual.split()))
    unknown = [scope for scope in requested if scope not in SUPPORTED]
    if unknown:
        raise BadScope(f"unsupported scope: {unknown[0][:100]}")
    return requested


def narrow(granted: str | None, text: str) -> str:
    """Return the scopes of a refreshed token: those of the session, or the subset that the client requests.

    Raises: BadScope for one that the session does not have.
    """
    session_scopes = (granted or "").split()
    requested = list(dict.fromkeys(text.split())) or session_scopes
    if not covers(session_scopes, requested):
        raise BadScope("the scope exceeds what the user granted")
    return " ".join(requested)


def covers(granted: Iterable[str], requested: Iterable[str]) -> bool:
    """Return whether all requested scopes were granted."""
    return set(requested) <= set(granted)


def claims_of(user: AuthUser, scopes: Iterable[str]) -> JsonObject:
    """Return the claims of a user that the scopes give to a client, without empty ones."""
    allowed, claims = set(scopes), JsonObject()
    if "email" in allowed and user.email:
        claims |= {"email": user.email, "email_verified": user.email_confirmed_at is not None}
    if "phone" in allowed and user.phone:
        claims |= {"phone": user.phone, "phone_verified": user.phone_confirmed_at is not None}
    if "profile" in allowed:
        claims |= _profile(user)
    return claims


def _profile(user: AuthUser) -> JsonObject:
    metadata = user.raw_user_meta_data or {}
    profile: JsonObject = {}
    for claim, keys in _PROFILE.items():
        values = [value for key in keys if isinstance(value := metadata.get(key), str) and value]
        if values:
            profile[claim] = values[0]
    if user.updated_at is not None:
        profile["updated_at"] = int(user.updated_at.timestamp())
    profile["user_metadata"] = metadata
    return profile
