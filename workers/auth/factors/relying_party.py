"""Who we are to authenticators, and whose pages may use our credentials. Pure.

A credential is bound to the party's id, a host; its use is signed together with the page's origin, which the browser
tells. Source: reference page "auth", section 10; WebAuthn Level 3, 5.8.1 and 7.1.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec

from schemas.settings.auth import Auth
from workers.auth.factors.webauthn_credentials import Unverified


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """Who we are to authenticators: credentials are bound to the id, a host; pages of the origins may use them."""

    id: str
    name: str
    origins: tuple[str, ...]


class _ClientData(msgspec.Struct):
    origin: str
    crossOrigin: bool = False


_decode = msgspec.json.Decoder(_ClientData).decode


def relying_party(own: Auth) -> RelyingParty:
    """Give who we are by the settings; where they are silent, the site's own address says it."""
    site = urlsplit(own.site_url)
    id = own.webauthn.rp_id or site.hostname or ""
    origins = own.webauthn.rp_origins or [f"{site.scheme}://{site.netloc}".lower()]
    return RelyingParty(id, own.webauthn.rp_display_name or id, tuple(each.rstrip("/") for each in origins))


def refuse_foreign_page(party: RelyingParty, client_data: bytes) -> None:
    """Raise if a credential was made or used on a page that is not ours. Raises: Unverified."""
    try:
        told = _decode(client_data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Unverified("the client data are malformed") from None
    if told.origin not in party.origins:
        raise Unverified("the page's origin is not among auth.webauthn.rp_origins")
    if told.crossOrigin:
        raise Unverified("the page was framed by one of another origin")
