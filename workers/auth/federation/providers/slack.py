"""Slack, by the old OAuth of its applications and by OpenID Connect. Source: docs/reference/auth.md, section 26.1."""

from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.profile import Document, flag, make_user, nonempty, single_email, text
from workers.auth.federation.social.protocol import ProviderError, ProviderTokenResponse, ProviderUser

_USUAL = "https://slack.com"
_ID, _TEAM = "https://slack.com/user_id", "https://slack.com/team_id"


def slack(client: ProviderClient) -> OAuth2:
    """Return the provider for old applications."""
    host = client.host(_USUAL)
    return OAuth2(
        client=client,
        read=_user,
        endpoints=Endpoints(
            authorize=f"{host}/oauth/authorize",
            token=f"{host}/api/oauth.access",
            user=f"{host}/api/openid.connect.userInfo",
        ),
        scopes=("profile", "email", "openid"),
    )


def slack_oidc(client: ProviderClient) -> OAuth2:
    """Return the provider for current applications."""
    host = client.host(_USUAL)
    return OAuth2(
        client=client,
        read=_openid_user,
        endpoints=Endpoints(
            authorize=f"{host}/openid/connect/authorize",
            token=f"{host}/api/openid.connect.token",
            user=f"{host}/api/openid.connect.userInfo",
        ),
        scopes=("profile", "email", "openid"),
    )


def read_slack(profile: Document, issuer: str, *, is_verified: bool) -> ProviderUser:
    """Read a user of a team."""
    name, picture = text(profile, "name"), text(profile, "picture")
    claims = nonempty(
        iss=issuer,
        name=name,
        given_name=text(profile, "given_name"),
        family_name=text(profile, "family_name"),
        locale=text(profile, "locale"),
        picture=picture,
        full_name=name,
        avatar_url=picture,
        custom_claims=nonempty(**{_TEAM: text(profile, _TEAM)}),
    )
    subject = text(profile, _ID) or text(profile, "sub")
    return make_user(subject, single_email(text(profile, "email"), is_verified=is_verified), claims)


async def _user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
    profile = await _profile(provider, tokens)
    # this older method has no flag for it; the official auth server takes the address as verified, too
    return read_slack(profile, provider.client.host(_USUAL), is_verified=True)


async def _openid_user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
    profile = await _profile(provider, tokens)
    issuer = provider.client.host(_USUAL)
    return read_slack(profile, issuer, is_verified=flag(profile, "email_verified"))


async def _profile(provider: OAuth2, tokens: ProviderTokenResponse) -> Document:
    """Fetch the user; errors come with status 200 and `ok: false`."""
    profile = await provider.client.profile(provider.endpoints.user, tokens.access_token)
    if profile.get("ok") is False:
        error = text(profile, "error")
        raise ProviderError(
            f"Error getting user profile from external provider: {error or 'refused'}", error=error
        )
    return profile
