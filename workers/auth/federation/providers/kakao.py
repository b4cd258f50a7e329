"""Kakao: sign-in by the browser and by ID token. Source: docs/reference/auth.md, section 26.2."""

from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.oidc import IdTokenSigner
from workers.auth.federation.providers.profile import Document, flag, make_user, nonempty, single_email, text
from workers.auth.federation.social.protocol import ProviderTokenResponse, ProviderUser

ISSUER = "https://kauth.kakao.com"


def kakao(client: ProviderClient) -> OAuth2:
    """Return the provider."""
    host, api = client.host(ISSUER), client.host("https://kapi.kakao.com")
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(
            authorize=f"{host}/oauth/authorize", token=f"{host}/oauth/token", user=f"{api}/v2/user/me"
        ),
        scopes=("account_email", "profile_image", "profile_nickname"),
        signers=(IdTokenSigner(host),),
    )


def read_kakao(profile: Document, issuer: str) -> ProviderUser:
    """Read a user; an address counts as verified if it is both valid and verified."""
    nickname = text(profile, "kakao_account", "profile", "nickname")
    picture = text(profile, "kakao_account", "profile", "profile_image_url")
    is_valid = flag(profile, "kakao_account", "is_email_valid")
    is_verified = flag(profile, "kakao_account", "is_email_verified")
    emails = single_email(text(profile, "kakao_account", "email"), is_verified=is_valid and is_verified)
    return make_user(text(profile, "id"), emails, _claims(issuer, nickname, picture))


def read_kakao_token(claims: Document) -> ProviderUser:
    """Read an ID token, which has confirmed addresses only."""
    user_claims = _claims(text(claims, "iss"), text(claims, "nickname"), text(claims, "picture"))
    return make_user(text(claims, "sub"), single_email(text(claims, "email"), is_verified=True), user_claims)


def _claims(issuer: str, nickname: str, picture: str) -> dict[str, object]:
    return nonempty(
        iss=issuer,
        name=nickname,
        preferred_username=nickname,
        picture=picture,
        full_name=nickname,
        avatar_url=picture,
        user_name=nickname,
    )


async def _user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
    endpoints = provider.endpoints
    profile = await provider.client.profile(endpoints.user, tokens.access_token)
    return read_kakao(profile, endpoints.user.removesuffix("/v2/user/me"))
