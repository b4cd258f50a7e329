"""Twitter, by OAuth 1.0a: a request token first, which is authorized and then exchanged.

Source: reference page "auth", section 26.1; RFC 5849, 2. The state travels in the callback's own query. The secret of
the request token is kept for the way back, that of the access token in the raw grant.
"""

import hmac
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from workers.auth.federation.providers import oauth1
from workers.auth.federation.providers.client import Client, read_object, told
from workers.auth.federation.providers.oauth1 import Credentials
from workers.auth.federation.providers.oauth2 import Endpoints, Fields
from workers.auth.federation.providers.profile import Document, known, one_email, person, text
from workers.auth.federation.social.protocol import (
    Arrival,
    Departure,
    Destination,
    Grant,
    ProviderFailed,
    ProviderUser,
)
from workers.auth.flows.redirects import with_query
from workers.http_client.client import Fetched


@dataclass(frozen=True, slots=True)
class Twitter:
    """A `Provider` of OAuth 1.0a."""

    client: Client
    request: str
    """Where request tokens are had."""
    endpoints: Endpoints
    uses_pkce: bool = False
    issuer: str = ""

    @property
    def name(self) -> str:
        """The name in requests and identities."""
        return self.client.name

    @property
    def is_email_optional(self) -> bool:
        """Whether people without an e-mail address may sign in."""
        return self.client.is_email_optional

    @property
    def redirect_uri(self) -> str:
        """The callback that the settings name for this provider; empty for the usual one."""
        return self.client.redirect_uri

    async def authorization_url(self, departure: Departure) -> Destination:
        """Get a request token, and give where the browser goes with it. Raises: ProviderFailed."""
        callback = with_query(departure.redirect_uri, {"state": departure.state})
        answered = await self._signed("POST", self.request, None, oauth_callback=callback)
        token = _token(answered)
        if answered.get("oauth_callback_confirmed") != "true":
            raise ProviderFailed("Error reaching external provider: it does not take the callback")
        query = urlencode({**departure.extra_query, "oauth_token": token.id})
        return Destination(f"{self.endpoints.authorize}?{query}", kept=urlencode(_pair(token)))

    async def exchange(self, arrival: Arrival) -> Grant:
        """Exchange the request token for an access token. Raises: ProviderFailed."""
        token = _token(dict(parse_qsl(arrival.kept)))
        verifier, came = arrival.fields.get("oauth_verifier", ""), arrival.fields.get("oauth_token", "")
        if not verifier or not hmac.compare_digest(came.encode(errors="surrogatepass"), token.id.encode()):
            raise ProviderFailed("Unable to exchange external code: the request token is another")
        answered = await self._signed("POST", self.endpoints.token, token, oauth_verifier=verifier)
        return Grant(access_token=_token(answered).id, raw=answered)

    async def user(self, grant: Grant, callback_fields: Fields) -> ProviderUser:
        """Give the person behind the token. Raises: ProviderFailed."""
        del callback_fields
        token = Credentials(grant.access_token, text(grant.raw, "oauth_token_secret"))
        url = f"{self.endpoints.user}?include_email=true"
        return read_twitter(
            read_object(await self._fetch("GET", url, token), of="user profile"), self.endpoints.user
        )

    async def _signed(self, method: str, url: str, token: Credentials | None, **more: str) -> dict[str, str]:
        """Send a request whose answer is a form."""
        answered = await self._fetch(method, url, token, **more)
        if not answered.is_ok:
            _, words = told(_document(answered))
            reason = words or f"status {answered.status}"
            raise ProviderFailed(f"Error getting tokens from external provider: {reason}")
        return dict(parse_qsl(answered.body.decode("utf-8", "replace")))

    async def _fetch(self, method: str, url: str, token: Credentials | None, **more: str) -> Fetched:
        consumer = Credentials(self.client.id, self.client.secret.reveal())
        parameters = oauth1.fresh(consumer, self.client.clock(), token, **more)
        signed = oauth1.header(method, url, parameters, consumer, token)
        return await self.client.fetch(method, url, headers={"authorization": signed})


def twitter(client: Client) -> Twitter:
    """Make the provider."""
    api = client.host("https://api.twitter.com")
    return Twitter(
        client=client,
        request=f"{api}/oauth/request_token",
        endpoints=Endpoints(
            authorize=f"{api}/oauth/authenticate",
            token=f"{api}/oauth/access_token",
            user=f"{api}/1.1/account/verify_credentials.json",
        ),
    )


def read_twitter(profile: Document, issuer: str) -> ProviderUser:
    """Read a user; Twitter gives confirmed addresses only."""
    name, login = text(profile, "name"), text(profile, "screen_name")
    picture = text(profile, "profile_image_url_https")
    claims = known(
        iss=issuer,
        name=name,
        preferred_username=login,
        picture=picture,
        full_name=name,
        avatar_url=picture,
        user_name=login,
    )
    subject = text(profile, "id_str") or text(profile, "id")
    return person(subject, one_email(text(profile, "email"), is_verified=True), claims)


def _token(answered: Document) -> Credentials:
    token = Credentials(text(answered, "oauth_token"), text(answered, "oauth_token_secret"))
    if not token.id or not token.secret:
        raise ProviderFailed("Error getting tokens from external provider: the answer has none")
    return token


def _pair(token: Credentials) -> dict[str, str]:
    return {"oauth_token": token.id, "oauth_token_secret": token.secret}


def _document(answered: Fetched) -> object:
    try:
        return read_object(answered, of="tokens")
    except ProviderFailed:
        return {}
