"""Google: OpenID Connect. Source: reference page "auth", section 26.1."""

from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.oidc import Signer
from workers.auth.federation.providers.profile import Document, flag, known, one_email, person, text
from workers.auth.federation.social.protocol import Grant, ProviderUser

ISSUER = "https://accounts.google.com"
SIGNERS = (Signer(ISSUER, aliases=("accounts.google.com",)),)


def google(client: Client) -> OAuth2:
    """Make the provider; it lives at one place only."""
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(user="https://www.googleapis.com/userinfo/v2/me"),
        scopes=("email", "profile"),
        uses_pkce=True,
        issuer=ISSUER,
        signers=SIGNERS,
    )


def read_google(document: Document) -> ProviderUser:
    """Read an ID token, or the older user document, which says `id` and `verified_email`."""
    subject = text(document, "sub") or text(document, "id")
    is_verified = flag(document, "email_verified") or flag(document, "verified_email")
    name, picture, domain = text(document, "name"), text(document, "picture"), text(document, "hd")
    claims = known(
        iss=text(document, "iss") or ISSUER,
        name=name,
        given_name=text(document, "given_name"),
        family_name=text(document, "family_name"),
        locale=text(document, "locale"),
        picture=picture,
        full_name=name,
        avatar_url=picture,
        custom_claims=known(hd=domain),
    )
    return person(subject, one_email(text(document, "email"), is_verified=is_verified), claims)


async def _user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    del fields
    if grant.id_token:
        return read_google(await provider.id_claims(grant.id_token, grant.access_token))
    return read_google(await provider.client.profile(provider.endpoints.user, grant.access_token))
