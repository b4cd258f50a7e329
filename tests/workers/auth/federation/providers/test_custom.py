"""Sign-in by a provider that an administrator added: OpenID Connect and OAuth 2.0, whole ways."""

import asyncio
import uuid
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.workers.auth.auth_pool import ADMIN
from tests.workers.auth.federation.providers.conftest import Abroad
from tests.workers.auth.federation.providers.stand_ins import (
    CALLBACK,
    CLIENT,
    CODE,
    RSA,
    SECRET,
    VERIFIER,
    TokenEndpoint,
    challenge_of,
    signed,
)
from workers.auth.federation.providers.custom import read_custom
from workers.auth.federation.social.protocol import (
    AuthorizationRequest,
    AuthorizationResponse,
    ProviderError,
    ProviderTokenResponse,
    ProviderUser,
)
from workers.auth.model.errors import AuthError

ISSUER = "https://id.acme.example"
OPEN = {"custom_oauth__allow_private_hosts": True}
CLAIMS = {
    "iss": ISSUER,
    "sub": "7",
    "email": "ada@acme.example",
    "email_verified": True,
    "name": "Ada",
    "groups": ["a"],
}


@pytest.fixture
def acme(abroad: Abroad) -> Abroad:
    """A network where the issuer lives; its hosts are not looked up."""
    abroad.network.publish(ISSUER, RSA, userinfo_endpoint=f"{ISSUER}/me")
    return abroad.having(**OPEN)


async def add(there: Abroad, **more: object) -> str:
    """Add a provider and give its name."""
    body: dict[str, object] = {
        "provider_type": "oidc",
        "identifier": f"custom:{uuid.uuid4().hex}",
        "name": "Acme",
        "client_id": CLIENT,
        "client_secret": SECRET,
        **({} if more.get("provider_type") == "oauth2" else {"issuer": ISSUER}),
        **more,
    }
    response = await there.auth_pool.send("POST", "/admin/custom-providers", body, ADMIN)
    assert response.status == 201, response.body
    return str(body["identifier"])


def oauth2(**more: object) -> dict[str, object]:
    places = {
        "authorization_url": f"{ISSUER}/in?tenant=1",
        "token_url": f"{ISSUER}/token",
        "userinfo_url": f"{ISSUER}/user",
    }
    return {"provider_type": "oauth2", **places, **more}


async def signed_in(
    there: Abroad, name: str, answer: dict[str, object]
) -> tuple[dict[str, str], ProviderUser]:
    """Go all the way; give what the browser took along, and the person."""
    provider = await there.provider(name)
    challenge = challenge_of(VERIFIER) if provider.uses_pkce else ""
    there.network.answers["POST", f"{ISSUER}/token"] = TokenEndpoint(answer, challenge=challenge)
    destination = await provider.authorization_url(
        AuthorizationRequest("s", CALLBACK, ("more",), {}, challenge or None)
    )
    grant = await provider.exchange(
        AuthorizationResponse({"code": CODE}, CALLBACK, VERIFIER if challenge else "")
    )
    return dict(parse_qsl(urlsplit(destination.url).query)), await provider.user(grant, {})


async def test_a_person_comes_by_openid_connect(acme: Abroad):
    name = await add(
        acme, scopes=["email"], authorization_params={"prompt": "login"}, custom_claims_allowlist=["groups"]
    )

    query, person = await signed_in(acme, name, {"access_token": "a", "id_token": signed(CLAIMS)})

    assert query == {
        "prompt": "login", "response_type": "code", "client_id": CLIENT, "redirect_uri": CALLBACK, "state": "s",
        "scope": "openid email more", "code_challenge": challenge_of(VERIFIER), "code_challenge_method": "S256",
    }  # fmt: skip
    assert (person.subject, [(each.address, each.is_verified) for each in person.emails]) == (
        "7",
        [("ada@acme.example", True)],
    )
    assert dict(person.claims) == {
        "iss": ISSUER, "name": "Ada", "full_name": "Ada", "custom_claims": {"groups": ["a"]}, "provider_id": "7",
    }  # fmt: skip


async def test_its_issuer_is_told_for_the_callback(acme: Abroad):
    provider = await acme.provider(await add(acme))

    assert provider.issuer == ISSUER


async def test_what_the_id_token_leaves_out_is_asked_for(acme: Abroad):
    acme.network.answers["GET", f"{ISSUER}/me"] = {
        "sub": "7",
        "email": "ada@acme.example",
        "email_verified": True,
        "name": "no",
    }
    answer = {"access_token": "a", "id_token": signed({**CLAIMS, "email": None, "email_verified": None})}

    _, person = await signed_in(acme, await add(acme), answer)

    assert [(each.address, each.is_verified) for each in person.emails] == [("ada@acme.example", True)]
    assert person.claims["name"] == "Ada"


async def test_what_is_told_of_another_user_is_refused(acme: Abroad):
    acme.network.answers["GET", f"{ISSUER}/me"] = {"sub": "8", "email": "eve@acme.example"}
    answer = {"access_token": "a", "id_token": signed({**CLAIMS, "email": None})}

    with pytest.raises(ProviderError, match="another user"):
        await signed_in(acme, await add(acme), answer)


@pytest.mark.parametrize(
    "claims", [{"iss": "https://evil.example.com"}, {"aud": "other"}, {"exp": 1}, {"sub": None}]
)
async def test_a_bad_id_token_is_refused(acme: Abroad, claims: dict[str, object]):
    with pytest.raises(ProviderError, match="Bad ID token"):
        await signed_in(
            acme, await add(acme), {"access_token": "a", "id_token": signed({**CLAIMS, **claims})}
        )


async def test_openid_connect_without_an_id_token_is_none(acme: Abroad):
    with pytest.raises(ProviderError, match="no ID token"):
        await signed_in(acme, await add(acme), {"access_token": "a"})


async def test_a_person_comes_by_oauth(acme: Abroad):
    acme.network.answers["GET", f"{ISSUER}/user"] = {
        "user": {"id": 7, "mail": "ada@acme.example"},
        "display": "Ada",
        "dept": "x",
    }
    mapping = {"sub": "user.id", "email": "user.mail", "name": "display", "department": "dept"}
    name = await add(acme, **oauth2(attribute_mapping=mapping, pkce_enabled=False, scopes=["read"]))

    query, person = await signed_in(acme, name, {"access_token": "a"})

    assert query == {
        "tenant": "1", "response_type": "code", "client_id": CLIENT, "redirect_uri": CALLBACK, "state": "s", "scope": "read more",
    }  # fmt: skip
    assert (person.subject, [(each.address, each.is_verified) for each in person.emails]) == (
        "7",
        [("ada@acme.example", False)],
    )
    assert dict(person.claims) == {"name": "Ada", "full_name": "Ada", "department": "x", "provider_id": "7"}


@pytest.mark.parametrize("mapping", [{"sub": "absent"}, {"sub": "user"}])
async def test_a_mapping_that_finds_nobody_is_refused(acme: Abroad, mapping: dict[str, str]):
    acme.network.answers["GET", f"{ISSUER}/user"] = {"sub": "7", "user": {}}
    name = await add(acme, **oauth2(attribute_mapping=mapping, pkce_enabled=False))

    with pytest.raises(ProviderError, match="names no user"):
        await signed_in(acme, name, {"access_token": "a"})


def test_a_name_with_dots_is_found_before_a_way():
    assert read_custom({"a.b": "1", "a": {"b": "2"}}, {"sub": "a.b"}, []).subject == "1"


def test_nothing_is_let_in_but_what_is_listed():
    person = read_custom({"sub": "1", "groups": ["x"], "secret": "y"}, {}, ["groups", "absent"])

    assert person.claims["custom_claims"] == {"groups": ["x"]}


async def test_a_provider_that_is_switched_off_leads_nowhere(acme: Abroad):
    name = await add(acme, enabled=False)

    with pytest.raises(AuthError, match="Unsupported provider: provider is not enabled"):
        await acme.provider(name)
    with pytest.raises(AuthError, match="could not be found"):
        await acme.having(custom_oauth__enabled=False).provider(name)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "2130706433", "0x7f000001", "127.1", "[::ffff:127.0.0.1]"]
)
async def test_a_private_host_is_not_reached_although_it_was_saved_when_that_was_allowed(
    acme: Abroad, host: str
):
    reached: list[object] = []
    server = await asyncio.start_server(lambda reader, writer: reached.append(writer.close()), "127.0.0.1", 0)
    place = f"https://{host}:{server.sockets[0].getsockname()[1]}"
    name = await add(acme, **oauth2(token_url=f"{place}/token", userinfo_url=f"{place}/user"))
    strict = await acme.having(custom_oauth__allow_private_hosts=False).provider(name)

    with pytest.raises(ProviderError, match="Error reaching external provider"):
        await strict.exchange(AuthorizationResponse({"code": CODE}, CALLBACK, VERIFIER))
    with pytest.raises(ProviderError, match="Error reaching external provider"):
        await strict.user(ProviderTokenResponse("access-1"), {})
    server.close()

    assert not reached


async def test_the_description_is_read_again_when_an_hour_has_passed(acme: Abroad):
    name = await add(acme)
    asked = len(acme.network.asked(f"{ISSUER}/.well-known/openid-configuration"))
    acme.network.publish(ISSUER, RSA, authorization_endpoint=f"{ISSUER}/new")

    before = await (await acme.provider(name)).authorization_url(AuthorizationRequest("s", CALLBACK))
    acme.auth_pool.clock.forward(minutes=61)
    after = await (await acme.provider(name)).authorization_url(AuthorizationRequest("s", CALLBACK))

    assert before.url.startswith(f"{ISSUER}/authorize?")
    assert after.url.startswith(f"{ISSUER}/new?")
    assert (asked, len(acme.network.asked(f"{ISSUER}/.well-known/openid-configuration"))) == (1, 2)


async def test_a_description_that_turns_bad_is_not_used(acme: Abroad):
    name = await add(acme)
    acme.network.publish(ISSUER, RSA, token_endpoint="http://id.acme.example/token")
    acme.auth_pool.clock.forward(minutes=61)

    with pytest.raises(ProviderError, match="https"):
        await (await acme.provider(name)).authorization_url(AuthorizationRequest("s", CALLBACK))


async def test_id_tokens_are_taken_for_any_of_its_clients(acme: Abroad):
    name = await add(acme, acceptable_client_ids=["android"])
    grant = "/token?grant_type=id_token"
    claims = {**CLAIMS, "sub": uuid.uuid4().hex, "email": f"{uuid.uuid4().hex}@acme.example"}

    body: Any = await acme.auth_pool.ok(
        "POST", grant, {"id_token": signed({**claims, "aud": "android"}), "provider": name}
    )

    assert body["user"]["app_metadata"]["provider"] == name
    refused = await acme.auth_pool.send(
        "POST", grant, {"id_token": signed({**claims, "aud": "ios"}), "provider": name}
    )
    assert refused.status == 400


async def test_id_tokens_of_a_provider_that_is_switched_off_are_refused(acme: Abroad):
    body = {"id_token": signed(CLAIMS), "provider": await add(acme, enabled=False)}

    answer = await acme.auth_pool.refused("POST", "/token?grant_type=id_token", body)

    assert answer[:2] == (400, "provider_disabled")
    assert "not enabled" in answer[2]


async def test_oauth_providers_have_no_id_tokens(acme: Abroad):
    body = {"id_token": signed(CLAIMS), "provider": await add(acme, **oauth2())}

    answer = await acme.auth_pool.refused("POST", "/token?grant_type=id_token", body)

    assert answer[:2] == (400, "validation_failed")
