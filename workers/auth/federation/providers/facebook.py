"""Facebook, and its limited login by ID token. Source: docs/reference/auth.md, section 26.1."""

import hashlib
import hmac
from urllib.parse import urlencode

from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.oidc import IdTokenSigner
from workers.auth.federation.providers.profile import (
    Document,
    join_names,
    make_user,
    nonempty,
    single_email,
    text,
)
from workers.auth.federation.social.protocol import ProviderTokenResponse, ProviderUser

ISSUER = "https://www.facebook.com"
SIGNERS = (IdTokenSigner(ISSUER), IdTokenSigner("https://limited.facebook.com"))
_FIELDS = "email,first_name,last_name,name,picture"


def facebook(client: ProviderClient) -> OAuth2:
    """Return the provider."""
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
    """Return the proof that we know the app secret: an HMAC of the token, which a stolen token alone cannot make."""
    return hmac.new(secret.encode(), access_token.encode(), hashlib.sha256).hexdigest()


def read_facebook(profile: Document) -> ProviderUser:
    """Read a user. Facebook gives an address only once it is confirmed."""
    alias, picture = text(profile, "name"), text(profile, "picture", "data", "url")
    first, last = text(profile, "first_name"), text(profile, "last_name")
    name = join_names(first, last) or alias
    claims = nonempty(
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
    return make_user(text(profile, "id"), single_email(text(profile, "email"), is_verified=True), claims)


def read_limited_login(claims: Document) -> ProviderUser:
    """Read the ID token of a limited login."""
    name, picture = text(claims, "name"), text(claims, "picture")
    user_claims = nonempty(
        iss=text(claims, "iss"),
        name=name,
        given_name=text(claims, "given_name"),
        family_name=text(claims, "family_name"),
        picture=picture,
        full_name=name,
        avatar_url=picture,
    )
    return make_user(text(claims, "sub"), single_email(text(claims, "email"), is_verified=True), user_claims)


async def _user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
    proof = app_secret_proof(provider.client.secret.reveal(), tokens.access_token)
    query = urlencode({"fields": _FIELDS, "appsecret_proof": proof})
    profile = await provider.client.profile(f"{provider.endpoints.user}?{query}", tokens.access_token)
    return read_facebook(profile)
