"""LinkedIn, by the old OAuth of its applications and by OpenID Connect. Source: docs/reference/auth.md, section 26.1.

No PKCE: its token endpoint rejects a code verifier from applications that have a secret.
"""

from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.oidc import IdTokenSigner
from workers.auth.federation.providers.profile import (
    Document,
    flag,
    items,
    join_names,
    make_user,
    member,
    nonempty,
    single_email,
    text,
)
from workers.auth.federation.social.protocol import ProviderTokenResponse, ProviderUser

ISSUER = "https://www.linkedin.com/oauth"
SIGNERS = (IdTokenSigner(ISSUER),)
_USUAL = "https://api.linkedin.com"
_PROFILE = "projection=(id,firstName,lastName,profilePicture(displayImage~:playableStreams))"
_EMAILS = "q=members&projection=(elements*(handle~))"


def linkedin(client: ProviderClient) -> OAuth2:
    """Return the provider for old applications."""
    host = client.host(_USUAL)
    return OAuth2(
        client=client,
        read=_user,
        endpoints=_endpoints(host),
        scopes=("r_emailaddress", "r_liteprofile"),
    )


def linkedin_oidc(client: ProviderClient) -> OAuth2:
    """Return the provider for current applications."""
    return OAuth2(
        client=client,
        read=_openid_user,
        endpoints=_endpoints(client.host(_USUAL)),
        scopes=("openid", "email", "profile"),
        signers=SIGNERS,
    )


def read_linkedin(profile: Document, emails: Document, issuer: str) -> ProviderUser:
    """Read a user and the page of addresses."""
    name = join_names(_localized(profile, "firstName"), _localized(profile, "lastName"))
    pictures = items(profile, "profilePicture", "displayImage~", "elements")
    picture = text(pictures, -1, "identifiers", 0, "identifier")
    claims = nonempty(
        iss=issuer,
        name=name,
        given_name=_localized(profile, "firstName"),
        family_name=_localized(profile, "lastName"),
        picture=picture,
        full_name=name,
        avatar_url=picture,
    )
    address = text(emails, "elements", 0, "handle~", "emailAddress")
    return make_user(text(profile, "id"), single_email(address, is_verified=True), claims)


def read_linkedin_oidc(claims: Document) -> ProviderUser:
    """Read an ID token, whose `email_verified` may be a text and whose `locale` may be an object."""
    given_name, family_name = text(claims, "given_name"), text(claims, "family_name")
    name = text(claims, "name") or join_names(given_name, family_name)
    user_claims = nonempty(
        iss=text(claims, "iss"),
        name=name,
        given_name=given_name,
        family_name=family_name,
        locale=text(claims, "locale")
        or "_".join(filter(None, (text(claims, "locale", "language"), text(claims, "locale", "country")))),
        picture=text(claims, "picture"),
        full_name=name,
        avatar_url=text(claims, "picture"),
    )
    emails = single_email(text(claims, "email"), is_verified=flag(claims, "email_verified"))
    return make_user(text(claims, "sub"), emails, user_claims)


def _endpoints(host: str) -> Endpoints:
    return Endpoints(
        authorize=f"{host}/oauth/v2/authorization",
        token=f"{host}/oauth/v2/accessToken",
        user=f"{host}/v2/me",
        emails=f"{host}/v2/emailAddress",
    )


def _localized(profile: Document, name: str) -> str:
    """Return a name in the user's preferred language."""
    locale = member(profile, name, "preferredLocale")
    return text(profile, name, "localized", f"{text(locale, 'language')}_{text(locale, 'country')}")


async def _user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
    endpoints = provider.endpoints
    profile = await provider.client.profile(f"{endpoints.user}?{_PROFILE}", tokens.access_token)
    emails = await provider.client.profile(f"{endpoints.emails}?{_EMAILS}", tokens.access_token)
    return read_linkedin(profile, emails, endpoints.user.removesuffix("/v2/me"))


async def _openid_user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
    return read_linkedin_oidc(await provider.id_claims(tokens.id_token, tokens.access_token))
