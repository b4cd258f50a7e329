"""Apple: OpenID Connect with a form as callback, which has the user's name only at the first sign-in. Source: docs/reference/auth.md, section 26.2.

The client secret is a JWT that the project's owner signs and sets.
"""

import msgspec

from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.oauth2 import Fields, OAuth2
from workers.auth.federation.providers.oidc import IdTokenSigner
from workers.auth.federation.providers.profile import (
    Document,
    flag,
    join_names,
    make_user,
    member,
    nonempty,
    single_email,
    text,
)
from workers.auth.federation.social.protocol import ProviderTokenResponse, ProviderUser

ISSUER = "https://appleid.apple.com"
SIGNERS = (IdTokenSigner(ISSUER), IdTokenSigner("https://account.apple.com"))
_CUSTOM = ("is_private_email", "auth_time", "transfer_sub")


def apple(client: ProviderClient) -> OAuth2:
    """Return the provider; its URLs are fixed."""
    return OAuth2(
        client=client,
        read=_user,
        scopes=("email", "name"),
        uses_pkce=True,
        signers=SIGNERS,
        parameters={"response_mode": "form_post"},
    )


def read_apple(claims: Document, form: str = "") -> ProviderUser:
    """Read an ID token, and the name from the form field `user`. The browser can forge the field, so nothing else is read from it."""
    given_name, family_name = names_of(form)
    name = join_names(given_name, family_name)
    custom = {key: claims[key] for key in _CUSTOM if member(claims, key) is not None}
    if "is_private_email" in custom:
        custom["is_private_email"] = flag(claims, "is_private_email")
    user_claims = nonempty(
        iss=text(claims, "iss"),
        name=name,
        given_name=given_name,
        family_name=family_name,
        full_name=name,
        custom_claims=custom,
    )
    is_verified = "email_verified" not in claims or flag(claims, "email_verified")
    emails = single_email(text(claims, "email"), is_verified=is_verified)
    return make_user(text(claims, "sub"), emails, user_claims)


def names_of(form: str) -> tuple[str, str]:
    """Read the given and the family name of the form field `user`, empty without them."""
    try:
        names = msgspec.json.decode(form) if form else {}
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        names = {}
    return text(names, "name", "firstName"), text(names, "name", "lastName")


async def _user(provider: OAuth2, tokens: ProviderTokenResponse, fields: Fields) -> ProviderUser:
    claims = await provider.id_claims(tokens.id_token, tokens.access_token)
    return read_apple(claims, fields.get("user", ""))
