"""Scopes: which there are, and what each lets a client know of a user. Pure.

Source: reference page "auth", section 15; RFC 6749, 3.3; OpenID Connect Core, 5.4.
"""

from collections.abc import Iterable

from workers.auth.accounts.users.shown import Shown
from workers.auth.model.rows import User

OPENID = "openid"
SUPPORTED = (OPENID, "profile", "email", "phone", "offline_access")
"""Every scope that a client may ask for."""

CLAIMS = (
    "sub", "aud", "iss", "exp", "iat", "auth_time", "nonce", "email", "email_verified", "phone", "phone_verified",
    "name", "picture", "preferred_username", "updated_at", "user_metadata",
)  # fmt: skip
"""What tokens and the user info tell."""

_PROFILE = {
    "name": ("full_name", "name"),
    "picture": ("avatar_url", "picture"),
    "preferred_username": ("user_name", "preferred_username"),
}
"""Claim -> the keys of the user's metadata that hold it, the first that is there wins."""


class BadScope(ValueError):
    """A scope that does not exist, or that was not granted; the words are for the client."""


def parse_scopes(text: str, usual: str = "") -> tuple[str, ...]:
    """Read scopes that stand between blanks, each once; nothing is what is usual.

    Raises: BadScope for one that does not exist.
    """
    wanted = tuple(dict.fromkeys(text.split() or usual.split()))
    unknown = [each for each in wanted if each not in SUPPORTED]
    if unknown:
        raise BadScope(f"unsupported scope: {unknown[0][:100]}")
    return wanted


def narrowed(granted: str | None, text: str) -> str:
    """Give the scopes of a refresh: those of the session, or fewer of them if the client asks for fewer.

    Raises: BadScope for one that the session does not have.
    """
    own = (granted or "").split()
    wanted = list(dict.fromkeys(text.split())) or own
    if not covers(own, wanted):
        raise BadScope("the scope exceeds what the user granted")
    return " ".join(wanted)


def covers(granted: Iterable[str], wanted: Iterable[str]) -> bool:
    """Tell whether all scopes that are wanted were granted."""
    return set(wanted) <= set(granted)


def claims_of(user: User, scopes: Iterable[str]) -> Shown:
    """Give what a client may know of a user by its scopes; what the user has not is left out."""
    allowed, claims = set(scopes), Shown()
    if "email" in allowed and user.email:
        claims |= {"email": user.email, "email_verified": user.email_confirmed_at is not None}
    if "phone" in allowed and user.phone:
        claims |= {"phone": user.phone, "phone_verified": user.phone_confirmed_at is not None}
    if "profile" in allowed:
        claims |= _profile(user)
    return claims


def _profile(user: User) -> Shown:
    metadata = user.raw_user_meta_data or {}
    profile: Shown = {}
    for claim, keys in _PROFILE.items():
        found = [value for key in keys if isinstance(value := metadata.get(key), str) and value]
        if found:
            profile[claim] = found[0]
    if user.updated_at is not None:
        profile["updated_at"] = int(user.updated_at.timestamp())
    profile["user_metadata"] = metadata
    return profile
