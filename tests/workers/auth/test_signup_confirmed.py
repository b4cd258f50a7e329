"""POST /signup where addresses must be confirmed (reference, 4.1): what is sent, and what nobody learns."""

import asyncio
import json
import uuid

import pytest

from tests.workers.auth.auth_pool import PASSWORD, AuthPool, address, claims_of, number
from tests.workers.auth.office import Office, Phones, landed
from workers.auth.model.pkce import s256

VERIFIER = "v" * 43
CHALLENGE = {"code_challenge": s256(VERIFIER), "code_challenge_method": "s256"}


async def test_a_sign_up_gives_a_user_without_a_session_and_sends_a_link(mailed: AuthPool, office: Office):
    email = address()

    user = await mailed.ok("POST", "/signup", {"email": email, "password": PASSWORD, "data": {"n": 1}})

    assert "access_token" not in user
    assert (user["email"], user["role"], user["aud"]) == (email, "authenticated", "authenticated")
    assert user["confirmation_sent_at"]
    assert "email_confirmed_at" not in user
    assert user["user_metadata"] == {
        "n": 1, "sub": user["id"], "email": email, "email_verified": False, "phone_verified": False,
    }  # fmt: skip
    assert user["identities"][0]["identity_data"]["email_verified"] is False
    assert office.to(email)[0].subject == "Confirm your email address"
    refused = await mailed.refused(
        "POST", "/token?grant_type=password", {"email": email, "password": PASSWORD}
    )
    assert refused == (400, "email_not_confirmed", "Email not confirmed")


async def test_the_link_confirms_and_gives_a_session(mailed: AuthPool, office: Office):
    email = address()
    user = await mailed.ok(
        "POST", "/signup?redirect_to=http://127.0.0.1:3000/hi", {"email": email, "password": PASSWORD}
    )

    target, _, fragment = landed(await mailed.send("GET", office.path(email)))

    assert target == "http://127.0.0.1:3000/hi"
    assert set(fragment) == {
        "access_token", "expires_at", "expires_in", "refresh_token", "sb", "token_type", "type",
    }  # fmt: skip
    assert (fragment["token_type"], fragment["type"], fragment["sb"]) == ("bearer", "signup", "")
    signed = mailed.signed({**fragment})
    assert (await mailed.ok("GET", "/user", None, signed.caller))["id"] == user["id"]
    shown = (await mailed.sign_in(email)).body["user"]
    assert shown["email_confirmed_at"]
    assert shown["user_metadata"]["email_verified"] is True
    assert shown["identities"][0]["identity_data"]["email_verified"] is True


async def test_a_phone_is_confirmed_by_its_code(texted: AuthPool, phones: Phones):
    phone = number()

    user = await texted.ok("POST", "/signup", {"phone": phone, "password": PASSWORD})
    refused = await texted.refused(
        "POST", "/token?grant_type=password", {"phone": phone, "password": PASSWORD}
    )
    body = {"type": "sms", "phone": phone, "token": phones.code(phone)}
    verified = await texted.ok("POST", "/verify", body)

    assert (user["phone"], user["user_metadata"]["phone_verified"]) == (phone, False)
    assert refused == (400, "phone_not_confirmed", "Phone not confirmed")
    assert verified["user"]["id"] == user["id"]


@pytest.mark.parametrize("field", ["email", "phone"])
async def test_an_address_that_is_confirmed_is_not_told_apart(
    texted: AuthPool, office: Office, phones: Phones, field: str
):
    to = {field: {"email": address(), "phone": number()}[field], "password": PASSWORD}
    automatic = texted.having(email__enable_confirmations=False, sms__enable_confirmations=False)
    real = (await automatic.ok("POST", "/signup", to))["user"]

    fake = await texted.ok("POST", "/signup", {**to, "password": "another one", "data": {"n": 2}})
    new = await texted.ok(
        "POST", "/signup", {field: {"email": address(), "phone": number()}[field], "password": PASSWORD}
    )

    assert set(fake) == set(new)
    assert fake["id"] != real["id"]
    assert uuid.UUID(fake["id"]).version == uuid.UUID(new["id"]).version
    assert (fake["identities"], fake["role"], fake["user_metadata"]) == ([], "", {"n": 2})
    assert (fake["app_metadata"], fake[field], fake["aud"]) == (new["app_metadata"], to[field], new["aud"])
    assert (len(office.caught), len(phones.provider.asked)) == ((1, 0) if field == "email" else (0, 1))
    assert not await texted.value("select count(*) from auth.users where id = $1", uuid.UUID(fake["id"]))


async def test_asking_twice_does_not_tell_confirmed_from_unconfirmed(mailed: AuthPool):
    slow, confirmed, fresh = mailed.having(email__max_frequency=60.0), address(), address()
    await mailed.having(email__enable_confirmations=False).sign_up(confirmed)

    for email in (confirmed, fresh):
        answers = [
            await slow.send("POST", "/signup", {"email": email, "password": PASSWORD}) for _ in range(2)
        ]
        answers.append(await slow.send("POST", "/resend", {"email": email, "type": "signup"}))
        assert [each.status for each in answers] == [200, 429, 429]


async def test_signing_up_again_sends_again_and_changes_nothing(mailed: AuthPool, office: Office):
    email = address()
    first = await mailed.ok("POST", "/signup", {"email": email, "password": PASSWORD, "data": {"n": 1}})
    second = await mailed.ok(
        "POST", "/signup", {"email": email, "password": "of a stranger", "data": {"n": 2}}
    )

    assert len(office.to(email)) == 2
    assert second["id"] == first["id"]
    assert second["user_metadata"]["n"] == 1
    await mailed.send("GET", office.path(email))
    await mailed.sign_in(email)
    refused = await mailed.refused(
        "POST", "/token?grant_type=password", {"email": email, "password": "of a stranger"}
    )
    assert refused[1] == "invalid_credentials"


async def test_of_many_who_sign_up_at_once_there_is_one_account(mailed: AuthPool, office: Office):
    body = {"email": address(), "password": PASSWORD}

    answers = await asyncio.gather(*(mailed.send("POST", "/signup", body) for _ in range(6)))

    assert {each.status for each in answers} == {200}
    assert len({json.loads(each.body)["id"] for each in answers}) == 1


async def test_as_much_is_hashed_for_known_addresses_as_for_others(mailed: AuthPool):
    confirmed = (await mailed.having(email__enable_confirmations=False).sign_up()).email
    counts = []
    for email in (confirmed, address()):
        before = mailed.hashing.made
        await mailed.ok("POST", "/signup", {"email": email, "password": PASSWORD})
        counts.append(mailed.hashing.made - before)

    assert counts == [1, 1]


async def test_with_a_challenge_the_link_gives_a_code_for_the_session(mailed: AuthPool, office: Office):
    email = address()
    await mailed.ok("POST", "/signup", {"email": email, "password": PASSWORD, **CHALLENGE})

    _, query, fragment = landed(await mailed.send("GET", office.path(email)))
    body = {"auth_code": query["code"], "code_verifier": VERIFIER}
    session = await mailed.ok("POST", "/token?grant_type=pkce", body)

    assert (set(query), fragment) == ({"code"}, {})
    signed = mailed.signed(session)
    assert [each["method"] for each in claims_of(signed.caller)["amr"]] == ["email/signup"]


@pytest.mark.parametrize(
    "challenge", [{"code_challenge": "x" * 43}, {"code_challenge": "x", "code_challenge_method": "s256"}]
)
async def test_half_a_challenge_makes_nobody(mailed: AuthPool, challenge: dict[str, str]):
    email = address()

    status, code, _ = await mailed.refused(
        "POST", "/signup", {"email": email, "password": PASSWORD, **challenge}
    )

    assert (status, code) == (400, "validation_failed")
    assert not await mailed.value("select count(*) from auth.users where email = $1", email)


async def test_a_channel_that_is_not_offered_makes_nobody(texted: AuthPool):
    phone = number()
    body = {"phone": phone, "password": PASSWORD, "channel": "pigeon"}

    assert (await texted.refused("POST", "/signup", body))[:2] == (400, "validation_failed")
    assert not await texted.value("select count(*) from auth.users where phone = $1", phone)


async def test_a_trigger_of_the_project_may_refuse_and_nothing_is_sent(mailed: AuthPool, office: Office):
    email = address()
    await mailed.admin.execute(
        "create function auth.no_guests() returns trigger language plpgsql as $$ begin"
        " if new.email like 'guest%' then raise exception 'no guests'; end if; return new; end $$"
    )
    await mailed.admin.execute(
        "create trigger no_guests before insert on auth.users for each row execute function auth.no_guests()"
    )
    try:
        response = await mailed.send("POST", "/signup", {"email": f"guest{email}", "password": PASSWORD})
    finally:
        await mailed.admin.execute("drop trigger no_guests on auth.users")
        await mailed.admin.execute("drop function auth.no_guests()")

    assert response.status == 500
    assert json.loads(response.body)["msg"] == "no guests"
    assert len(office.caught) == 0


async def test_a_code_confirms_no_password_that_somebody_else_chose(mailed: AuthPool, office: Office):
    email = address()
    await mailed.ok("POST", "/signup", {"email": email, "password": PASSWORD})

    await mailed.ok("POST", "/otp", {"email": email})
    await mailed.send("GET", office.path(email))

    wrong = {"email": email, "password": PASSWORD}
    assert (await mailed.refused("POST", "/token?grant_type=password", wrong))[1] == "invalid_credentials"
    assert await mailed.value("select email_confirmed_at is not null from auth.users where email = $1", email)


async def test_a_lost_password_of_an_account_that_nobody_confirmed_is_gone(mailed: AuthPool, office: Office):
    email = address()
    await mailed.ok("POST", "/signup", {"email": email, "password": PASSWORD})

    await mailed.ok("POST", "/recover", {"email": email})
    await mailed.send("GET", office.path(email))

    wrong = {"email": email, "password": PASSWORD}
    assert (await mailed.refused("POST", "/token?grant_type=password", wrong))[1] == "invalid_credentials"
