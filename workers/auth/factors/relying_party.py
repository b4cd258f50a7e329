"""The relying party of WebAuthn: the id to which credentials are bound, and the origins whose pages may use them. Pure.

A credential is bound to the party's id, a host name; each use is signed together with the page's origin, which the browser
supplies. Sources: docs/reference/auth.md, section 10; WebAuthn Level 3, sections 5.8.1 and 7.1.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec

from schemas.settings.auth import Auth
from workers.auth.factors.webauthn_credentials import Unverified


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """This server towards authenticators: the id is a host name, pages of the origins may use its credentials."""

    id: str
    name: str
    origins: tuple[str, ...]


class _ClientData(msgspec.Struct):
    origin: str
    crossOrigin: bool = False


_decode = msgspec.json.Decoder(_ClientData).decode


def relying_party(settings: Auth) -> RelyingParty:
    """Return the relying party of the settings. By default its id is the host of the site URL."""
    site = urlsplit(settings.site_url)
    id = settings.webauthn.rp_id or site.hostname or ""
    origins = settings.webauthn.rp_origins or [f"{site.scheme}://{site.netloc}".lower()]
    return RelyingParty(
        id, settings.webauthn.rp_display_name or id, tuple(origin.rstrip("/") for origin in origins)
    )


def reject_foreign_page(party: RelyingParty, client_data: bytes) -> None:
    """Raise if a credential was created or used on a page of another origin. Raises: Unverified."""
    try:
        data = _decode(client_data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Unverified("the client data are malformed") from None
    if data.origin not in party.origins:
        raise Unverified("the page's origin is not among auth.webauthn.rp_origins")
    if data.crossOrigin:
        raise Unverified("the page was framed by one of another origin")
