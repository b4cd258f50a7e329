"""The exchange of codes, and answers of token endpoints in all the shapes that services give them."""

from urllib.parse import urlencode

import pytest
from aiohttp import web

from schemas.keys.secret import Secret
from tests.workers.auth.federation.providers.conftest import Abroad
from tests.workers.auth.federation.providers.stand_ins import CALLBACK, CODE
from workers.auth.federation.providers.oauth2 import read_grant
from workers.auth.federation.social.protocol import (
    AuthorizationResponse,
    ProviderError,
    ProviderTokenResponse,
)

TOKEN = "https://github.com/login/oauth/access_token"
ARRIVAL = AuthorizationResponse({"code": CODE}, CALLBACK, "verifier-1")


async def exchanged(abroad: Abroad, answer: object, **settings: object) -> ProviderTokenResponse:
    abroad.network.answers["POST", TOKEN] = answer
    provider = await abroad.with_provider("github", **settings).provider("github")
    return await provider.exchange(ARRIVAL)


async def test_an_answer_may_be_a_form(abroad: Abroad):
    form = urlencode(
        {"access_token": "a", "expires_in": "28800", "refresh_token": "r", "token_type": "bearer"}
    )

    grant = await exchanged(abroad, web.Response(text=form, content_type="application/x-www-form-urlencoded"))

    assert (grant.access_token, grant.refresh_token, grant.expires_in) == ("a", "r", 28800)


@pytest.mark.parametrize("seconds", [3600, "3600"])
def test_the_life_of_a_token_is_a_number_or_a_text(seconds: object):
    assert read_grant({"access_token": "a", "expires_in": seconds}).expires_in == 3600


@pytest.mark.parametrize("seconds", [None, "soon", -1, [], 1.5, "²"])
def test_any_other_life_is_unknown(seconds: object):
    assert read_grant({"access_token": "a", "expires_in": seconds}).expires_in is None


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"error": "bad_verification_code", "error_description": "It has expired."}, "bad_verification_code"),
        ({"error": {"message": "Code used.", "type": "OAuthException", "code": 100}}, "OAuthException"),
        ({"ok": False, "error": "invalid_code"}, "invalid_code"),
        ({"error": "x", "access_token": "a"}, "x"),
        ({}, ""),
        ({"access_token": ""}, ""),
        ({"access_token": ["a"]}, ""),
    ],
)
async def test_an_error_with_status_200_is_an_error(abroad: Abroad, answer: dict[str, object], error: str):
    with pytest.raises(ProviderError, match="Unable to exchange external code") as failed:
        await exchanged(abroad, answer)

    assert failed.value.error == error


@pytest.mark.parametrize(
    "answer",
    [
        web.Response(text="<html>", content_type="text/html"),
        web.Response(text="[1]", content_type="application/json"),
        web.Response(status=500, text="oops"),
        web.Response(status=302, headers={"location": "https://evil.example.com/"}),
    ],
)
async def test_an_answer_that_cannot_be_understood_is_refused(abroad: Abroad, answer: web.Response):
    with pytest.raises(ProviderError, match="Error getting tokens from external provider"):
        await exchanged(abroad, lambda seen: answer)

    assert not [each for each in abroad.network.seen if "evil" in each.url]


async def test_words_of_a_provider_are_cut_and_cleaned(abroad: Abroad):
    with pytest.raises(ProviderError) as failed:
        await exchanged(abroad, {"error": "e\r\nx: y", "error_description": "d" * 5000})

    assert len(failed.value.description) < 300
    assert failed.value.error == "e x: y"


async def test_a_client_without_a_secret_sends_none(abroad: Abroad):
    await exchanged(abroad, {"access_token": "a"}, secret=Secret(""))

    (seen,) = abroad.network.asked(TOKEN)
    assert "client_secret" not in seen.form
    assert "authorization" not in seen.headers


async def test_a_service_that_is_not_there_is_told_without_its_address(abroad: Abroad):
    await abroad.network.stop()

    with pytest.raises(ProviderError, match="Error reaching external provider: no connection could be made"):
        await exchanged(abroad, {})


def test_tokens_are_kept_out_of_sight():
    grant = read_grant({"access_token": "token-a", "refresh_token": "token-r", "id_token": "token-i"})

    assert "token-" not in repr(grant)
