"""/admin/users: made, seen, changed, banned. Reference, sections 2.1 and 16.2 to 16.4."""

import json
import uuid
from typing import Any

import pytest

from schemas.caller import Caller, UserCaller
from tests.workers.auth.auth_pool import ADMIN, PASSWORD, AuthPool, address, number
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


async def made(auth_pool: AuthPool, **body: object) -> Any:
    return await auth_pool.ok("POST", "/admin/users", {"email": address(), **body}, ADMIN)


async def changed(auth_pool: AuthPool, id: str, **body: object) -> Any:
    return await auth_pool.ok("PUT", f"/admin/users/{id}", body, ADMIN)


async def seen(auth_pool: AuthPool, id: str) -> Any:
    return await auth_pool.ok("GET", f"/admin/users/{id}", None, ADMIN)


async def deleted(auth_pool: AuthPool, id: str, *, softly: bool = False) -> Any:
    return await auth_pool.ok("DELETE", f"/admin/users/{id}", {"should_soft_delete": softly}, ADMIN)


async def sign_in_refused(auth_pool: AuthPool, **body: object) -> tuple[int, str, str]:
    return await auth_pool.refused("POST", "/token?grant_type=password", {"password": PASSWORD, **body})


# --- Who may -----------------------------------------------------------------------------------------------------


async def test_other_roles_and_ended_sessions_are_no_administrators(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    path = f"/admin/users/{signed.id}"

    assert (await auth_pool.refused("GET", path, apikey="sb_publishable_a_b"))[:2] == (403, "not_admin")
    for role in ("anon", "authenticated", "", "Service_role"):
        claims = UserCaller(json.dumps({"role": role}).encode())
        assert (await auth_pool.refused("GET", path, None, claims))[1] == "not_admin"
    gone = with_claims(signed, role="service_role", session_id=str(uuid.uuid4()))
    assert (await auth_pool.refused("GET", path, None, gone))[:2] == (403, "session_not_found")


@pytest.mark.parametrize(
    "claims",
    [{"role": "service_role"}, {"role": "supabase_admin"}, {"role": "supabase_admin", "sub": "a robot"}],
)
async def test_a_role_is_enough_without_an_account(auth_pool: AuthPool, claims: dict[str, str]):
    caller: Caller = UserCaller(json.dumps(claims).encode())

    user = await auth_pool.ok("POST", "/admin/users", {"email": address()}, caller)

    assert (await auth_pool.ok("GET", f"/admin/users/{user['id']}", None, caller))["email"] == user["email"]
    assert await auth_pool.value(
        "select payload ->> 'actor_id' from auth.audit_log_entries where payload -> 'traits' ->> 'user_id' = $1",
        user["id"],
    ) == str(uuid.UUID(int=0))


async def test_an_admin_with_an_account_is_named_in_the_audit_log(auth_pool: AuthPool):
    boss = await auth_pool.sign_up()

    user = await auth_pool.ok(
        "POST", "/admin/users", {"email": address()}, with_claims(boss, role="supabase_admin")
    )

    payload = await auth_pool.value(
        "select payload::text from auth.audit_log_entries where payload -> 'traits' ->> 'user_id' = $1",
        user["id"],
    )
    assert (json.loads(payload)["actor_id"], json.loads(payload)["actor_username"]) == (boss.id, boss.email)


# --- Made --------------------------------------------------------------------------------------------------------


async def test_an_account_is_made_and_no_session(auth_pool: AuthPool):
    email, phone, id = address(), number(), str(uuid.uuid4())

    user = await made(auth_pool, email=email.upper(), phone=f"+{phone}", password=PASSWORD, id=id)

    assert (user["id"], user["email"], user["phone"]) == (id, email, phone)
    assert (user["role"], user["aud"], user["is_anonymous"]) == ("authenticated", "authenticated", False)
    assert (user["user_metadata"], user["app_metadata"]) == (
        {},
        {"provider": "email", "providers": ["email", "phone"]},
    )
    assert {each["provider"] for each in user["identities"]} == {"email", "phone"}
    assert "email_confirmed_at" not in user
    assert "access_token" not in user
    assert user == await seen(auth_pool, id)
    assert (await sign_in_refused(auth_pool, email=email))[1] == "email_not_confirmed"
    assert (await sign_in_refused(auth_pool, phone=phone))[1] == "phone_not_confirmed"


async def test_metadata_are_exactly_those_given(auth_pool: AuthPool):
    data: dict[str, object] = {"name": "Ada", "none": None, "deep": {"a": [1, {"b": None}]}, "sub": "her own"}

    user = await made(auth_pool, user_metadata=data)

    assert user["user_metadata"] == data


async def test_confirmed_addresses_let_in_and_say_so(auth_pool: AuthPool):
    phone = number()

    user = await made(
        auth_pool,
        phone=phone,
        password=PASSWORD,
        email_confirm=True,
        phone_confirm=True,
        user_metadata={"a": 1},
    )

    assert user["user_metadata"] == {"a": 1, "email_verified": True}
    assert user["confirmed_at"] == min(user["email_confirmed_at"], user["phone_confirmed_at"])
    assert (await auth_pool.sign_in(user["email"])).id == user["id"]
    by_phone = await auth_pool.ok(
        "POST", "/token?grant_type=password", {"phone": phone, "password": PASSWORD}
    )
    assert by_phone["user"]["id"] == user["id"]


async def test_what_an_admin_gives_beside(auth_pool: AuthPool):
    user = await made(
        auth_pool, role="editor", aud="elsewhere", ban_duration="24h30m",
        app_metadata={"plan": "gold", "provider": "invoice"},
    )  # fmt: skip

    assert (user["role"], user["aud"]) == ("editor", "elsewhere")
    assert user["app_metadata"] == {"provider": "invoice", "providers": ["email"], "plan": "gold"}
    assert user["banned_until"]


async def test_without_a_password_nobody_enters_by_one(auth_pool: AuthPool):
    user = await made(auth_pool, email_confirm=True)

    for password in ("", PASSWORD):
        assert (await sign_in_refused(auth_pool, email=user["email"], password=password))[
            1
        ] == "invalid_credentials"
    kept = await auth_pool.value(
        "select encrypted_password from auth.users where id = $1", uuid.UUID(user["id"])
    )
    assert kept == ""  # as of a user who was invited: nothing says that there is a password


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
    auth_pool: AuthPool, body: dict[str, object], answer: tuple[int, str, str]
):
    assert await auth_pool.refused("POST", "/admin/users", body, ADMIN) == answer


@pytest.mark.parametrize(
    "body", [{"ban_duration": "long"}, {"ban_duration": "24"}, {"id": "7"}, {"email_confirm": "x"}]
)
async def test_so_is_what_cannot_be_read(auth_pool: AuthPool, body: dict[str, object]):
    status, code, _ = await auth_pool.refused("POST", "/admin/users", {"email": address(), **body}, ADMIN)

    assert (status, code) in {(400, "validation_failed"), (400, "bad_json")}


async def test_addresses_and_ids_are_somebodys_once(auth_pool: AuthPool):
    phone = number()
    user = await made(auth_pool, phone=phone)

    for taken, answer in (
        ({"email": user["email"].upper()}, EMAIL_EXISTS),
        ({"email": address(), "phone": f"+{phone}"}, PHONE_EXISTS),
        ({"email": address(), "id": user["id"]}, (409, "conflict", "A user with this id already exists")),
    ):
        assert await auth_pool.refused("POST", "/admin/users", taken, ADMIN) == answer


# --- Seen --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_who_is_not_there_is_not_found(auth_pool: AuthPool, method: str):
    assert await auth_pool.refused(method, f"/admin/users/{uuid.uuid4()}", {}, ADMIN) == NOT_FOUND
    for id in ("7", "x", str(uuid.uuid4())[:-1]):
        assert await auth_pool.refused(method, f"/admin/users/{id}", {}, ADMIN) == NO_ID


# --- Changed -----------------------------------------------------------------------------------------------------


async def test_addresses_take_effect_at_once_and_identities_follow(mailed: AuthPool):
    auth_pool, email, phone = mailed.having(email__double_confirm_changes=True), address(), number()
    user = await made(auth_pool, password=PASSWORD, email_confirm=True)

    after = await changed(
        auth_pool, user["id"], email=email.upper(), phone=f"+{phone}", email_confirm=True, phone_confirm=True
    )

    assert (after["email"], after["phone"]) == (email, phone)
    assert "new_email" not in after
    data = {each["provider"]: each["identity_data"] for each in after["identities"]}
    assert data["email"] == {
        "sub": user["id"], "email": email, "email_verified": True, "phone_verified": False,
    }  # fmt: skip
    assert data["phone"] == {"sub": user["id"], "phone": phone, "phone_verified": True}
    assert after["app_metadata"] == {"provider": "email", "providers": ["email", "phone"]}
    assert (await auth_pool.sign_in(email)).id == user["id"]
    assert (await sign_in_refused(auth_pool, email=user["email"]))[1] == "invalid_credentials"


async def test_the_address_of_another_is_refused(auth_pool: AuthPool):
    phone = number()
    user, other = await made(auth_pool), await made(auth_pool, phone=phone)

    for body, answer in (({"email": other["email"].upper()}, EMAIL_EXISTS), ({"phone": phone}, PHONE_EXISTS)):
        body = {**body, "ban_duration": "1h", "user_metadata": {"a": 1}}
        assert await auth_pool.refused("PUT", f"/admin/users/{user['id']}", body, ADMIN) == answer
    assert await seen(auth_pool, user["id"]) == user
    await changed(auth_pool, user["id"], email=user["email"])


async def test_confirming_is_told_by_the_user_and_by_the_identity(auth_pool: AuthPool):
    user = await made(auth_pool, password=PASSWORD, user_metadata={"a": 1})

    after = await changed(auth_pool, user["id"], email_confirm=True)

    assert after["email_confirmed_at"] == after["confirmed_at"]
    assert after["user_metadata"] == {"a": 1, "email_verified": True}
    assert after["identities"][0]["identity_data"]["email_verified"] is True
    assert (await auth_pool.sign_in(user["email"])).id == user["id"]


async def test_confirming_voids_the_codes_that_were_sent(mailed: AuthPool):
    email = address()
    await mailed.ok("POST", "/signup", {"email": email, "password": PASSWORD})
    id = await mailed.value("select id from auth.users where email = $1", email)

    await changed(mailed, str(id), email_confirm=True)

    assert not await mailed.value("select count(*) from auth.one_time_tokens where user_id = $1", id)


async def test_nothing_is_confirmed_that_is_not_there(auth_pool: AuthPool):
    user = await made(auth_pool)

    after = await changed(auth_pool, user["id"], phone_confirm=True)

    assert "phone_confirmed_at" not in after
    assert "confirmed_at" not in after


async def test_metadata_are_merged(auth_pool: AuthPool):
    user = await made(
        auth_pool, user_metadata={"a": 1, "b": {"c": 1}}, app_metadata={"plan": "gold", "seats": 3}
    )

    after = await changed(
        auth_pool,
        user["id"],
        user_metadata={"a": None, "b": {"d": 2}},
        app_metadata={"seats": None, "vip": True},
    )

    assert after["user_metadata"] == {"b": {"d": 2}}
    assert after["app_metadata"] == {"provider": "email", "providers": ["email"], "plan": "gold", "vip": True}
    assert {**await changed(auth_pool, user["id"]), "updated_at": ""} == {**after, "updated_at": ""}


async def test_a_new_password_ends_all_sessions(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()
    await auth_pool.sign_in(signed.email)

    await changed(auth_pool, signed.id, password="another one")

    assert await auth_pool.sessions_of(signed.id) == set()
    assert (await auth_pool.refused("GET", "/user", None, signed.caller))[1] == "session_not_found"
    assert (await auth_pool.refresh_refused(signed.refresh_token))[0] == 400
    await auth_pool.sign_in(signed.email, "another one")


async def test_other_changes_leave_sessions_alone(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()

    after = await changed(auth_pool, signed.id, role="editor", user_metadata={"a": 1}, email=address())

    assert after["role"] == "editor"
    assert await auth_pool.sessions_of(signed.id) == {signed.session_id}


async def test_who_is_banned_is_kept_out_until_the_ban_is_over_or_lifted(auth_pool: AuthPool):
    signed = await auth_pool.sign_up()

    assert (await changed(auth_pool, signed.id, ban_duration="24h"))["banned_until"]

    banned = (403, "user_banned", "User is banned")
    assert await auth_pool.refused("GET", "/user", None, signed.caller) == banned
    assert (await sign_in_refused(auth_pool, email=signed.email))[:2] == (400, "user_banned")
    assert (await auth_pool.refresh_refused(signed.refresh_token))[1] == "user_banned"
    assert (await changed(auth_pool, signed.id, user_metadata={"a": 1}))["banned_until"]
    assert "banned_until" not in await changed(auth_pool, signed.id, ban_duration="none")
    await auth_pool.ok("GET", "/user", None, signed.caller)
    await changed(auth_pool, signed.id, ban_duration="1h")
    auth_pool.clock.forward(minutes=61)
    await auth_pool.sign_in(signed.email)


async def test_somebody_anonymous_becomes_permanent_when_an_admin_confirms(auth_pool: AuthPool):
    signed = auth_pool.signed(await auth_pool.ok("POST", "/signup", {}))
    email = address()

    assert (await changed(auth_pool, signed.id, user_metadata={"a": 1}))["is_anonymous"] is True
    after = await changed(auth_pool, signed.id, email=email, email_confirm=True, password=PASSWORD)

    assert (after["is_anonymous"], after["email"]) == (False, email)
    assert after["app_metadata"] == {"provider": "email", "providers": ["email"]}
    assert (await auth_pool.sign_in(email)).id == signed.id
