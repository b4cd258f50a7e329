"""Vercel's marketplace: OpenID Connect with claims of its own. Source: reference page "auth", section 26.2."""

from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.oidc import Signer
from workers.auth.federation.providers.profile import Document, known, one_email, person, text
from workers.auth.federation.social.protocol import Grant, ProviderUser

ISSUER = "https://marketplace.vercel.com"
SIGNERS = (Signer(ISSUER),)


def vercel_marketplace(client: Client) -> OAuth2:
    """Make the provider."""
    api = client.host("https://api.vercel.com")
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(authorize=f"{api}/oauth/v2/authorization", token=f"{api}/oauth/v2/accessToken"),
        signers=SIGNERS,
    )


def read_vercel(claims: Document) -> ProviderUser:
    """Read an ID token. Its subject is one of a user in a team; the user's own id, where told, is the same in all."""
    own, name, picture = (text(claims, each) for each in ("global_user_id", "user_name", "user_avatar_url"))
    subject = f"global_user_id:{own}" if own else text(claims, "sub")
    shown = known(iss=text(claims, "iss"), name=name, picture=picture, full_name=name, avatar_url=picture)
    return person(subject, one_email(text(claims, "user_email"), is_verified=True), shown)


async def _user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    del fields
    return read_vercel(await provider.id_claims(grant.id_token, grant.access_token))
