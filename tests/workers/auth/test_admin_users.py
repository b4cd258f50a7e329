"""/admin/users: made, seen, changed, banned. Reference, sections 2.1 and 16.2 to 16.4."""

import json
import uuid
from typing import Any

import pytest

from schemas.caller import Caller, UserCaller
from tests.workers.auth.house import ADMIN, PASSWORD, House, address, number
from tests.workers.auth.test_user import with_claims

EMAIL_EXISTS = (422, "email_exists", "A user with this email address has already been registered")
PHONE_EXISTS = (422, "phone_exists", "A user with this phone number has already been registered")
NOT_FOUND = (404, "user_not_found", "User not found")
NO_ID = (404, "validation_failed", "user_id must be an UUID")
BCRYPT = "$2y$10$SXEz2HeT8PUIGQXo9yeUIem8KzNxgG0d7o/.eGj2rj8KbRgAuRVlq"
FBSCRYPT = (
    "$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=ou9tdYTGyYm8kuR6Dt0Bp0kDuAYoXrK16mbZO4yGwAn3oLspjnN0/c41v8xZnO1n14J3MjKj1b2g6AUCAlFwMw==$"
    "C0sHCg9ek77hsg==$ZGlmZmVyZW50aGFzaA=="
)


async def made(house: House, **body: object) -> Any:
    return await house.ok("POST", "/admin/users", {"email": address(), **body}, ADMIN)


async def changed(house: House, id: str, **body: object) -> Any:
    return await house.ok("PUT", f"/admin/users/{id}", body, ADMIN)


async def seen(house: House, id: str) -> Any:
    return await house.ok("GET", f"/admin/users/{id}", None, ADMIN)


async def deleted(house: House, id: str, *, softly: bool = False) -> Any:
    return await house.ok("DELETE", f"/admin/users/{id}", {"should_soft_delete": softly}, ADMIN)


async def sign_in_refused(house: House, **body: object) -> tuple[int, str, str]:
    return await house.refused("POST", "/token?grant_type=password", {"password": PASSWORD, **body})


# --- Who may -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/admin/users"),
        ("GET", "/admin/users/{id}"),
        ("PUT", "/admin/users/{id}"),
        ("DELETE", "/admin/users/{id}"),
    ],
)
async def test_only_admins_may(house: House, method: str, path: str):
    signed = await house.sign_up()
    path = path.format(id=signed.id)
    body = {"email": address()} if method == "POST" else {}

    assert (await house.refused(method, path, body))[:2] == (401, "no_authorization")
    assert await house.refused(method, path, body, signed.caller) == (403, "not_admin", "User not allowed")
    assert (await house.refused(method, path, body, apikey="sb_publishable_a_b"))[:2] == (403, "not_admin")
    for role in ("anon", "authenticated", "", "Service_role"):
        claims = UserCaller(json.dumps({"role": role}).encode())
        assert (await house.refused(method, path, body, claims))[1] == "not_admin"
    gone = with_claims(signed, role="service_role", session_id=str(uuid.uuid4()))
    assert (await house.refused(method, path, body, gone))[:2] == (403, "session_not_found")
    await house.ok("GET", "/user", None, signed.caller)


@pytest.mark.parametrize(
    "claims",
    [{"role": "service_role"}, {"role": "supabase_admin"}, {"role": "supabase_admin", "sub": "a robot"}],
)
async def test_a_role_is_enough_without_an_account(house: House, claims: dict[str, str]):
    caller: Caller = UserCaller(json.dumps(claims).encode())

    user = await house.ok("POST", "/admin/users", {"email": address()}, caller)

    assert (await house.ok("GET", f"/admin/users/{user['id']}", None, caller))["email"] == user["email"]
    assert await house.value(
        "select payload ->> 'actor_id' from auth.audit_log_entries where payload -> 'traits' ->> 'user_id' = $1",
        user["id"],
    ) == str(uuid.UUID(int=0))


async def test_an_admin_with_an_account_is_named_in_the_audit_log(house: House):
    boss = await house.sign_up()

    user = await house.ok(
        "POST", "/admin/users", {"email": address()}, with_claims(boss, role="supabase_admin")
    )

    payload = await house.value(
        "select payload::text from auth.audit_log_entries where payload -> 'traits' ->> 'user_id' = $1",
        user["id"],
    )
    assert (json.loads(payload)["actor_id"], json.loads(payload)["actor_username"]) == (boss.id, boss.email)


# --- Made --------------------------------------------------------------------------------------------------------


async def test_an_account_is_made_and_no_session(house: House):
    email, phone, id = address(), number(), str(uuid.uuid4())

    user = await made(house, email=email.upper(), phone=f"+{phone}", password=PASSWORD, id=id)

    assert (user["id"], user["email"], user["phone"]) == (id, email, phone)
    assert (user["role"], user["aud"], user["is_anonymous"]) == ("authenticated", "authenticated", False)
    assert (user["user_metadata"], user["app_metadata"]) == (
        {},
        {"provider": "email", "providers": ["email", "phone"]},
    )
    assert {each["provider"] for each in user["identities"]} == {"email", "phone"}
    assert "email_confirmed_at" not in user
    assert "access_token" not in user
    assert user == await seen(house, id)
    assert (await sign_in_refused(house, email=email))[1] == "email_not_confirmed"
    assert (await sign_in_refused(house, phone=phone))[1] == "phone_not_confirmed"


async def test_metadata_are_exactly_those_given(house: House):
    data: dict[str, object] = {"name": "Ada", "none": None, "deep": {"a": [1, {"b": None}]}, "sub": "her own"}

    user = await made(house, user_metadata=data)

    assert user["user_metadata"] == data


async def test_confirmed_addresses_let_in_and_say_so(house: House):
    phone = number()

    user = await made(
        house, phone=phone, password=PASSWORD, email_confirm=True, phone_confirm=True, user_metadata={"a": 1}
    )

    assert user["user_metadata"] == {"a": 1, "email_verified": True}
    assert user["confirmed_at"] == min(user["email_confirmed_at"], user["phone_confirmed_at"])
    assert (await house.sign_in(user["email"])).id == user["id"]
    by_phone = await house.ok("POST", "/token?grant_type=password", {"phone": phone, "password": PASSWORD})
    assert by_phone["user"]["id"] == user["id"]


async def test_what_an_admin_gives_beside(house: House):
    user = await made(
        house, role="editor", aud="elsewhere", ban_duration="24h30m",
        app_metadata={"plan": "gold", "provider": "invoice"},
    )  # fmt: skip

    assert (user["role"], user["aud"]) == ("editor", "elsewhere")
    assert user["app_metadata"] == {"provider": "invoice", "providers": ["email"], "plan": "gold"}
    assert user["banned_until"]


async def test_without_a_password_nobody_enters_by_one(house: House):
    user = await made(house, email_confirm=True)

    for password in ("", PASSWORD):
        assert (await sign_in_refused(house, email=user["email"], password=password))[
            1
        ] == "invalid_credentials"
    kept = await house.value("select encrypted_password from auth.users where id = $1", uuid.UUID(user["id"]))
    assert kept.startswith("$argon2id$")


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ({}, (400, "validation_failed", "Cannot create a user without either an email or phone")),
        ({"email": "x"}, (400, "validation_failed", "Unable to validate email address: invalid format")),
        ({"phone": "x"}, (400, "validation_failed", "Invalid phone number format (E.164 required)")),
        ({"email": "a@b.org", "password": "123"}, (422, "weak_password", "Password should be at least 6 characters.")),
        ({"email": "a@b.org", "password": PASSWORD, "password_hash": BCRYPT}, (400, "validation_failed", "Only a password or a password hash should be provided")),
        ({"email": "a@b.org", "password_hash": "plain text"}, (400, "validation_failed", "The password hash is of no known kind")),
        ({"email": "a@b.org", "password_hash": "$argon2id$v=19$m=2097152,t=1,p=1$c29tZXNhbHQ$aGFzaGhhc2hoYXNoaGFzaA"}, (400, "validation_failed", "The password hash is of no known kind")),
        ({"email": "a@b.org", "id": str(uuid.UUID(int=0))}, (400, "validation_failed", "id must not be the UUID of nobody")),
        ({"email": "a@b.org", "user_metadata": {"a": "\0"}}, (400, "validation_failed", "Metadata cannot hold the character U+0000")),
    ],
)  # fmt: skip
async def test_what_cannot_be_made_is_refused(
    house: House, body: dict[str, object], answer: tuple[int, str, str]
):
    assert await house.refused("POST", "/admin/users", body, ADMIN) == answer


@pytest.mark.parametrize(
    "body", [{"ban_duration": "long"}, {"ban_duration": "24"}, {"id": "7"}, {"email_confirm": "x"}]
)
async def test_so_is_what_cannot_be_read(house: House, body: dict[str, object]):
    status, code, _ = await house.refused("POST", "/admin/users", {"email": address(), **body}, ADMIN)

    assert (status, code) in {(400, "validation_failed"), (400, "bad_json")}


async def test_addresses_and_ids_are_somebodys_once(house: House):
    phone = number()
    user = await made(house, phone=phone)

    for taken, answer in (
        ({"email": user["email"].upper()}, EMAIL_EXISTS),
        ({"email": address(), "phone": f"+{phone}"}, PHONE_EXISTS),
        ({"email": address(), "id": user["id"]}, (409, "conflict", "A user with this id already exists")),
    ):
        assert await house.refused("POST", "/admin/users", taken, ADMIN) == answer


# --- Seen --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_who_is_not_there_is_not_found(house: House, method: str):
    assert await house.refused(method, f"/admin/users/{uuid.uuid4()}", {}, ADMIN) == NOT_FOUND
    for id in ("7", "x", str(uuid.uuid4())[:-1]):
        assert await house.refused(method, f"/admin/users/{id}", {}, ADMIN) == NO_ID


# --- Changed -----------------------------------------------------------------------------------------------------


async def test_addresses_take_effect_at_once_and_identities_follow(mailed: House):
    house, email, phone = mailed.having(email__double_confirm_changes=True), address(), number()
    user = await made(house, password=PASSWORD, email_confirm=True)

    after = await changed(
        house, user["id"], email=email.upper(), phone=f"+{phone}", email_confirm=True, phone_confirm=True
    )

    assert (after["email"], after["phone"]) == (email, phone)
    assert "new_email" not in after
    data = {each["provider"]: each["identity_data"] for each in after["identities"]}
    assert data["email"] == {
        "sub": user["id"], "email": email, "email_verified": True, "phone_verified": False,
    }  # fmt: skip
    assert data["phone"] == {"sub": user["id"], "phone": phone, "phone_verified": True}
    assert after["app_metadata"] == {"provider": "email", "providers": ["email", "phone"]}
    assert (await house.sign_in(email)).id == user["id"]
    assert (await sign_in_refused(house, email=user["email"]))[1] == "invalid_credentials"


async def test_the_address_of_another_is_refused(house: House):
    phone = number()
    user, other = await made(house), await made(house, phone=phone)

    for body, answer in (({"email": other["email"].upper()}, EMAIL_EXISTS), ({"phone": phone}, PHONE_EXISTS)):
        body = {**body, "ban_duration": "1h", "user_metadata": {"a": 1}}
        assert await house.refused("PUT", f"/admin/users/{user['id']}", body, ADMIN) == answer
    assert await seen(house, user["id"]) == user
    await changed(house, user["id"], email=user["email"])


async def test_confirming_is_told_by_the_user_and_by_the_identity(house: House):
    user = await made(house, password=PASSWORD, user_metadata={"a": 1})

    after = await changed(house, user["id"], email_confirm=True)

    assert after["email_confirmed_at"] == after["confirmed_at"]
    assert after["user_metadata"] == {"a": 1, "email_verified": True}
    assert after["identities"][0]["identity_data"]["email_verified"] is True
    assert (await house.sign_in(user["email"])).id == user["id"]


async def test_confirming_voids_the_codes_that_were_sent(mailed: House):
    email = address()
    await mailed.ok("POST", "/signup", {"email": email, "password": PASSWORD})
    id = await mailed.value("select id from auth.users where email = $1", email)

    await changed(mailed, str(id), email_confirm=True)

    assert not await mailed.value("select count(*) from auth.one_time_tokens where user_id = $1", id)


async def test_nothing_is_confirmed_that_is_not_there(house: House):
    user = await made(house)

    after = await changed(house, user["id"], phone_confirm=True)

    assert "phone_confirmed_at" not in after
    assert "confirmed_at" not in after


async def test_metadata_are_merged(house: House):
    user = await made(house, user_metadata={"a": 1, "b": {"c": 1}}, app_metadata={"plan": "gold", "seats": 3})

    after = await changed(
        house, user["id"], user_metadata={"a": None, "b": {"d": 2}}, app_metadata={"seats": None, "vip": True}
    )

    assert after["user_metadata"] == {"b": {"d": 2}}
    assert after["app_metadata"] == {"provider": "email", "providers": ["email"], "plan": "gold", "vip": True}
    assert {**await changed(house, user["id"]), "updated_at": ""} == {**after, "updated_at": ""}


async def test_a_new_password_ends_all_sessions(house: House):
    signed = await house.sign_up()
    await house.sign_in(signed.email)

    await changed(house, signed.id, password="another one")

    assert await house.sessions_of(signed.id) == set()
    assert (await house.refused("GET", "/user", None, signed.caller))[1] == "session_not_found"
    assert (await house.refresh_refused(signed.refresh_token))[0] == 400
    await house.sign_in(signed.email, "another one")


async def test_other_changes_leave_sessions_alone(house: House):
    signed = await house.sign_up()

    after = await changed(house, signed.id, role="editor", user_metadata={"a": 1}, email=address())

    assert after["role"] == "editor"
    assert await house.sessions_of(signed.id) == {signed.session_id}


async def test_who_is_banned_is_kept_out_until_the_ban_is_over_or_lifted(house: House):
    signed = await house.sign_up()

    assert (await changed(house, signed.id, ban_duration="24h"))["banned_until"]

    banned = (403, "user_banned", "User is banned")
    assert await house.refused("GET", "/user", None, signed.caller) == banned
    assert (await sign_in_refused(house, email=signed.email))[:2] == (400, "user_banned")
    assert (await house.refresh_refused(signed.refresh_token))[1] == "user_banned"
    assert (await changed(house, signed.id, user_metadata={"a": 1}))["banned_until"]
    assert "banned_until" not in await changed(house, signed.id, ban_duration="none")
    await house.ok("GET", "/user", None, signed.caller)
    await changed(house, signed.id, ban_duration="1h")
    house.clock.forward(minutes=61)
    await house.sign_in(signed.email)


async def test_somebody_anonymous_becomes_permanent_when_an_admin_confirms(house: House):
    signed = house.signed(await house.ok("POST", "/signup", {}))
    email = address()

    assert (await changed(house, signed.id, user_metadata={"a": 1}))["is_anonymous"] is True
    after = await changed(house, signed.id, email=email, email_confirm=True, password=PASSWORD)

    assert (after["is_anonymous"], after["email"]) == (False, email)
    assert after["app_metadata"] == {"provider": "email", "providers": ["email"]}
    assert (await house.sign_in(email)).id == signed.id
