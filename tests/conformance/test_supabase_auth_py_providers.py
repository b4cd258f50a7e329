"""The official Python client, in both of its forms: sign-in by a provider, linking, ID tokens; and what is switched off."""

import hashlib
import uuid
from typing import Any

import httpx
import pytest

from tests.conformance.auth_callers import INVALID, People, address, claims_of, done, refusal, refused
from tests.conformance.auth_post import Landing, land
from tests.conformance.confirming import SITE
from tests.workers.auth.oidc_provider import CLIENT_ID, CLIENT_SECRET

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.process_group("clients")]

PROVIDER = "keycloak"
SAML_OFF = refused(404, "saml_provider_disabled", "SAML 2.0 is disabled")


def hint(email: str) -> dict[str, Any]:
    return {
        "provider": PROVIDER,
        "options": {"redirect_to": f"{SITE}/in", "query_params": {"login_hint": email}},
    }


async def visit(auth: Any, email: str) -> Landing:
    return land((await done(auth.sign_in_with_oauth(hint(email)))).url)


async def exchange(auth: Any, landed: Landing) -> Any:
    asked = {"auth_code": landed.query["code"], "code_verifier": "", "redirect_to": SITE}
    return await done(auth.exchange_code_for_session(asked))


def providers(identities: list[Any]) -> list[str]:
    return sorted(each.provider for each in identities)


def native_tokens(realm: str, email: str, nonce: str) -> dict[str, str]:
    """Give what an application gets of the provider by itself."""
    base, redirect = f"{realm}/protocol/openid-connect", "http://localhost/native"
    told = {
        "client_id": CLIENT_ID,
        "response_type": "code",
        "redirect_uri": redirect,
        "login_hint": email,
        "nonce": nonce,
    }
    code = land(str(httpx.URL(f"{base}/auth", params=told))).query["code"]
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect}
    answer = httpx.post(
        f"{base}/token", data={**form, "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
    )
    tokens: dict[str, str] = answer.json()
    return tokens


async def test_a_person_of_the_provider_signs_in_by_a_code(new_users: People) -> None:
    auth, email = await new_users.auth(), address("abroad")
    landed = await visit(auth, email)

    answer = await exchange(auth, landed)

    assert landed.target == f"{SITE}/in"
    assert (answer.user.email, answer.user.app_metadata) == (
        email,
        {"provider": PROVIDER, "providers": [PROVIDER]},
    )
    assert answer.session.provider_token.startswith("access-")
    assert [each["method"] for each in claims_of(answer.session.access_token)["amr"]] == ["oauth"]


async def test_a_person_of_the_provider_brings_a_session_in_the_fragment(new_users: People) -> None:
    auth, email = await new_users.auth(flow_type="implicit"), address("abroad")
    landed = await visit(auth, email)

    await done(auth.initialize(url=landed.url.replace("#", "?")))

    assert (await done(auth.get_user())).user.email == email


async def test_an_account_of_the_provider_is_linked_and_let_go(new_users: People) -> None:
    one, email = await new_users.member(), address("abroad")
    linking = await done(one.auth.link_identity(hint(email)))
    linked = await exchange(one.auth, land(linking.url))
    identities = (await done(one.auth.get_user_identities())).identities

    other = await new_users.auth()
    entered = await exchange(other, await visit(other, email))
    (abroad,) = [each for each in identities if each.provider == PROVIDER]
    await done(one.auth.unlink_identity(abroad))

    assert entered.user.id == linked.user.id == one.user.id
    assert providers(identities) == ["email", PROVIDER]
    (left,) = (await done(one.auth.get_user_identities())).identities
    assert left.provider == "email"
    last = await refusal(one.auth.unlink_identity, left)
    assert (last["status"], last["code"]) == (422, "single_identity_not_deletable")


async def test_a_visitor_stays_by_linking_an_account_of_the_provider(new_users: People) -> None:
    auth, email = await new_users.auth(), address("abroad")
    start = await done(auth.sign_in_anonymously())
    linking = await done(auth.link_identity(hint(email)))

    answer = await exchange(auth, land(linking.url))

    assert (answer.user.id, answer.user.email, answer.user.is_anonymous) == (start.user.id, email, False)


async def test_an_id_token_signs_in(new_users: People, abroad: str) -> None:
    auth, email, nonce = await new_users.auth(), address("native"), str(uuid.uuid4())
    tokens = native_tokens(abroad, email, hashlib.sha256(nonce.encode()).hexdigest())
    asked = {"provider": PROVIDER, "token": tokens["id_token"], "access_token": tokens["access_token"]}

    answer = await done(auth.sign_in_with_id_token({**asked, "nonce": nonce}))
    error = await refusal(auth.sign_in_with_id_token, {**asked, "nonce": "another"})

    assert answer.user.email == email
    assert (error["status"], error["message"]) == (400, "Nonces mismatch")


async def test_single_sign_on_of_enterprises_is_switched_off(new_users: People) -> None:
    auth = await new_users.auth()

    by_domain = await refusal(auth.sign_in_with_sso, {"domain": "example.com"})
    by_provider = await refusal(auth.sign_in_with_sso, {"provider_id": str(uuid.uuid4())})

    assert (by_domain, by_provider) == (SAML_OFF, SAML_OFF)


async def test_what_is_switched_off_says_so_and_the_session_lives_on(persons: People) -> None:
    one = await persons.signed_up()
    auth = one.auth
    told = [
        await refusal(auth.link_identity, {"provider": "github"}),
        await refusal(
            auth.mfa.enroll, {"factor_type": "phone", "phone": "+15550100", "friendly_name": "mine"}
        ),
        await refusal(auth.sign_in_with_otp, {"phone": "+15550100"}),
        await refusal(auth.sign_in_with_id_token, {"provider": "google", "token": "x"}),
        await refusal(auth.sign_in_with_password, {"email": one.email, "password": "another"}),
    ]

    assert [each["code"] for each in told] == [
        "manual_linking_disabled",
        "mfa_phone_enroll_not_enabled",
        "phone_provider_disabled",
        "provider_disabled",
        INVALID["code"],
    ]
    assert await persons.is_alive(one)
