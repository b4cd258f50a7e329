"""The second factor `webauthn`, from its enrolment to aal2. Reference, sections 9.1 to 9.4.

What all kinds share (limits, other addresses, old, used and foreign challenges) is tested with the endpoints of factors.
"""

import asyncio
import json
import uuid
from dataclasses import replace
from typing import Any

import pytest

from tests.workers.auth.auth_pool import AuthPool, SignedInUser, claims_of
from tests.workers.auth.passkey_user import (
    MISBEHAVED,
    PASSKEYS,
    answer_to,
    answering,
    begun,
    challenged,
    enrolled,
    register,
)
from tests.workers.credentials.authenticator import (
    PRESENT,
    RP_ID,
    Authenticator,
    base64url,
    unbase64url,
)

WRONG = (422, "mfa_verification_failed", "Invalid MFA WebAuthn response")
NO_ANSWER = (
    400, "validation_failed", "webauthn needs a credential_response, and the type of its challenge",
)  # fmt: skip


@pytest.fixture
def keyed(auth_pool: AuthPool) -> AuthPool:
    return auth_pool.having(**PASSKEYS)


async def refused(auth_pool: AuthPool, signed: SignedInUser, id: str, answer: object) -> tuple[int, str, str]:
    return await auth_pool.refused("POST", f"/factors/{id}/verify", answer, signed.caller)


async def test_a_key_is_enrolled_and_raises_the_session(keyed: AuthPool):
    signed, one = await keyed.sign_up(), Authenticator(flags=PRESENT)

    asked = await keyed.ok(
        "POST", "/factors", {"factor_type": "webauthn", "friendly_name": "key"}, signed.caller
    )
    answer = await answering(keyed, signed, one, asked["id"])
    raised = keyed.signed(await keyed.ok("POST", f"/factors/{asked['id']}/verify", answer, signed.caller))

    assert asked == {"id": asked["id"], "type": "webauthn", "friendly_name": "key"}
    claims = claims_of(raised.caller)
    assert (claims["aal"], [each["method"] for each in claims["amr"]]) == (
        "aal2",
        ["mfa/webauthn", "password"],
    )
    factor = raised.body["user"]["factors"][0]
    assert (factor["factor_type"], factor["status"]) == ("webauthn", "verified")
    assert factor["web_authn_aaguid"] == str(one.aaguid)
    assert factor["last_webauthn_challenge_data"] == {
        "challenge_id": answer["challenge_id"], "type": "create", "user_verified": False,
    }  # fmt: skip


async def test_an_enrolled_key_raises_every_later_session(keyed: AuthPool):
    signed, one = await keyed.sign_up(), Authenticator()
    id, _ = await enrolled(keyed, signed, one)

    for _ in range(2):
        low = await keyed.sign_in(signed.email)
        answer = await answering(keyed, low, one, id)
        raised = keyed.signed(await keyed.ok("POST", f"/factors/{id}/verify", answer, low.caller))
        assert claims_of(low.caller)["aal"] == "aal1"
        assert claims_of(raised.caller)["aal"] == "aal2"
        last = raised.body["user"]["factors"][0]["last_webauthn_challenge_data"]
        assert (last["type"], last["user_verified"]) == ("request", True)


async def test_the_first_challenge_makes_a_credential(keyed: AuthPool):
    signed, passkey = await keyed.sign_up(), Authenticator()
    await register(keyed, signed, passkey)
    id = await begun(keyed, signed)

    asked = await challenged(keyed, signed, id)

    assert set(asked) == {"id", "type", "expires_at", "webauthn"}
    assert (asked["type"], asked["webauthn"]["type"]) == ("webauthn", "create")
    options = asked["webauthn"]["credential_options"]["publicKey"]
    assert options["rp"] == {"id": RP_ID, "name": "Example"}
    assert unbase64url(options["user"]["id"]) == signed.id.encode()
    assert (options["user"]["name"], options["attestation"]) == (signed.email, "none")
    assert options["authenticatorSelection"]["residentKey"] == "discouraged"
    assert [each["id"] for each in options["excludeCredentials"]] == [base64url(passkey.held[0].id)]


async def test_a_later_challenge_asks_for_this_credential(keyed: AuthPool):
    signed, one = await keyed.sign_up(), Authenticator(transports=["usb", "nfc"])
    id, _ = await enrolled(keyed, signed, one)

    asked = await challenged(keyed, await keyed.sign_in(signed.email), id)

    assert asked["webauthn"]["type"] == "request"
    options = asked["webauthn"]["credential_options"]["publicKey"]
    assert options["rpId"] == RP_ID
    assert options["allowCredentials"] == [
        {"id": base64url(one.held[0].id), "type": "public-key", "transports": ["usb", "nfc"]}
    ]


async def test_without_settings_of_its_own_the_site_is_the_party(auth_pool: AuthPool):
    site = auth_pool.having(
        site_url="https://my.example.com/start",
        mfa__web_authn__enroll_enabled=True,
        mfa__web_authn__verify_enabled=True,
        mfa__rate_limit_challenge_and_verify=0.0,
    )
    signed, one = await site.sign_up(), Authenticator(origin="https://my.example.com")

    id, _ = await enrolled(site, signed, one)

    assert one.held[0].rp_id == "my.example.com"
    low = await site.sign_in(signed.email)
    await site.ok("POST", f"/factors/{id}/verify", await answering(site, low, one, id), low.caller)


@pytest.mark.parametrize("what", ["enroll", "verify"])
async def test_keys_can_be_switched_off(keyed: AuthPool, what: str):
    signed, one = await keyed.sign_up(), Authenticator()
    id = await begun(keyed, signed)
    answer = await answering(keyed, signed, one, id)
    off = keyed.having(**{f"mfa__web_authn__{what}_enabled": False})

    if what == "enroll":
        told = await off.refused("POST", "/factors", {"factor_type": "webauthn"}, signed.caller)
    else:
        told = await refused(off, signed, id, answer)

    assert told[:2] == (422, f"mfa_webauthn_{what}_not_enabled")


# --- Answers that are none ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "webauthn",
    [
        None, {}, {"type": "create"}, {"type": "create", "credential_response": None},
        {"type": "create", "credential_response": []}, {"type": "else", "credential_response": {}},
        {"type": "request", "credential_response": {}}, {"credential_response": {}},
    ],
)  # fmt: skip
async def test_an_answer_of_another_shape_is_none(keyed: AuthPool, webauthn: object):
    signed = await keyed.sign_up()
    id = await begun(keyed, signed)
    asked = await challenged(keyed, signed, id)

    body = {"challenge_id": asked["id"], "code": "123456", "webauthn": webauthn}

    assert await refused(keyed, signed, id, body) == NO_ANSWER


@pytest.mark.parametrize("wrong", MISBEHAVED)
async def test_a_misbehaving_key_is_not_enrolled(keyed: AuthPool, wrong: str):
    signed = await keyed.sign_up()
    id = await begun(keyed, signed)

    answer = await answering(keyed, signed, replace(MISBEHAVED[wrong], held=[]), id)

    assert await refused(keyed, signed, id, answer) == WRONG
    user = await keyed.ok("GET", "/user", None, signed.caller)
    assert user["factors"][0]["status"] == "unverified"


@pytest.mark.parametrize(
    "wrong", [*MISBEHAVED, "counter", "foreign key", "another credential", "another user"]
)
async def test_a_misbehaving_key_raises_nothing(keyed: AuthPool, wrong: str):
    signed, one = await keyed.sign_up(), Authenticator()
    id, _ = await enrolled(keyed, signed, one)
    low = await keyed.sign_in(signed.email)
    held = replace(one.held[0])
    match wrong:
        case "counter":
            held.count = 0
        case "foreign key" | "another credential":
            other = Authenticator()
            await enrolled(keyed, await keyed.sign_up(), other)
            held.key = other.held[0].key
        case "another user":
            held.user_handle = str(uuid.uuid4()).encode()
    answer = await answering(keyed, low, replace(MISBEHAVED.get(wrong, one), held=[held]), id)
    if wrong == "another credential":
        answer["webauthn"]["credential_response"] |= dict.fromkeys(
            ("id", "rawId"), base64url(other.held[0].id)
        )

    assert await refused(keyed, low, id, answer) == WRONG
    assert claims_of((await keyed.refresh(low.refresh_token)).caller)["aal"] == "aal1"


async def test_a_key_that_names_no_user_is_enough_for_the_session_names_him(keyed: AuthPool):
    signed, one = await keyed.sign_up(), Authenticator()
    id, _ = await enrolled(keyed, signed, one)
    low = await keyed.sign_in(signed.email)
    one.held[0].user_handle = b""

    await keyed.ok("POST", f"/factors/{id}/verify", await answering(keyed, low, one, id), low.caller)


async def test_of_uses_with_the_same_count_at_once_one_is_right(keyed: AuthPool):
    signed, one = await keyed.sign_up(), Authenticator()
    id, _ = await enrolled(keyed, signed, one)
    low, answers = await keyed.sign_in(signed.email), []
    for _ in range(3):
        one.held[0].count = 1
        answers.append(await answering(keyed, low, one, id))

    responses = await asyncio.gather(
        *(keyed.send("POST", f"/factors/{id}/verify", each, low.caller) for each in answers)
    )

    assert sorted(each.status for each in responses) == [200, 422, 422]


# --- Ways around it ----------------------------------------------------------------------------------------------


async def test_a_challenge_from_before_does_not_replace_the_credential(keyed: AuthPool):
    """Who knew the password asked for a challenge, too; it must not put a key of his in the place of the owner's."""
    signed, owners, thiefs = await keyed.sign_up(), Authenticator(), Authenticator()
    thief = await keyed.sign_in(signed.email)
    id = await begun(keyed, signed)
    late = await answering(keyed, thief, thiefs, id)
    answer = await answering(keyed, signed, owners, id)
    raised = keyed.signed(await keyed.ok("POST", f"/factors/{id}/verify", answer, signed.caller))

    assert (await refused(keyed, raised, id, late)) == WRONG
    thief = await keyed.sign_in(signed.email)
    assert (await refused(keyed, thief, id, late)) == WRONG
    low = await keyed.sign_in(signed.email)
    await keyed.ok("POST", f"/factors/{id}/verify", await answering(keyed, low, owners, id), low.caller)


async def test_an_assertion_does_not_answer_a_creation(keyed: AuthPool):
    signed, one = await keyed.sign_up(), Authenticator()
    id, raised = await enrolled(keyed, signed, one)
    asked = await challenged(keyed, raised, id)
    turned: dict[str, Any] = answer_to(asked, one)
    turned["webauthn"]["type"] = "create"

    assert await refused(keyed, raised, id, turned) == NO_ANSWER


async def test_a_passkey_of_the_user_does_not_become_his_factor(keyed: AuthPool):
    signed, one = await keyed.sign_up(), Authenticator()
    await register(keyed, signed, one)
    id = await begun(keyed, signed)
    asked = await challenged(keyed, signed, id)
    options = asked["webauthn"]["credential_options"]["publicKey"]
    response = Authenticator().create(options, id=one.held[0].id)

    body = {
        "challenge_id": asked["id"],
        "webauthn": {"type": "create", "credential_response": response},
    }

    assert (await refused(keyed, signed, id, body))[:2] == (422, "webauthn_credential_exists")


async def test_a_factor_does_not_sign_in_without_a_password(keyed: AuthPool):
    signed, one = await keyed.sign_up(), Authenticator()
    await enrolled(keyed, signed, one)
    asked = await keyed.ok("POST", "/passkeys/authentication/options")

    body = {"challenge_id": asked["challenge_id"], "credential": one.get(asked["options"])}

    told = await keyed.refused("POST", "/passkeys/authentication/verify", body)
    assert told[:2] == (400, "webauthn_verification_failed")


async def test_a_user_may_have_several_keys(keyed: AuthPool):
    signed, one, other = await keyed.sign_up(), Authenticator(), Authenticator()
    _, raised = await enrolled(keyed, signed, one)
    second = await begun(keyed, raised, "second")
    answer = await answering(keyed, raised, other, second)

    body = await keyed.ok("POST", f"/factors/{second}/verify", answer, raised.caller)

    assert [each["status"] for each in body["user"]["factors"]] == ["verified", "verified"]


# --- The row -----------------------------------------------------------------------------------------------------


async def test_the_row_holds_the_credential_as_other_servers_write_it(keyed: AuthPool):
    signed, one = await keyed.sign_up(), Authenticator()
    id, _ = await enrolled(keyed, signed, one)

    text = await keyed.value(
        "select web_authn_credential::text from auth.mfa_factors where id = $1", uuid.UUID(id)
    )

    held = json.loads(text)
    assert set(held) == {"id", "publicKey", "attestationType", "transport", "flags", "authenticator"}
    assert unbase64url(held["id"].rstrip("=").translate(str.maketrans("+/", "-_"))) == one.held[0].id
    assert held["authenticator"]["signCount"] == 1
    assert held["flags"] == {"userVerified": True, "backupEligible": False, "backupState": False}


@pytest.mark.parametrize(
    "credential", ["null", "{}", '{"id": 5}', '{"id": "AAAA", "publicKey": "AAAA"}', '"x"']
)
async def test_a_row_that_holds_no_credential_raises_nothing(keyed: AuthPool, credential: str):
    signed, one = await keyed.sign_up(), Authenticator()
    id, _ = await enrolled(keyed, signed, one)
    await keyed.admin.execute(
        "update auth.mfa_factors set web_authn_credential = $2 where id = $1", uuid.UUID(id), credential
    )
    low = await keyed.sign_in(signed.email)
    asked = await challenged(keyed, low, id)
    asked["webauthn"]["credential_options"]["publicKey"]["allowCredentials"] = []

    assert await refused(keyed, low, id, answer_to(asked, one)) == WRONG
