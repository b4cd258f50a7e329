"""This project towards authenticators, as the settings of auth describe it. Pure.

Source: docs/reference/auth.md, section 10.
"""

from urllib.parse import urlsplit

from schemas.settings.auth import Auth
from workers.auth.model.rows import AuthUser
from workers.credentials.relying_party import RelyingParty
from workers.credentials.webauthn_credentials import CredentialOwner
from workers.credentials.webauthn_rules import user_handle

_MAX_NAME = 64


def relying_party(settings: Auth) -> RelyingParty:
    """Return the relying party of the settings. By default its id is the host of the site URL."""
    site = urlsplit(settings.site_url)
    id = settings.webauthn.rp_id or site.hostname or ""
    origins = settings.webauthn.rp_origins or [f"{site.scheme}://{site.netloc}".lower()]
    return RelyingParty(
        id,
        settings.webauthn.rp_display_name or id,
        tuple(origin.rstrip("/") for origin in origins),
        "auth.webauthn.rp_origins",
    )


def credential_owner(user: AuthUser) -> CredentialOwner:
    """Return a user as authenticators show and remember them."""
    name = user.email or user.phone or str(user.id)
    return CredentialOwner(user_handle(user.id), name, _full_name(user) or name)


def _full_name(user: AuthUser) -> str:
    metadata = user.raw_user_meta_data or {}
    for name in ("full_name", "name"):
        value = metadata.get(name)
        if isinstance(value, str) and value:
            return value[:_MAX_NAME]
    return ""
