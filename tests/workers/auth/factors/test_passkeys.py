"""Everything under /passkeys, with an authenticator in software. Reference, sections 10 and 16.8."""

import asyncio
import json
import uuid
from dataclasses import replace
from typing import Any

import pytest

from schemas.caller import AnonymousCaller, Caller, UserCaller
from tests.workers.auth.auth_pool import ADMIN, AuthPool, address, claims_of
from tests.workers.auth.passkey_user import (
    AUTHENTICATION,
    MISBEHAVED,
    PASSKEYS,
    REGISTRATION,
    enrolled,
    enter,
    entering,
    register,
    registering,
)
from tests.workers.credentials.authenticator import (
    BACKED_UP,
    ELIGIBLE,
    PRESENT,
    RP_ID,
    VERIFIED,
    Authenticator,
    base64url,
    unbase64url,
)

NOT_FOUND = (404, "validation_failed", "Passkey not found")
NO_CHALLENGE = (400, "webauthn_challenge_not_found", "Challenge not found")
EXPIRED = (400, "webauthn_challenge_expired", "Challenge has expired")
UNVERIFIED = (400, "webauthn_verification_failed")
LOW = (403, "insufficient_aal", "AAL2 session is required to add or delete a passkey")


@pytest.fixture
def open_auth_pool(auth_pool: AuthPool) -> AuthPool:
    return auth_pool.having(**PASSKEYS)


async def verify_refused(
    auth_pool: AuthPool, where: str, answer: object, caller: Caller | None = None
) -> tuple[int, str, str]:
    return await auth_pool.refused("POST", f"{where}/verify", answer, caller or AnonymousCaller())


# --- The way through ---------------------------------------------------------------------------------------------


async def test_a_passkey_is_made_and_signs_in(open_auth_pool: AuthPool):
    signed, one = await open_auth_pool.sign_up(), Authenticator()

    made = await register(open_auth_pool, signed, one)
    entered = await enter(open_auth_pool, one)

    assert set(made) == {"id", "friendly_name", "created_at"}
    assert made["friendly_name"] == "iCloud Keychain"
    assert entered.id == signed.id
    assert entered.session_id != signed.session_id
    claims = claims_of(entered.caller)
    assert (claims["aal"], [each["method"] for each in claims["amr"]]) == ("aal1", ["passkey"])
    assert entered.body["user"]["last_sign_in_at"] > signed.body["user"]["last_sign_in_at"]
    assert (await open_auth_pool.refresh(entered.refresh_token)).id == signed.id


async def test_options_to_register_are_for_the_caller(open_auth_pool: AuthPool):
    signed = await open_auth_pool.sign_up(data={"full_name": "Ada"})

    asked = await open_auth_pool.ok("POST", f"{REGISTRATION}/options", {}, signed.caller)

    options = asked["options"]
    assert unbase64url(options["user"]["id"]) == signed.id.encode()
    assert (options["user"]["name"], options["user"]["displayName"]) == (signed.email, "Ada")
    assert options["rp"] == {"id": RP_ID, "name": "Example"}
    assert options["authenticatorSelection"]["residentKey"] == "required"
    assert options["authenticatorSelection"]["userVerification"] == "preferred"
    assert options["attestation"] == "none"
    assert {"type": "public-key", "alg": -7} in options["pubKeyCredParams"]
    assert options["excludeCredentials"] == []
    assert uuid.UUID(asked["challenge_id"])
    assert abs(asked["expires_at"] - open_auth_pool.clock() - 300) < 60


async def test_credentials_that_are_there_are_not_made_again(open_auth_pool: AuthPool):
    signed, one, key = await open_auth_pool.sign_up(), Authenticator(transports=["usb"]), Authenticator()
    await register(open_auth_pool, signed, one)
    _, raised = await enrolled(open_auth_pool, signed, key)

    asked = await open_auth_pool.ok("POST", f"{REGISTRATION}/options", {}, raised.caller)

    listed = {each["id"]: each["transports"] for each in asked["options"]["excludeCredentials"]}
    assert listed == {
        base64url(one.held[0].id): ["usb"],
        base64url(key.held[0].id): ["internal", "hybrid"],
    }


async def test_options_to_sign_in_tell_of_nobody(open_auth_pool: AuthPool):
    await register(open_auth_pool, await open_auth_pool.sign_up(), Authenticator())

    asked = await open_auth_pool.ok("POST", f"{AUTHENTICATION}/options")

    assert set(asked) == {"challenge_id", "options", "expires_at"}
    assert {**asked["options"], "challenge": ""} == {
        "challenge": "",
        "rpId": RP_ID,
        "timeout": 300_000,
        "allowCredentials": [],
        "userVerification": "preferred",
    }


async def test_the_list_shows_when_each_was_used(open_auth_pool: AuthPool):
    signed, one, other = (
        await open_auth_pool.sign_up(),
        Authenticator(),
        Authenticator(aaguid=uuid.UUID(int=0)),
    )
    first = await register(open_auth_pool, signed, one)
    second = await register(open_auth_pool, signed, other)
    await register(open_auth_pool, await open_auth_pool.sign_up(), Authenticator())
    await enter(open_auth_pool, one)

    listed = await open_auth_pool.ok("GET", "/passkeys", None, signed.caller)

    assert listed == [{**first, "last_used_at": listed[0]["last_used_at"]}, second]
    assert second["friendly_name"] == "Passkey"
    assert listed[0]["last_used_at"] > first["created_at"]


async def test_counters_and_backups_are_kept(open_auth_pool: AuthPool):
    signed, one = await open_auth_pool.sign_up(), Authenticator(flags=PRESENT | VERIFIED | ELIGIBLE)
    await register(open_auth_pool, signed, one)
    one.flags |= BACKED_UP
    await enter(open_auth_pool, one)
    await enter(open_auth_pool, one)

    row = await open_auth_pool.admin.fetchrow(
        "select * from auth.webauthn_credentials where user_id = $1", uuid.UUID(signed.id)
    )

    assert row is not None
    assert (row["sign_count"], row["backup_eligible"], row["backed_up"]) == (3, True, True)
    assert (row["credential_id"], row["attestation_type"]) == (one.held[0].id, "none")
    assert json.loads(row["transports"]) == ["internal", "hybrid"]
    assert row["aaguid"] == one.aaguid


async def test_an_authenticator_that_does_not_count_signs_in_again_and_again(open_auth_pool: AuthPool):
    signed, one = await open_auth_pool.sign_up(), Authenticator(counts=False)
    await register(open_auth_pool, signed, one)

    assert {(await enter(open_auth_pool, one)).id for _ in range(3)} == {signed.id}


async def test_many_users_share_an_authenticator(open_auth_pool: AuthPool):
    one, users = Authenticator(), [await open_auth_pool.sign_up() for _ in range(2)]
    for each in users:
        await register(open_auth_pool, each, one)

    asked = await open_auth_pool.ok("POST", f"{AUTHENTICATION}/options")
    credential = one.get(asked["options"], one.held[0])
    body = await open_auth_pool.ok(
        "POST", f"{AUTHENTICATION}/verify", {"challenge_id": asked["challenge_id"], "credential": credential}
    )

    assert body["user"]["id"] == users[0].id


# --- Names and ends ----------------------------------------------------------------------------------------------


async def test_a_passkey_gets_another_name(open_auth_pool: AuthPool):
    signed = await open_auth_pool.sign_up()
    made = await register(open_auth_pool, signed, Authenticator())

    changed = await open_auth_pool.ok(
        "PATCH", f"/passkeys/{made['id']}", {"friendly_name": " Grüße 🔑 "}, signed.caller
    )

    assert changed == {**made, "friendly_name": "Grüße 🔑"}
    assert await open_auth_pool.ok("GET", "/passkeys", None, signed.caller) == [changed]


@pytest.mark.parametrize("name", ["", " ", "x" * 121, "a\0b", None])
async def test_a_name_that_is_none_is_refused(open_auth_pool: AuthPool, name: str | None):
    signed = await open_auth_pool.sign_up()
    made = await register(open_auth_pool, signed, Authenticator())

    told = await open_auth_pool.refused(
        "PATCH", f"/passkeys/{made['id']}", {"friendly_name": name}, signed.caller
    )

    assert told == (400, "validation_failed", "friendly_name must have 1 to 120 characters")
    await open_auth_pool.ok("PATCH", f"/passkeys/{made['id']}", {"friendly_name": "x" * 120}, signed.caller)


async def test_a_deleted_passkey_signs_nobody_in(open_auth_pool: AuthPool):
    signed, one = await open_auth_pool.sign_up(), Authenticator()
    made = await register(open_auth_pool, signed, one)

    response = await open_auth_pool.send("DELETE", f"/passkeys/{made['id']}", None, signed.caller)

    assert (response.status, response.body) == (204, b"")
    assert await open_auth_pool.ok("GET", "/passkeys", None, signed.caller) == []
    assert await verify_refused(open_auth_pool, AUTHENTICATION, await entering(open_auth_pool, one)) == (
        400, "webauthn_verification_failed", "Passkey could not be verified: the credential is not that of a passkey",
    )  # fmt: skip


@pytest.mark.parametrize("id", ["", "x", str(uuid.uuid4())])
async def test_a_passkey_that_is_not_there_is_not_found(open_auth_pool: AuthPool, id: str):
    signed, other = await open_auth_pool.sign_up(), await open_auth_pool.sign_up()
    named = id or (await register(open_auth_pool, other, Authenticator()))["id"]

    body = {"friendly_name": "mine"}
    assert await open_auth_pool.refused("PATCH", f"/passkeys/{named}", body, signed.caller) == NOT_FOUND
    assert await open_auth_pool.refused("DELETE", f"/passkeys/{named}", None, signed.caller) == NOT_FOUND
    assert len(await open_auth_pool.ok("GET", "/passkeys", None, other.caller)) == (0 if id else 1)


async def test_admins_see_and_delete_passkeys_of_anybody(open_auth_pool: AuthPool):
    signed, one = await open_auth_pool.sign_up(), Authenticator()
    made = await register(open_auth_pool, signed, one)
    path = f"/admin/users/{signed.id}/passkeys"

    assert await open_auth_pool.ok("GET", path, None, ADMIN) == [made]
    other = (await open_auth_pool.sign_up()).id
    assert (
        await open_auth_pool.refused("DELETE", f"/admin/users/{other}/passkeys/{made['id']}", None, ADMIN)
        == NOT_FOUND
    )
    assert (await open_auth_pool.send("DELETE", f"{path}/{made['id']}", None, ADMIN)).status == 204
    assert await open_auth_pool.ok("GET", path, None, ADMIN) == []
    assert await open_auth_pool.refused("DELETE", f"{path}/{made['id']}", None, ADMIN) == NOT_FOUND
    assert (await open_auth_pool.refused("GET", f"/admin/users/{uuid.uuid4()}/passkeys", None, ADMIN))[:2] == (
        404, "user_not_found",
    )  # fmt: skip
    assert (await open_auth_pool.refused("GET", "/admin/users/x/passkeys", None, ADMIN))[:2] == (
        404, "validation_failed",
    )  # fmt: skip


# --- Who may -----------------------------------------------------------------------------------------------------


async def test_where_passkeys_are_off_admins_find_none(plain: AuthPool):
    path = f"/admin/users/{uuid.uuid4()}/passkeys"
    off = (404, "passkey_disabled", "Passkeys are disabled")

    assert await plain.refused("GET", path, None, ADMIN) == off
    assert await plain.refused("DELETE", f"{path}/{uuid.uuid4()}", None, ADMIN) == off


async def test_anonymous_users_have_no_passkeys(open_auth_pool: AuthPool):
    signed = open_auth_pool.signed(await open_auth_pool.ok("POST", "/signup", {}))
    body = {"challenge_id": str(uuid.uuid4()), "credential": {}}

    for path in ("options", "verify"):
        told = await open_auth_pool.refused("POST", f"{REGISTRATION}/{path}", body, signed.caller)
        assert told[:2] == (403, "no_authorization")


async def test_users_of_single_sign_on_have_no_passkeys(open_auth_pool: AuthPool):
    signed = await open_auth_pool.sign_up()
    await open_auth_pool.admin.execute(
        "update auth.users set is_sso_user = true where id = $1", uuid.UUID(signed.id)
    )

    told = await open_auth_pool.refused("POST", f"{REGISTRATION}/options", {}, signed.caller)

    assert told[:2] == (422, "user_sso_managed")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("email_confirmed_at = null", "email_not_confirmed"),
        ("email_confirmed_at = null, email = null, phone = substr(id::text, 1, 8)", "phone_not_confirmed"),
        ("banned_until = now() + interval '1 day'", "user_banned"),
    ],
)
async def test_who_may_not_sign_in_may_not_with_a_passkey(open_auth_pool: AuthPool, change: str, code: str):
    signed, one = await open_auth_pool.sign_up(), Authenticator()
    await register(open_auth_pool, signed, one)
    await open_auth_pool.admin.execute(f"update auth.users set {change} where id = $1", uuid.UUID(signed.id))

    told = await verify_refused(open_auth_pool, AUTHENTICATION, await entering(open_auth_pool, one))

    assert told[:2] == (403, code)
    told = await open_auth_pool.refused("POST", f"{REGISTRATION}/options", {}, signed.caller)
    assert told[:2] == (403, code)


async def test_who_confirmed_one_address_needs_no_other(open_auth_pool: AuthPool):
    signed, one = await open_auth_pool.sign_up(), Authenticator()
    await open_auth_pool.admin.execute(
        "update auth.users set phone = substr(id::text, 1, 8), phone_confirmed_at = now(), email_confirmed_at = null"
        " where id = $1",
        uuid.UUID(signed.id),
    )

    await register(open_auth_pool, signed, one)

    assert (await enter(open_auth_pool, one)).id == signed.id


async def test_a_deleted_user_has_no_passkeys(open_auth_pool: AuthPool):
    signed, one = await open_auth_pool.sign_up(), Authenticator()
    await register(open_auth_pool, signed, one)
    answer = await entering(open_auth_pool, one)
    await open_auth_pool.ok("DELETE", f"/admin/users/{signed.id}", {"should_soft_delete": True}, ADMIN)

    assert (await verify_refused(open_auth_pool, AUTHENTICATION, answer))[1] == "webauthn_verification_failed"


async def test_who_has_a_second_factor_needs_it_to_add_and_delete(open_auth_pool: AuthPool):
    signed = await open_auth_pool.sign_up()
    made = await register(open_auth_pool, signed, Authenticator())
    late = await registering(open_auth_pool, signed, Authenticator())
    _, raised = await enrolled(open_auth_pool, signed, Authenticator())
    low = await open_auth_pool.sign_in(signed.email)
    by_hand = UserCaller(b'{"sub":"%s","role":"authenticated"}' % signed.id.encode())

    for caller in (low.caller, by_hand):
        assert await open_auth_pool.refused("POST", f"{REGISTRATION}/options", {}, caller) == LOW
        assert await verify_refused(open_auth_pool, REGISTRATION, late, caller) == LOW
        assert await open_auth_pool.refused("DELETE", f"/passkeys/{made['id']}", None, caller) == LOW
        assert len(await open_auth_pool.ok("GET", "/passkeys", None, caller)) == 1

    await register(open_auth_pool, raised, Authenticator())
    assert (await open_auth_pool.send("DELETE", f"/passkeys/{made['id']}", None, raised.caller)).status == 204


async def test_a_passkey_is_no_second_factor(open_auth_pool: AuthPool):
    signed, one = await open_auth_pool.sign_up(), Authenticator()
    await register(open_auth_pool, signed, one)
    await enrolled(open_auth_pool, signed, Authenticator())

    assert claims_of((await enter(open_auth_pool, one)).caller)["aal"] == "aal1"


# --- Challenges --------------------------------------------------------------------------------------------------


async def test_a_challenge_works_once_even_after_a_wrong_answer(open_auth_pool: AuthPool):
    signed, one = await open_auth_pool.sign_up(), Authenticator()
    right = await registering(open_auth_pool, signed, one)

    wrong = {**right, "credential": {}}
    assert (await verify_refused(open_auth_pool, REGISTRATION, wrong, signed.caller))[:2] == UNVERIFIED
    assert await verify_refused(open_auth_pool, REGISTRATION, right, signed.caller) == NO_CHALLENGE

    await register(open_auth_pool, signed, one)
    answer = await entering(open_auth_pool, one)
    await open_auth_pool.ok("POST", f"{AUTHENTICATION}/verify", answer)
    assert await verify_refused(open_auth_pool, AUTHENTICATION, answer) == NO_CHALLENGE


async def test_of_ten_at_once_one_registers(open_auth_pool: AuthPool):
    signed, one = await open_auth_pool.sign_up(), Authenticator()
    answer = await registering(open_auth_pool, signed, one)

    responses = await asyncio.gather(
        *(open_auth_pool.send("POST", f"{REGISTRATION}/verify", answer, signed.caller) for _ in range(10))
    )

    assert sorted(each.status for each in responses) == [200] + [400] * 9
    assert len(await open_auth_pool.ok("GET", "/passkeys", None, signed.caller)) == 1


@pytest.mark.parametrize("counts", [True, False])
async def test_of_ten_at_once_one_signs_in(open_auth_pool: AuthPool, counts: bool):
    signed, one = await open_auth_pool.sign_up(), Authenticator(counts=counts)
    await register(open_auth_pool, signed, one)
    answer = await entering(open_auth_pool, one)

    responses = await asyncio.gather(
        *(open_auth_pool.send("POST", f"{AUTHENTICATION}/verify", answer) for _ in range(10))
    )

    assert sorted(each.status for each in responses) == [200] + [400] * 9
    assert len(await open_auth_pool.sessions_of(signed.id)) == 2


async def test_of_two_uses_with_the_same_count_at_once_one_signs_in(open_auth_pool: AuthPool):
    signed, one = await open_auth_pool.sign_up(), Authenticator()
    await register(open_auth_pool, signed, one)
    answers = []
    for _ in range(4):
        one.held[0].count = 1
        answers.append(await entering(open_auth_pool, one))

    responses = await asyncio.gather(
        *(open_auth_pool.send("POST", f"{AUTHENTICATION}/verify", each) for each in answers)
    )

    assert sorted(each.status for each in responses) == [200, 400, 400, 400]


async def test_an_old_challenge_is_refused_and_gone(open_auth_pool: AuthPool):
    signed, one = await open_auth_pool.sign_up(), Authenticator()
    await register(open_auth_pool, signed, one)
    entered, made = (
        await entering(open_auth_pool, one),
        await registering(open_auth_pool, signed, Authenticator()),
    )

    open_auth_pool.clock.forward(seconds=301)

    assert await verify_refused(open_auth_pool, AUTHENTICATION, entered) == EXPIRED
    assert await verify_refused(open_auth_pool, AUTHENTICATION, entered) == NO_CHALLENGE
    assert await verify_refused(open_auth_pool, REGISTRATION, made, signed.caller) == EXPIRED


async def test_a_challenge_lasts_as_long_as_the_settings_say(open_auth_pool: AuthPool):
    longer = open_auth_pool.having(webauthn__challenge_expiry_duration=600.0)
    signed, one = await longer.sign_up(), Authenticator()
    await register(longer, signed, one)
    answer = await entering(longer, one)

    longer.clock.forward(seconds=590)

    await longer.ok("POST", f"{AUTHENTICATION}/verify", answer)


async def test_a_challenge_of_somebody_else_is_none(open_auth_pool: AuthPool):
    signed, other = await open_auth_pool.sign_up(), await open_auth_pool.sign_up()
    answer = await registering(open_auth_pool, signed, Authenticator())

    assert await verify_refused(open_auth_pool, REGISTRATION, answer, other.caller) == NO_CHALLENGE
    await open_auth_pool.ok("POST", f"{REGISTRATION}/verify", answer, signed.caller)


async def test_a_challenge_of_another_kind_is_none(open_auth_pool: AuthPool):
    signed, one = await open_auth_pool.sign_up(), Authenticator()
    await register(open_auth_pool, signed, one)
    making = await open_auth_pool.ok("POST", f"{REGISTRATION}/options", {}, signed.caller)
    using = await open_auth_pool.ok("POST", f"{AUTHENTICATION}/options")
    used = one.get({**using["options"], "challenge": making["options"]["challenge"]})
    made = one.create({**making["options"], "challenge": using["options"]["challenge"]})

    crossed = {"challenge_id": making["challenge_id"], "credential": used}
    assert await verify_refused(open_auth_pool, AUTHENTICATION, crossed) == NO_CHALLENGE
    crossed = {"challenge_id": using["challenge_id"], "credential": made}
    assert await verify_refused(open_auth_pool, REGISTRATION, crossed, signed.caller) == NO_CHALLENGE


@pytest.mark.parametrize("id", ["x", str(uuid.uuid4()), "\0"])
async def test_an_unknown_challenge_is_none(open_auth_pool: AuthPool, id: str):
    signed = await open_auth_pool.sign_up()
    body = {"challenge_id": id, "credential": {"id": "x"}}

    assert await verify_refused(open_auth_pool, AUTHENTICATION, body) == NO_CHALLENGE
    assert await verify_refused(open_auth_pool, REGISTRATION, body, signed.caller) == NO_CHALLENGE


@pytest.mark.parametrize(
    "body",
    [{}, {"challenge_id": str(uuid.uuid4())}, {"credential": {}}, {"challenge_id": "", "credential": {}}],
)
async def test_an_answer_needs_both_parts(open_auth_pool: AuthPool, body: object):
    signed = await open_auth_pool.sign_up()

    for where in (REGISTRATION, AUTHENTICATION):
        told = await verify_refused(open_auth_pool, where, body, signed.caller)
        assert told == (400, "validation_failed", "challenge_id and credential are required")


# --- Wrong answers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", MISBEHAVED)
async def test_a_misbehaving_authenticator_registers_nothing(open_auth_pool: AuthPool, wrong: str):
    signed = await open_auth_pool.sign_up()
    answer = await registering(open_auth_pool, signed, replace(MISBEHAVED[wrong], held=[]))

    assert (await verify_refused(open_auth_pool, REGISTRATION, answer, signed.caller))[:2] == UNVERIFIED
    assert await open_auth_pool.ok("GET", "/passkeys", None, signed.caller) == []


@pytest.mark.parametrize("wrong", [*MISBEHAVED, "counter", "foreign key", "no user", "user of somebody else"])
async def test_a_misbehaving_authenticator_signs_nobody_in(open_auth_pool: AuthPool, wrong: str):
    signed, one = await open_auth_pool.sign_up(), Authenticator()
    await register(open_auth_pool, signed, one)
    await enter(open_auth_pool, one)
    held = replace(one.held[0])
    match wrong:
        case "counter":
            held.count = 1
        case "foreign key":
            held.key = (await _other(open_auth_pool)).held[0].key
        case "no user":
            held.user_handle = b""
        case "user of somebody else":
            held.user_handle = (await open_auth_pool.sign_up()).id.encode()
    bad = replace(MISBEHAVED.get(wrong, one), held=[held])

    told = await verify_refused(open_auth_pool, AUTHENTICATION, await entering(open_auth_pool, bad))

    assert told[:2] == UNVERIFIED
    assert len(await open_auth_pool.sessions_of(signed.id)) == 2


async def test_the_wrong_origin_is_told_so(open_auth_pool: AuthPool):
    signed = await open_auth_pool.sign_up()
    answer = await registering(open_auth_pool, signed, Authenticator(origin="http://localhost:3000"))

    assert await verify_refused(open_auth_pool, REGISTRATION, answer, signed.caller) == (
        400,
        "webauthn_verification_failed",
        "Passkey could not be verified: the page's origin is not among auth.webauthn.rp_origins",
    )


async def test_a_foreign_credential_for_ones_own_id_is_refused(open_auth_pool: AuthPool):
    """Somebody answers with a passkey of his own and names another user: the passkey is its owner's."""
    victim, thief = await open_auth_pool.sign_up(), await open_auth_pool.sign_up()
    theirs, own = Authenticator(), Authenticator()
    await register(open_auth_pool, victim, theirs)
    await register(open_auth_pool, thief, own)
    own.held[0].user_handle = victim.id.encode()

    told = await verify_refused(open_auth_pool, AUTHENTICATION, await entering(open_auth_pool, own))

    assert told[:2] == UNVERIFIED


async def test_a_credential_is_registered_once(open_auth_pool: AuthPool):
    signed, other, one = await open_auth_pool.sign_up(), await open_auth_pool.sign_up(), Authenticator()
    await register(open_auth_pool, signed, one)

    for each in (signed, other):
        answer = await registering(open_auth_pool, each, Authenticator(), id=one.held[0].id)
        assert await verify_refused(open_auth_pool, REGISTRATION, answer, each.caller) == (
            422, "webauthn_credential_exists", "This credential is registered already",
        )  # fmt: skip
    assert (await enter(open_auth_pool, one)).id == signed.id


# --- How many ----------------------------------------------------------------------------------------------------


async def test_a_user_has_so_many_passkeys_and_no_more(open_auth_pool: AuthPool):
    few = open_auth_pool.having(passkey__max_passkeys_per_user=2)
    signed, too_many = await few.sign_up(), (422, "too_many_passkeys", "A user can have at most 2 passkeys")
    answers = [await registering(few, signed, Authenticator()) for _ in range(5)]

    responses = await asyncio.gather(
        *(few.send("POST", f"{REGISTRATION}/verify", each, signed.caller) for each in answers)
    )

    assert sorted(each.status for each in responses) == [200, 200, 422, 422, 422]
    assert await few.refused("POST", f"{REGISTRATION}/options", {}, signed.caller) == too_many
    listed: list[dict[str, Any]] = await few.ok("GET", "/passkeys", None, signed.caller)
    assert len(listed) == 2
    await few.ok("DELETE", f"/passkeys/{listed[0]['id']}", None, signed.caller)
    await register(few, signed, Authenticator())


async def _other(auth_pool: AuthPool) -> Authenticator:
    one = Authenticator()
    await register(auth_pool, await auth_pool.sign_up(address()), one)
    return one
