"""Slack, by the old OAuth of its applications and by OpenID Connect. Source: reference page "auth", section 26.1."""

from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.profile import Document, flag, known, one_email, person, text
from workers.auth.federation.social.protocol import Grant, ProviderFailed, ProviderUser

_USUAL = "https://slack.com"
_ID, _TEAM = "https://slack.com/user_id", "https://slack.com/team_id"


def slack(client: Client) -> OAuth2:
    """Make the provider of old applications."""
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


def slack_oidc(client: Client) -> OAuth2:
    """Make the provider of today's applications."""
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
    """Read a user, who belongs to a team."""
    name, picture = text(profile, "name"), text(profile, "picture")
    claims = known(
        iss=issuer,
        name=name,
        given_name=text(profile, "given_name"),
        family_name=text(profile, "family_name"),
        locale=text(profile, "locale"),
        picture=picture,
        full_name=name,
        avatar_url=picture,
        custom_claims=known(**{_TEAM: text(profile, _TEAM)}),
    )
    subject = text(profile, _ID) or text(profile, "sub")
    return person(subject, one_email(text(profile, "email"), is_verified=is_verified), claims)


async def _user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    del fields
    profile = await _profile(provider, grant)
    return read_slack(profile, provider.client.host(_USUAL), is_verified=True)


async def _openid_user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    del fields
    profile = await _profile(provider, grant)
    issuer = provider.client.host(_USUAL)
    return read_slack(profile, issuer, is_verified=flag(profile, "email_verified"))


async def _profile(provider: OAuth2, grant: Grant) -> Document:
    """Get the user; refusals come with status 200 and `ok: false`."""
    profile = await provider.client.profile(provider.endpoints.user, grant.access_token)
    if profile.get("ok") is False:
        error = text(profile, "error")
        raise ProviderFailed(
            f"Error getting user profile from external provider: {error or 'refused'}", error=error
        )
    return profile
