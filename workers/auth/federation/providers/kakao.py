"""Kakao, by the browser and by ID token. Source: reference page "auth", section 26.2."""

from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.oidc import Signer
from workers.auth.federation.providers.profile import Document, flag, known, one_email, person, text
from workers.auth.federation.social.protocol import Grant, ProviderUser

ISSUER = "https://kauth.kakao.com"


def kakao(client: Client) -> OAuth2:
    """Make the provider."""
    host, api = client.host(ISSUER), client.host("https://kapi.kakao.com")
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(
            authorize=f"{host}/oauth/authorize", token=f"{host}/oauth/token", user=f"{api}/v2/user/me"
        ),
        scopes=("account_email", "profile_image", "profile_nickname"),
        signers=(Signer(host),),
    )


def read_kakao(profile: Document, issuer: str) -> ProviderUser:
    """Read a user; an address is the user's if it is in use and was confirmed."""
    nickname = text(profile, "kakao_account", "profile", "nickname")
    picture = text(profile, "kakao_account", "profile", "profile_image_url")
    is_valid = flag(profile, "kakao_account", "is_email_valid")
    is_verified = flag(profile, "kakao_account", "is_email_verified")
    emails = one_email(text(profile, "kakao_account", "email"), is_verified=is_valid and is_verified)
    return person(text(profile, "id"), emails, _claims(issuer, nickname, picture))


def read_kakao_token(claims: Document) -> ProviderUser:
    """Read an ID token, which holds confirmed addresses only."""
    shown = _claims(text(claims, "iss"), text(claims, "nickname"), text(claims, "picture"))
    return person(text(claims, "sub"), one_email(text(claims, "email"), is_verified=True), shown)


def _claims(issuer: str, nickname: str, picture: str) -> dict[str, object]:
    return known(
        iss=issuer,
        name=nickname,
        preferred_username=nickname,
        picture=picture,
        full_name=nickname,
        avatar_url=picture,
        user_name=nickname,
    )


async def _user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    del fields
    places = provider.endpoints
    profile = await provider.client.profile(places.user, grant.access_token)
    return read_kakao(profile, places.user.removesuffix("/v2/user/me"))
