"""LinkedIn, by the old OAuth of its applications and by OpenID Connect. Source: reference page "auth", section 26.1.

No code challenge: its token endpoint refuses the verifier of applications that have a secret.
"""

from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2
from workers.auth.federation.providers.oidc import Signer
from workers.auth.federation.providers.profile import (
    Document,
    flag,
    items,
    joined,
    known,
    member,
    one_email,
    person,
    text,
)
from workers.auth.federation.social.protocol import Grant, ProviderUser

ISSUER = "https://www.linkedin.com/oauth"
SIGNERS = (Signer(ISSUER),)
_USUAL = "https://api.linkedin.com"
_PROFILE = "projection=(id,firstName,lastName,profilePicture(displayImage~:playableStreams))"
_EMAILS = "q=members&projection=(elements*(handle~))"


def linkedin(client: Client) -> OAuth2:
    """Make the provider of old applications."""
    host = client.host(_USUAL)
    return OAuth2(
        client=client,
        read=_user,
        endpoints=_endpoints(host),
        scopes=("r_emailaddress", "r_liteprofile"),
    )


def linkedin_oidc(client: Client) -> OAuth2:
    """Make the provider of today's applications."""
    return OAuth2(
        client=client,
        read=_openid_user,
        endpoints=_endpoints(client.host(_USUAL)),
        scopes=("openid", "email", "profile"),
        signers=SIGNERS,
    )


def read_linkedin(profile: Document, emails: Document, issuer: str) -> ProviderUser:
    """Read a user and the page of addresses."""
    name = joined(_localized(profile, "firstName"), _localized(profile, "lastName"))
    pictures = items(profile, "profilePicture", "displayImage~", "elements")
    picture = text(pictures, -1, "identifiers", 0, "identifier")
    claims = known(
        iss=issuer,
        name=name,
        given_name=_localized(profile, "firstName"),
        family_name=_localized(profile, "lastName"),
        picture=picture,
        full_name=name,
        avatar_url=picture,
    )
    address = text(emails, "elements", 0, "handle~", "emailAddress")
    return person(text(profile, "id"), one_email(address, is_verified=True), claims)


def read_linkedin_oidc(claims: Document) -> ProviderUser:
    """Read an ID token, where `email_verified` is a text and `locale` an object at times."""
    given, family = text(claims, "given_name"), text(claims, "family_name")
    name = text(claims, "name") or joined(given, family)
    shown = known(
        iss=text(claims, "iss"),
        name=name,
        given_name=given,
        family_name=family,
        locale=text(claims, "locale")
        or "_".join(filter(None, (text(claims, "locale", "language"), text(claims, "locale", "country")))),
        picture=text(claims, "picture"),
        full_name=name,
        avatar_url=text(claims, "picture"),
    )
    emails = one_email(text(claims, "email"), is_verified=flag(claims, "email_verified"))
    return person(text(claims, "sub"), emails, shown)


def _endpoints(host: str) -> Endpoints:
    return Endpoints(
        authorize=f"{host}/oauth/v2/authorization",
        token=f"{host}/oauth/v2/accessToken",
        user=f"{host}/v2/me",
        emails=f"{host}/v2/emailAddress",
    )


def _localized(profile: Document, name: str) -> str:
    """Give a name in the language that its owner prefers."""
    locale = member(profile, name, "preferredLocale")
    return text(profile, name, "localized", f"{text(locale, 'language')}_{text(locale, 'country')}")


async def _user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    del fields
    places = provider.endpoints
    profile = await provider.client.profile(f"{places.user}?{_PROFILE}", grant.access_token)
    emails = await provider.client.profile(f"{places.emails}?{_EMAILS}", grant.access_token)
    return read_linkedin(profile, emails, places.user.removesuffix("/v2/me"))


async def _openid_user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
    del fields
    return read_linkedin_oidc(await provider.id_claims(grant.id_token, grant.access_token))
