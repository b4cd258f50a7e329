"""Facebook, and its limited login by ID token. Source: reference page "auth", section 26.1."""

import hashlib
import hmac
from urllib.parse import urlencode

from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.oidc import Signer
from workers.auth.federation.providers.profile import Document, joined, known, one_email, person, text
from workers.auth.federation.social.protocol import Grant, ProviderUser

ISSUER = "https://www.facebook.com"
SIGNERS = (Signer(ISSUER), Signer("https://limited.facebook.com"))
_WANTED = "email,first_name,last_name,name,picture"


def facebook(client: Client) -> OAuth2:
    """Make the provider."""
    host, graph = client.host("https://www.facebook.com"), client.host("https://graph.facebook.com")
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(
            authorize=f"{host}/dialog/oauth", token=f"{graph}/oauth/access_token", user=f"{graph}/me"
        ),
        scopes=("email",),
    )


def app_secret_proof(secret: str, access_token: str) -> str:
    """Show that a token is used by the application that it was given to."""
    return hmac.new(secret.encode(), access_token.encode(), hashlib.sha256).hexdigest()


def read_facebook(profile: Document) -> ProviderUser:
    """Read a user. Facebook gives an address only once it is confirmed."""
    alias, picture = text(profile, "name"), text(profile, "picture", "data", "url")
    first, last = text(profile, "first_name"), text(profile, "last_name")
    name = joined(first, last) or alias
    claims = known(
        iss=ISSUER,
        name=name,
        given_name=first,
        family_name=last,
        nickname=alias,
        picture=picture,
        full_name=name,
        avatar_url=picture,
        slug=alias,
    )
    return person(text(profile, "id"), one_email(text(profile, "email"), is_verified=True), claims)


def read_limited_login(claims: Document) -> ProviderUser:
    """Read the ID token of a limited login."""
    name, picture = text(claims, "name"), text(claims, "picture")
    shown = known(
        iss=text(claims, "iss"),
        name=name,
        given_name=text(claims, "given_name"),
        family_name=text(claims, "family_name"),
        picture=picture,
        full_name=name,
        avatar_url=picture,
    )
    return person(text(claims, "sub"), one_email(text(claims, "email"), is_verified=True), shown)


async def _user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    del fields
    proof = app_secret_proof(provider.client.secret.reveal(), grant.access_token)
    query = urlencode({"fields": _WANTED, "appsecret_proof": proof})
    profile = await provider.client.profile(f"{provider.endpoints.user}?{query}", grant.access_token)
    return read_facebook(profile)
