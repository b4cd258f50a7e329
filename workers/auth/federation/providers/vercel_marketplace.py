"""Vercel's marketplace: OpenID Connect with claims in its own format. Source: docs/reference/auth.md, section 26.2."""

from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.oidc import IdTokenSigner
from workers.auth.federation.providers.profile import Document, make_user, nonempty, single_email, text
from workers.auth.federation.social.protocol import ProviderTokenResponse, ProviderUser

ISSUER = "https://marketplace.vercel.com"
SIGNERS = (IdTokenSigner(ISSUER),)


def vercel_marketplace(client: ProviderClient) -> OAuth2:
    """Return the provider."""
    api = client.host("https://api.vercel.com")
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(authorize=f"{api}/oauth/v2/authorization", token=f"{api}/oauth/v2/accessToken"),
        signers=SIGNERS,
    )


def read_vercel(claims: Document) -> ProviderUser:
    """Read an ID token. Its subject identifies a user within one team; `global_user_id`, if present, is the same in all teams."""
    global_id, name, picture = (
        text(claims, claim) for claim in ("global_user_id", "user_name", "user_avatar_url")
    )
    subject = f"global_user_id:{global_id}" if global_id else text(claims, "sub")
    user_claims = nonempty(
        iss=text(claims, "iss"), name=name, picture=picture, full_name=name, avatar_url=picture
    )
    return make_user(subject, single_email(text(claims, "user_email"), is_verified=True), user_claims)


async def _user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
    return read_vercel(await provider.id_claims(tokens.id_token, tokens.access_token))
