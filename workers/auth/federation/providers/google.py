"""Google: OpenID Connect. Source: docs/reference/auth.md, section 26.1."""

from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.oidc import IdTokenSigner
from workers.auth.federation.providers.profile import Document, flag, make_user, nonempty, single_email, text
from workers.auth.federation.social.protocol import ProviderTokenResponse, ProviderUser

ISSUER = "https://accounts.google.com"
SIGNERS = (IdTokenSigner(ISSUER, aliases=("accounts.google.com",)),)


def google(client: ProviderClient) -> OAuth2:
    """Return the provider; its URLs are fixed."""
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
    """Read an ID token, or the older user document, which has `id` and `verified_email`."""
    subject = text(document, "sub") or text(document, "id")
    is_verified = flag(document, "email_verified") or flag(document, "verified_email")
    name, picture, domain = text(document, "name"), text(document, "picture"), text(document, "hd")
    claims = nonempty(
        iss=text(document, "iss") or ISSUER,
        name=name,
        given_name=text(document, "given_name"),
        family_name=text(document, "family_name"),
        locale=text(document, "locale"),
        picture=picture,
        full_name=name,
        avatar_url=picture,
        custom_claims=nonempty(hd=domain),
    )
    return make_user(subject, single_email(text(document, "email"), is_verified=is_verified), claims)


async def _user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
    if tokens.id_token:
        return read_google(await provider.id_claims(tokens.id_token, tokens.access_token))
    return read_google(await provider.client.profile(provider.endpoints.user, tokens.access_token))
