"""Every provider of the settings from the browser's departure to the person, as `tests/data/providers/` has them."""

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from aiohttp import web

from tests.workers.auth.federation.providers.conftest import Abroad
from tests.workers.auth.federation.providers.stand_ins import (
    CALLBACK,
    CODE,
    RSA,
    SECRET,
    VERIFIER,
    Network,
    ReceivedRequest,
    TokenEndpoint,
    challenge_of,
    key_set,
    signed,
)
from workers.auth.federation.providers.registry import FACTORIES
from workers.auth.federation.social.protocol import (
    AuthorizationRequest,
    AuthorizationResponse,
    ProviderError,
    ProviderUser,
)
from workers.auth.model.errors import AuthError

DATA = Path(__file__).parents[4] / "data" / "providers"
NAMES = sorted(path.stem for path in DATA.glob("*.json"))
STATE = "5f0c2d1e-0000-4000-8000-000000000000"


def recorded(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return found


def test_every_provider_has_a_record():
    assert set(NAMES) == set(FACTORIES) - {"twitter"}  # which has a test of its own


@pytest.mark.parametrize("name", NAMES)
async def test_a_sign_in_leads_from_the_browser_to_the_person(abroad: Abroad, name: str):
    record = recorded(name)
    auth_pool = abroad.with_provider(name, url=record.get("url", ""))
    install(abroad.network, record)
    provider = await auth_pool.provider(name)

    departure = departing(record, uses_pkce=provider.uses_pkce, scopes=())
    destination = await provider.authorization_url(departure)
    arrival = AuthorizationResponse(
        {"code": CODE}, CALLBACK, VERIFIER if provider.uses_pkce else "", destination.secret
    )
    grant = await provider.exchange(arrival)
    person = await provider.user(grant, record.get("callback", {}))

    address, query = parted(destination.url)
    told = record["authorize"]
    challenge = {"code_challenge": challenge_of(VERIFIER)} if provider.uses_pkce else {}
    assert address == told["url"]
    assert query == {**told["query"], "state": STATE, "redirect_uri": CALLBACK, **challenge}
    assert grant.access_token == "access-1"
    assert grant.refresh_token == record["token"]["answer"].get("refresh_token", "")
    assert shown(person) == record["person"]


@pytest.mark.parametrize("name", NAMES)
async def test_more_scopes_and_parameters_go_along_but_never_replace_ours(abroad: Abroad, name: str):
    record = recorded(name)
    install(abroad.network, record)
    provider = await abroad.with_provider(name, url=record.get("url", "")).provider(name)
    ours = {**record["authorize"]["query"], "state": STATE, "redirect_uri": CALLBACK}
    ours.pop("code_challenge_method", None)
    scope = ours.pop("scope", "").split()
    departure = departing(
        record, uses_pkce=False, scopes=("more:read",), prompt="consent", state="x", client_id="y"
    )

    query = parted((await provider.authorization_url(departure)).url)[1]

    assert query.pop("scope").split() == [
        *scope,
        *(["more:read"] if record.get("takes_scopes", True) else []),
    ]
    assert query == {**ours, "prompt": "consent"}


@pytest.mark.parametrize("name", sorted(set(FACTORIES) - {"google", "apple", "keycloak"}))
async def test_a_url_of_the_settings_replaces_the_host(abroad: Abroad, name: str):
    provider: Any = await abroad.with_provider(name, url="https://own.example.net/below/").provider(name)

    places = [
        getattr(provider.endpoints, each)
        for each in provider.endpoints.__slots__
        if getattr(provider.endpoints, each)
    ]

    assert places
    assert all(each.startswith("https://own.example.net/below/") for each in places)


@pytest.mark.parametrize("name", NAMES)
async def test_a_refused_code_is_told_in_the_providers_words_and_without_secrets(abroad: Abroad, name: str):
    record = recorded(name)
    install(abroad.network, record)
    provider = await abroad.with_provider(name, url=record.get("url", "")).provider(name)

    with pytest.raises(ProviderError) as failed:
        await provider.exchange(
            AuthorizationResponse({"code": "stolen-code"}, CALLBACK, VERIFIER if provider.uses_pkce else "")
        )

    assert failed.value.error == "invalid_grant"
    assert "no such code" in failed.value.description
    assert not any(secret in failed.value.description for secret in (SECRET, "stolen-code", VERIFIER))


@pytest.mark.parametrize("name", NAMES)
async def test_a_callback_without_a_code_is_refused(abroad: Abroad, name: str):
    provider = await abroad.with_provider(name, url=recorded(name).get("url", "")).provider(name)

    with pytest.raises(ProviderError):
        await provider.exchange(AuthorizationResponse({}, CALLBACK, VERIFIER))


@pytest.mark.parametrize("name", [name for name in NAMES if "answers" in recorded(name)])
@pytest.mark.parametrize("answer", [{}, [], "text", {"data": None, "id": None, "values": 3, "ok": False}])
async def test_a_document_that_names_nobody_is_refused(abroad: Abroad, name: str, answer: object):
    record = recorded(name)
    install(abroad.network, record)
    for each in record["answers"]:
        abroad.network.answers["GET", each["url"]] = answer
    provider = await abroad.with_provider(name, url=record.get("url", "")).provider(name)
    grant = await provider.exchange(
        AuthorizationResponse({"code": CODE}, CALLBACK, VERIFIER if provider.uses_pkce else "")
    )

    with pytest.raises(ProviderError, match="Error getting user profile from external provider"):
        await provider.user(grant, {})


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("github", "provider is not enabled"),
        ("nobody", "Provider nobody could not be found"),
        ("__class__", "Provider __class__ could not be found"),
        ("enabled", "Provider enabled could not be found"),
        ("custom:nobody", "Provider custom:nobody could not be found"),
    ],
)
async def test_what_is_not_there_or_not_enabled_is_not_supported(abroad: Abroad, name: str, reason: str):
    with pytest.raises(AuthError) as refused:
        await abroad.provider(name)

    assert (refused.value.status, refused.value.code.value) == (400, "validation_failed")
    assert refused.value.message == f"Unsupported provider: {reason}"


async def test_names_are_found_however_they_are_written(abroad: Abroad):
    assert (await abroad.with_provider("github").provider("GitHub")).name == "github"


async def test_settings_reach_the_provider(abroad: Abroad):
    told = {
        "redirect_uri": "https://elsewhere.example/cb",
        "email_optional": True,
        "client_id": "first, second",
    }
    provider: Any = await abroad.with_provider("github", **told).provider("github")

    assert provider.redirect_uri == "https://elsewhere.example/cb"
    assert provider.is_email_optional
    assert provider.client.ids == ("first", "second")
    assert SECRET not in repr(provider)


def install(network: Network, record: dict[str, Any]) -> None:
    """Let a service answer as its record says."""
    token = record["token"]
    answer = dict(token["answer"])
    if "id_token" in record:
        answer["id_token"] = signed(record["id_token"])
    challenge = challenge_of(VERIFIER) if token.get("pkce") else ""
    network.answers["POST", token["url"]] = TokenEndpoint(answer, token["login"], challenge)
    for url, document in record.get("discovery", {}).items():
        network.answers["GET", url] = document
        network.answers["GET", document["jwks_uri"]] = key_set(RSA)
    for each in record.get("answers", []):
        network.answers["GET", each["url"]] = profile(each)


def profile(told: dict[str, Any]) -> Any:
    """Return a document to who shows the token, and asks as the service wants it."""
    proof = hmac.new(SECRET.encode(), b"access-1", hashlib.sha256).hexdigest()
    query = {name: proof if value == "$proof" else value for name, value in told.get("query", {}).items()}
    headers = {"authorization": "Bearer access-1", **told.get("headers", {})}

    def answer(seen: ReceivedRequest) -> Any:
        if seen.query != query or any(seen.headers.get(name) != value for name, value in headers.items()):
            return web.json_response({"error": {"message": "not so", "type": "OAuthException"}}, status=403)
        return told["body"]

    return answer


def departing(
    record: dict[str, Any], *, uses_pkce: bool, scopes: tuple[str, ...], **extra: str
) -> AuthorizationRequest:
    challenge = challenge_of(VERIFIER) if uses_pkce else None
    return AuthorizationRequest(STATE, CALLBACK, scopes, {**record.get("extra", {}), **extra}, challenge)


def parted(url: str) -> tuple[str, dict[str, str]]:
    parts = urlsplit(url)
    return parts._replace(query="").geturl(), dict(parse_qsl(parts.query))


def shown(person: ProviderUser) -> dict[str, object]:
    emails = [[each.address, each.is_verified, each.is_primary] for each in person.emails]
    return {"subject": person.subject, "emails": emails, "claims": dict(person.claims)}
