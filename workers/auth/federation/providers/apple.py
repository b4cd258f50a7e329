"""Apple: OpenID Connect whose callback is a form, and which tells the name once. Source: reference page "auth", 26.2.

The client secret is a JWT that the owner signs and puts into the settings.
"""

import msgspec

from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.oauth2 import Fields, OAuth2
from workers.auth.federation.providers.oidc import Signer
from workers.auth.federation.providers.profile import (
    Document,
    flag,
    joined,
    known,
    member,
    one_email,
    person,
    text,
)
from workers.auth.federation.social.protocol import Grant, ProviderUser

ISSUER = "https://appleid.apple.com"
SIGNERS = (Signer(ISSUER), Signer("https://account.apple.com"))
_CUSTOM = ("is_private_email", "auth_time", "transfer_sub")


def apple(client: Client) -> OAuth2:
    """Make the provider; it lives at one place only."""
    return OAuth2(
        client=client,
        read=_user,
        scopes=("email", "name"),
        uses_pkce=True,
        signers=SIGNERS,
        parameters={"response_mode": "form_post"},
    )


def read_apple(claims: Document, form: str = "") -> ProviderUser:
    """Read an ID token, and the form field `user` for the name: the browser brings it, so nothing else is believed."""
    given, family = names_of(form)
    name = joined(given, family)
    custom = {key: claims[key] for key in _CUSTOM if member(claims, key) is not None}
    if "is_private_email" in custom:
        custom["is_private_email"] = flag(claims, "is_private_email")
    shown = known(
        iss=text(claims, "iss"),
        name=name,
        given_name=given,
        family_name=family,
        full_name=name,
        custom_claims=custom,
    )
    is_verified = "email_verified" not in claims or flag(claims, "email_verified")
    emails = one_email(text(claims, "email"), is_verified=is_verified)
    return person(text(claims, "sub"), emails, shown)


def names_of(form: str) -> tuple[str, str]:
    """Read the given and the family name of the form field `user`, empty where it has none."""
    try:
        told = msgspec.json.decode(form) if form else {}
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        told = {}
    return text(told, "name", "firstName"), text(told, "name", "lastName")


async def _user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    claims = await provider.id_claims(grant.id_token, grant.access_token)
    return read_apple(claims, fields.get("user", ""))
