"""What is Google's own: the older user document, for those who get no ID token."""

from aiohttp import web

from tests.workers.auth.federation.providers.conftest import Abroad
from tests.workers.auth.federation.providers.stand_ins import ReceivedRequest
from workers.auth.federation.providers.google import ISSUER
from workers.auth.federation.social.protocol import ProviderTokenResponse

OLD = {
    "id": "110169484474386276334",
    "email": "ada@example.com",
    "verified_email": True,
    "name": "Ada",
    "picture": "https://p",
}


async def test_without_an_id_token_the_user_document_is_read(abroad: Abroad):
    def answer(seen: ReceivedRequest) -> object:
        return OLD if seen.headers["authorization"] == "Bearer access-1" else web.Response(status=401)

    abroad.network.answers["GET", "https://www.googleapis.com/userinfo/v2/me"] = answer
    provider = await abroad.with_provider("google").provider("google")

    person = await provider.user(ProviderTokenResponse("access-1"), {})

    assert (person.subject, person.claims["iss"]) == ("110169484474386276334", ISSUER)
    assert [(each.address, each.is_verified) for each in person.emails] == [("ada@example.com", True)]


async def test_a_url_of_the_settings_is_ignored(abroad: Abroad):
    abroad.network.publish(ISSUER)
    provider = await abroad.with_provider("google", url="https://evil.example.com").provider("google")

    assert provider.issuer == ISSUER
    assert not [each for each in abroad.network.seen if "evil" in each.url]
