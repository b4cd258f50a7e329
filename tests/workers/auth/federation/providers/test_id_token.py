"""POST /token?grant_type=id_token: who may come in by a token, and who may not."""

import base64
import hashlib
import json
import time
import uuid
from typing import Any

import pytest
from joserfc.jwk import RSAKey

from schemas.http import Response
from tests.workers.auth.auth_pool import ADMIN, claims_of
from tests.workers.auth.federation.providers.conftest import Abroad
from tests.workers.auth.federation.providers.stand_ins import CLIENT, EC, RSA, by_hand, signed
from tests.workers.auth.office import AT_ANY_TIME, CONFIRMED, Office, with_office

GRANT = "/token?grant_type=id_token"
GOOGLE, APPLE, KAKAO = "https://accounts.google.com", "https://appleid.apple.com", "https://kauth.kakao.com"
REALM = "https://id.example.net/realms/house"


@pytest.fixture
def google(abroad: Abroad) -> Abroad:
    abroad.network.publish(GOOGLE, RSA, EC)
    return abroad.with_provider("google")


def person(issuer: str = GOOGLE, **more: object) -> dict[str, object]:
    name = uuid.uuid4().hex
    return {"iss": issuer, "sub": name, "email": f"{name}@example.org", "email_verified": True, **more}


async def bring(auth_pool: Abroad, token: str, provider: str = "google", **more: object) -> Response:
    return await auth_pool.auth_pool.send("POST", GRANT, {"id_token": token, "provider": provider, **more})


async def entered(auth_pool: Abroad, token: str, provider: str = "google", **more: object) -> dict[str, Any]:
    response = await bring(auth_pool, token, provider, **more)
    assert response.status == 200, response.body
    body: dict[str, Any] = json.loads(response.body)
    return body


async def refused(
    auth_pool: Abroad, token: str, provider: str = "google", **more: object
) -> tuple[int, dict[str, Any]]:
    response = await bring(auth_pool, token, provider, **more)
    return response.status, json.loads(response.body)


def oauth(description: str) -> tuple[int, dict[str, Any]]:
    return 400, {"error": "invalid_request", "error_description": description}


BAD = oauth("Bad ID token")


async def test_a_token_gives_a_session_of_a_new_account(google: Abroad):
    claims = person(name="Ada Lovelace", hd="example.org")

    body = await entered(google, signed(claims))

    user = body["user"]
    (identity,) = user["identities"]
    assert (user["email"], identity["provider"], identity["id"]) == (claims["email"], "google", claims["sub"])
    assert user["user_metadata"]["full_name"] == "Ada Lovelace"
    assert user["app_metadata"]["provider"] == "google"
    assert identity["identity_data"]["custom_claims"] == {"hd": "example.org"}
    assert user["email_confirmed_at"]
    assert user["last_sign_in_at"]
    assert [each["method"] for each in claims_of(google.auth_pool.signed(body).caller)["amr"]] == ["oauth"]


@pytest.mark.parametrize(
    ("body", "description"),
    [
        ({"provider": "google"}, "id_token required"),
        ({"id_token": "", "provider": "google"}, "id_token required"),
        ({"id_token": "x"}, "provider or client_id and issuer required"),
        ({"id_token": "x", "client_id": "c"}, "provider or client_id and issuer required"),
        ({"id_token": "x", "issuer": "i"}, "provider or client_id and issuer required"),
    ],
)
async def test_what_is_missing_is_told(google: Abroad, body: dict[str, object], description: str):
    response = await google.auth_pool.send("POST", GRANT, body)

    assert (response.status, json.loads(response.body)) == oauth(description)


async def test_a_provider_that_is_not_enabled_takes_nobody(google: Abroad):
    closed = google.with_provider("google", enabled=False)

    answer = await closed.auth_pool.refused(
        "POST", GRANT, {"id_token": signed(person()), "provider": "google"}
    )

    assert answer == (400, "provider_disabled", f'Provider (issuer "{GOOGLE}") is not enabled')


@pytest.mark.parametrize("name", ["nobody", "github", "custom:nobody", "twitter", "__class__"])
async def test_an_unknown_provider_is_refused(google: Abroad, name: str):
    answer = await google.auth_pool.refused("POST", GRANT, {"id_token": signed(person()), "provider": name})

    assert answer == (400, "validation_failed", f'Custom OIDC provider "{name}" not allowed')


@pytest.mark.parametrize(
    "token",
    [
        lambda: "no token",
        lambda: by_hand({"alg": "none"}, whole()),
        lambda: by_hand({"alg": "HS256", "kid": "rsa-1"}, whole(), b"x" * 32),
        lambda: signed(person(exp=int(time.time()) - 60)),
        lambda: signed(person("https://evil.example.com")),
        lambda: signed(person(), RSAKey.generate_key(2048, {"kid": "rsa-1"}, private=True)),
        lambda: signed(person(), RSA, kid="rsa-9"),
    ],
)
async def test_a_token_that_does_not_hold_is_a_bad_one(google: Abroad, token: Any):
    assert await refused(google, token()) == BAD


def whole() -> dict[str, object]:
    return {**person(), "aud": CLIENT, "exp": int(time.time()) + 60}


async def test_a_token_of_another_providers_issuer_is_a_bad_one(google: Abroad):
    google.network.publish(KAKAO, RSA)

    assert await refused(google.with_provider("kakao"), signed(person(KAKAO))) == BAD


@pytest.mark.parametrize(
    ("audience", "told"), [("somebody", "[somebody]"), (["a", "b"], "[a b]"), (None, "[]")]
)
async def test_a_token_for_another_client_is_refused_with_its_audience(
    google: Abroad, audience: object, told: str
):
    answer = await refused(google, signed(person(aud=audience)))

    assert answer == oauth(f"Unacceptable audience in id_token: {told}")


async def test_any_of_the_settings_clients_may_be_named(google: Abroad):
    several = google.with_provider("google", client_id="web, android,ios")

    assert await entered(several, signed(person(aud="ios")))
    assert (await refused(several, signed(person(aud="web,"))))[0] == 400


async def test_the_nonce_is_the_one_whose_hash_the_token_has(google: Abroad):
    hashed = hashlib.sha256(b"nonce-1").hexdigest()

    assert await entered(google, signed(person(nonce=hashed)), nonce="nonce-1")


@pytest.mark.parametrize(
    ("in_token", "passed", "description"),
    [
        (hashlib.sha256(b"nonce-1").hexdigest(), "nonce-2", "Nonces mismatch"),
        (hashlib.sha256(b"nonce-1").hexdigest().upper(), "nonce-1", "Nonces mismatch"),
        ("nonce-1", "nonce-1", "Nonces mismatch"),
        ("é", "nonce-1", "Nonces mismatch"),
        (None, "nonce-1", "Passed nonce and nonce in id_token should either both exist or not."),
        ("", "nonce-1", "Passed nonce and nonce in id_token should either both exist or not."),
        ("x", "", "Passed nonce and nonce in id_token should either both exist or not."),
    ],
)
async def test_any_other_nonce_is_refused(
    google: Abroad, in_token: str | None, passed: str, description: str
):
    assert await refused(google, signed(person(nonce=in_token)), nonce=passed) == oauth(description)


async def test_the_settings_may_skip_the_nonce(google: Abroad):
    lenient = google.with_provider("google", skip_nonce_check=True)

    assert await entered(lenient, signed(person(nonce="of google's own")))


async def test_an_access_token_must_be_the_tokens_own(google: Abroad):
    hashed = base64.urlsafe_b64encode(hashlib.sha256(b"access-1").digest()[:16]).rstrip(b"=").decode()
    claims = person(at_hash=hashed)

    assert await entered(google, signed(claims), access_token="access-1")
    assert await entered(google, signed(claims))
    assert await refused(google, signed(claims), access_token="access-2") == BAD


@pytest.mark.parametrize("issuer", [APPLE, "https://account.apple.com"])
async def test_apple_has_two_issuers_and_the_apps_bundle_as_audience(abroad: Abroad, issuer: str):
    abroad.network.publish(issuer, RSA)
    apple = abroad.with_provider("apple").having(ios_bundle_id="com.example.app")
    claims = person(issuer, email_verified="true", aud="com.example.app")

    body = await entered(apple, signed(claims), "apple")

    assert body["user"]["email"] == claims["email"]
    assert (await refused(abroad.with_provider("apple"), signed(claims), "apple"))[0] == 400
    assert (
        await refused(apple, signed({**claims, "iss": "https://appleid.apple.com.evil.com"}), "apple") == BAD
    )


@pytest.mark.parametrize("issuer", ["https://www.facebook.com", "https://limited.facebook.com"])
async def test_a_limited_login_of_facebook_needs_no_nonce(abroad: Abroad, issuer: str):
    abroad.network.publish(issuer, RSA)
    claims = person(issuer, nonce="as it was", email_verified=None, picture="https://p")

    body = await entered(abroad.with_provider("facebook"), signed(claims), "facebook")

    assert body["user"]["email_confirmed_at"]


@pytest.mark.parametrize(
    ("name", "issuer", "claims", "subject"),
    [
        ("kakao", KAKAO, {"nickname": "Ada"}, None),
        ("snapchat", "https://accounts.snapchat.com/accounts/oauth2/token", {"name": "Ada"}, None),
        ("vercel_marketplace", "https://marketplace.vercel.com", {"global_user_id": "$"}, "global_user_id:$"),
        ("keycloak", REALM, {"preferred_username": "ada"}, None),
    ],
)
async def test_others_tokens_are_taken_too(
    abroad: Abroad, name: str, issuer: str, claims: dict[str, object], subject: str | None
):
    abroad.network.publish(issuer, RSA)
    told = person(issuer, **claims)
    own = str(told["sub"])
    told = {key: value.replace("$", own) if isinstance(value, str) else value for key, value in told.items()}
    if name == "vercel_marketplace":
        told["user_email"] = told.pop("email")
    auth_pool = abroad.with_provider(name, url=REALM if name == "keycloak" else "")

    body = await entered(auth_pool, signed(told), name)

    (identity,) = body["user"]["identities"]
    assert (identity["provider"], identity["id"]) == (name, (subject or "$").replace("$", own))


async def test_a_tenant_of_azure_is_the_one_that_the_token_names(abroad: Abroad):
    common = "https://login.microsoftonline.com/common/v2.0"
    abroad.network.publish(common, RSA, issuer="https://login.microsoftonline.com/{tenantid}/v2.0")
    claims = person("https://login.microsoftonline.com/t1/v2.0", tid="t1")
    azure = abroad.with_provider("azure")

    assert await entered(azure, signed(claims), "azure")
    assert await refused(azure, signed({**claims, "tid": "t2"}), "azure") == BAD


async def test_a_customer_directory_of_azure_signs_for_itself(abroad: Abroad):
    issuer = "https://contoso.ciamlogin.com/5a/v2.0"
    abroad.network.publish(issuer, RSA)

    assert await entered(abroad.with_provider("azure"), signed(person(issuer)), "azure")


async def test_the_issuer_may_stand_for_the_provider(google: Abroad):
    token = {"id_token": signed(person()), "client_id": "whichever", "issuer": GOOGLE}

    body = await google.auth_pool.ok("POST", GRANT, token)

    assert body["user"]["app_metadata"]["provider"] == "google"
    answer = await google.with_provider("google", enabled=False).auth_pool.refused("POST", GRANT, token)
    assert answer[:2] == (400, "provider_disabled")


async def test_a_clients_own_issuer_is_taken_only_if_the_settings_list_it(google: Abroad):
    issuer = "https://login.example.net"
    google.network.publish(issuer, RSA)
    token = {"id_token": signed(person(issuer, aud="app-7")), "client_id": "app-7", "issuer": issuer}
    listed = google.having(allowed_id_token_issuers=[issuer])

    body = await listed.auth_pool.ok("POST", GRANT, token)

    assert body["user"]["app_metadata"]["provider"] == issuer
    answer = await google.auth_pool.refused("POST", GRANT, token)
    assert answer == (400, "validation_failed", f'Custom OIDC provider "{issuer}" not allowed')
    response = await listed.auth_pool.send("POST", GRANT, {**token, "client_id": "app-8"})
    assert json.loads(response.body)["error_description"] == "Unacceptable audience in id_token: [app-7]"


async def test_an_unverified_address_waits_for_its_confirmation(google: Abroad, office: Office):
    careful = Abroad(with_office(google.auth_pool, office).having(**CONFIRMED, **AT_ANY_TIME), google.network)
    claims = person(email_verified=False)

    answer = await careful.auth_pool.refused(
        "POST", GRANT, {"id_token": signed(claims), "provider": "google"}
    )

    assert answer[:2] == (422, "provider_email_needs_verification")
    assert len(office.to(str(claims["email"]))) == 1


async def test_a_person_without_an_address_enters_only_where_none_is_needed(google: Abroad):
    claims = person(email=None)

    answer = await google.auth_pool.refused("POST", GRANT, {"id_token": signed(claims), "provider": "google"})
    body = await entered(google.with_provider("google", email_optional=True), signed(claims))

    assert answer == (
        400, "email_address_not_provided", "Error getting user email from external provider"
    )  # fmt: skip
    assert body["user"]["email"] == ""


async def test_who_is_banned_stays_outside(google: Abroad):
    claims = person()
    id = (await entered(google, signed(claims)))["user"]["id"]
    await google.auth_pool.ok("PUT", f"/admin/users/{id}", {"ban_duration": "1h"}, ADMIN)

    answer = await google.auth_pool.refused("POST", GRANT, {"id_token": signed(claims), "provider": "google"})

    assert answer == (400, "user_banned", "User is banned")


async def test_sign_ups_may_be_closed(google: Abroad):
    closed = google.having(enable_signup=False)

    answer = await closed.auth_pool.refused(
        "POST", GRANT, {"id_token": signed(person()), "provider": "google"}
    )

    assert answer[:2] == (422, "signup_disabled")


async def test_an_identity_is_linked_to_the_caller(google: Abroad):
    auth_pool = google.having(enable_manual_linking=True)
    signed_in = await auth_pool.auth_pool.sign_up()
    body = {"id_token": signed(person()), "provider": "google", "link_identity": True}

    linked = await auth_pool.auth_pool.ok("POST", GRANT, body, signed_in.caller)

    assert linked["user"]["id"] == signed_in.id
    assert sorted(each["provider"] for each in linked["user"]["identities"]) == ["email", "google"]
    other = await auth_pool.auth_pool.sign_up()
    again = await auth_pool.auth_pool.refused("POST", GRANT, body, other.caller)
    assert again[:2] == (422, "identity_already_exists")


async def test_nobody_is_linked_without_being_signed_in_or_where_it_is_off(google: Abroad):
    body = {"id_token": signed(person()), "provider": "google", "link_identity": True}
    signed_in = await google.auth_pool.sign_up()
    off = google.having(enable_manual_linking=False)

    assert (await google.auth_pool.refused("POST", GRANT, body))[:2] == (401, "no_authorization")
    assert (await off.auth_pool.refused("POST", GRANT, body, signed_in.caller))[:2] == (
        404,
        "manual_linking_disabled",
    )


async def test_an_issuer_that_cannot_be_asked_is_a_failure_of_its_own(google: Abroad):
    google.network.answers.clear()

    answer = await google.auth_pool.refused(
        "POST", GRANT, {"id_token": signed(person()), "provider": "google"}
    )

    assert answer[:2] == (500, "unexpected_failure")
    assert "provider metadata" in answer[2]
