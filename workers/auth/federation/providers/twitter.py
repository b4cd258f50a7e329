"""Twitter by OAuth 1.0a: fetch a request token, let the user authorize it, exchange it for an access token.

Source: docs/reference/auth.md, section 26.1; RFC 5849, 2. The state travels in the callback's own query. The secret of
the request token is stored until the callback, the one of the access token is in `raw` of the token response.
"""

import hmac
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from workers.auth.federation.providers import oauth1
from workers.auth.federation.providers.client import ProviderClient, error_and_description, read_object
from workers.auth.federation.providers.oauth1 import Credentials
from workers.auth.federation.providers.oauth2 import Endpoints, Fields
from workers.auth.federation.providers.profile import Document, make_user, nonempty, single_email, text
from workers.auth.federation.social.protocol import (
    AuthorizationRedirect,
    AuthorizationRequest,
    AuthorizationResponse,
    ProviderError,
    ProviderTokenResponse,
    ProviderUser,
)
from workers.auth.model.redirects.allow_list import with_query
from workers.http_client.client import FetchedResponse


@dataclass(frozen=True, slots=True)
class Twitter:
    """A `Provider` of OAuth 1.0a."""

    client: ProviderClient
    request: str
    """The URL for request tokens."""
    endpoints: Endpoints
    uses_pkce: bool = False
    issuer: str = ""

    @property
    def name(self) -> str:
        """The name in requests and identities."""
        return self.client.name

    @property
    def is_email_optional(self) -> bool:
        """Whether users without an email address may sign in."""
        return self.client.is_email_optional

    @property
    def redirect_uri(self) -> str:
        """The callback that the settings name for this provider; empty for the default one."""
        return self.client.redirect_uri

    async def authorization_url(self, request: AuthorizationRequest) -> AuthorizationRedirect:
        """Fetch a request token, and return the authorization URL for it. Raises: ProviderError."""
        callback = with_query(request.redirect_uri, {"state": request.state})
        answer = await self._signed("POST", self.request, None, oauth_callback=callback)
        token = _token(answer)
        if answer.get("oauth_callback_confirmed") != "true":
            raise ProviderError("Error reaching external provider: it does not take the callback")
        query = urlencode({**request.extra_query, "oauth_token": token.id})
        return AuthorizationRedirect(f"{self.endpoints.authorize}?{query}", secret=urlencode(_pair(token)))

    async def exchange(self, response: AuthorizationResponse) -> ProviderTokenResponse:
        """Exchange the request token for an access token. Raises: ProviderError."""
        token = _token(dict(parse_qsl(response.secret)))
        verifier, came = response.fields.get("oauth_verifier", ""), response.fields.get("oauth_token", "")
        if not verifier or not hmac.compare_digest(came.encode(errors="surrogatepass"), token.id.encode()):
            raise ProviderError("Unable to exchange external code: the request token is another")
        answer = await self._signed("POST", self.endpoints.token, token, oauth_verifier=verifier)
        return ProviderTokenResponse(access_token=_token(answer).id, raw=answer)

    async def user(self, tokens: ProviderTokenResponse, callback_fields: Fields) -> ProviderUser:
        """Return the user behind the token. Raises: ProviderError."""
        del callback_fields
        token = Credentials(tokens.access_token, text(tokens.raw, "oauth_token_secret"))
        url = f"{self.endpoints.user}?include_email=true"
        return read_twitter(
            read_object(await self._fetch("GET", url, token), of="user profile"), self.endpoints.user
        )

    async def _signed(self, method: str, url: str, token: Credentials | None, **more: str) -> dict[str, str]:
        """Send a request whose answer is a form."""
        answer = await self._fetch(method, url, token, **more)
        if not answer.is_ok:
            _, words = error_and_description(_document(answer))
            reason = words or f"status {answer.status}"
            raise ProviderError(f"Error getting tokens from external provider: {reason}")
        return dict(parse_qsl(answer.body.decode("utf-8", "replace")))

    async def _fetch(self, method: str, url: str, token: Credentials | None, **more: str) -> FetchedResponse:
        consumer = Credentials(self.client.id, self.client.secret.reveal())
        parameters = oauth1.oauth_parameters(consumer, self.client.clock(), token, **more)
        signed = oauth1.header(method, url, parameters, consumer, token)
        return await self.client.fetch(method, url, headers={"authorization": signed})


def twitter(client: ProviderClient) -> Twitter:
    """Return the provider."""
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
    """Read a user; Twitter returns confirmed addresses only."""
    name, login = text(profile, "name"), text(profile, "screen_name")
    picture = text(profile, "profile_image_url_https")
    claims = nonempty(
        iss=issuer,
        name=name,
        preferred_username=login,
        picture=picture,
        full_name=name,
        avatar_url=picture,
        user_name=login,
    )
    subject = text(profile, "id_str") or text(profile, "id")
    return make_user(subject, single_email(text(profile, "email"), is_verified=True), claims)


def _token(answer: Document) -> Credentials:
    token = Credentials(text(answer, "oauth_token"), text(answer, "oauth_token_secret"))
    if not token.id or not token.secret:
        raise ProviderError("Error getting tokens from external provider: the answer has none")
    return token


def _pair(token: Credentials) -> dict[str, str]:
    return {"oauth_token": token.id, "oauth_token_secret": token.secret}


def _document(answer: FetchedResponse) -> object:
    try:
        return read_object(answer, of="tokens")
    except ProviderError:
        return {}
