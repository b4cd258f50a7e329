"""The relying party of WebAuthn: the id to which credentials are bound, and the origins whose pages may use them. Pure.

A credential is bound to the party's id, a host name; each use is signed together with the page's origin, which the browser
supplies. Source: WebAuthn Level 3, sections 5.8.1 and 7.1.
"""

from dataclasses import dataclass, field

import msgspec

from workers.credentials.webauthn_credentials import Unverified


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """This server towards authenticators: the id is a host name, pages of the origins may use its credentials."""

    id: str
    name: str
    origins: tuple[str, ...]
    origins_setting: str = field(default="the origins of this server", compare=False)
    """Where the origins come from, for errors."""


class _ClientData(msgspec.Struct):
    origin: str
    crossOrigin: bool = False


_decode = msgspec.json.Decoder(_ClientData).decode


def reject_foreign_page(party: RelyingParty, client_data: bytes) -> None:
    """Raise if a credential was created or used on a page of another origin. Raises: Unverified."""
    try:
        data = _decode(client_data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Unverified("the client data are malformed") from None
    if data.origin not in party.origins:
        raise Unverified(f"the page's origin is not among {party.origins_setting}")
    if data.crossOrigin:
        raise Unverified("the page was framed by one of another origin")
