"""POST /signup, row by row of the reference's tables (4.1 and 4.5)."""

import asyncio
import json
import uuid

import pytest

from tests.workers.auth.auth_pool import ADMIN, PASSWORD, AuthPool, address, claims_of, number

INVALID_EMAIL = (400, "validation_failed", "Unable to validate email address: invalid format")
BAD_PHONE = (400, "validation_failed", "Invalid phone number format (E.164 required)")
WEAK = (422, "weak_password", "Password should be at least 6 characters.")
REGISTERED = (422, "user_already_exists", "User already registered")
NO_PASSWORD = (400, "validation_failed", "Signup requires a valid password")


async def test_an_address_and_a_password_give_a_session(plain: AuthPool):
    email = address()

    body = await plain.ok("POST", "/signup", {"email": email.upper(), "password": PASSWORD, "data": {"n": 1}})

    assert set(body) == {
        "access_token", "token_type", "expires_in", "expires_at", "refresh_token", "user",
    }  # fmt: skip
    assert (body["token_type"], body["expires_in"]) == ("bearer", 3600)
    user = body["user"]
    assert (user["email"], user["phone"], user["role"], user["aud"]) == (
        email, "", "authenticated", "authenticated",
    )  # fmt: skip
    assert user["app_metadata"] == {"provider": "email", "providers": ["email"]}
    assert user["user_metadata"] == {
        "n": 1, "sub": user["id"], "email": email, "email_verified": True, "phone_verified": False,
    }  # fmt: skip
    assert user["is_anonymous"] is False
    assert user["confirmed_at"] == user["email_confirmed_at"]
    assert user["created_at"].endswith("Z")
    assert len(user["created_at"]) == len("2026-11-21T01:30:00.123Z")
    assert user["last_sign_in_at"]


async def test_the_identity_of_an_address_is_that_of_the_user(plain: AuthPool):
    signed = await plain.sign_up()

    (identity,) = signed.body["user"]["identities"]

    assert (identity["provider"], identity["id"], identity["user_id"]) == ("email", signed.id, signed.id)
    assert identity["email"] == signed.email
    assert identity["identity_data"]["sub"] == signed.id
    assert uuid.UUID(identity["identity_id"]) != uuid.UUID(signed.id)


async def test_the_identity_keeps_what_its_owner_told_but_not_who_he_is(plain: AuthPool):
    signed = await plain.sign_up(data={"full_name": "Ann", "sub": "someone", "email_verified": "maybe"})

    (identity,) = signed.body["user"]["identities"]

    assert identity["identity_data"] == {
        "full_name": "Ann", "sub": signed.id, "email": signed.email, "email_verified": True, "phone_verified": False,
    }  # fmt: skip


async def test_the_access_token_tells_what_the_reference_lists(plain: AuthPool):
    signed = await plain.sign_up(data={"color": "red"})

    claims = claims_of(signed.caller)

    assert claims["exp"] - claims["iat"] == 3600
    assert claims["exp"] == signed.body["expires_at"]
    assert (claims["sub"], claims["email"], claims["phone"]) == (signed.id, signed.email, "")
    assert (claims["aud"], claims["role"], claims["aal"]) == ("authenticated", "authenticated", "aal1")
    assert claims["amr"] == [{"method": "password", "timestamp": claims["amr"][0]["timestamp"]}]
    assert claims["user_metadata"]["color"] == "red"
    assert claims["is_anonymous"] is False
    assert {signed.session_id} == await plain.sessions_of(signed.id)
    assert "client_id" not in claims
    assert claims["iss"] == "http://127.0.0.1:54321/auth/v1"


async def test_the_issuer_is_that_of_the_settings(plain: AuthPool):
    outside = plain.having(external_url="https://api.example.org/auth/v1")

    assert claims_of((await outside.sign_up()).caller)["iss"] == "https://api.example.org/auth/v1"
    named = outside.having(jwt_issuer="https://me", jwt_expiry=60)
    signed = await named.sign_up()
    assert claims_of(signed.caller)["iss"] == "https://me"
    assert signed.body["expires_in"] == 60


async def test_a_phone_number_gives_a_session_too(auth_pool: AuthPool):
    phone = number()

    body = await auth_pool.ok("POST", "/signup", {"phone": f"+{phone[:2]} {phone[2:]}", "password": PASSWORD})

    user = body["user"]
    assert (user["phone"], user["email"]) == (phone, "")
    assert user["phone_confirmed_at"] == user["confirmed_at"]
    assert user["app_metadata"] == {"provider": "phone", "providers": ["phone"]}
    assert [each["provider"] for each in user["identities"]] == ["phone"]
    again = await auth_pool.refused("POST", "/signup", {"phone": phone, "password": PASSWORD})
    assert again == REGISTERED


async def test_a_caller_cannot_pass_for_somebody_else_by_its_own_data(plain: AuthPool):
    signed = await plain.sign_up(data={"sub": "x", "email": "boss@example.org", "email_verified": "no"})

    assert signed.body["user"]["user_metadata"] == {
        "sub": signed.id, "email": signed.email, "email_verified": True, "phone_verified": False,
    }  # fmt: skip


async def test_metadata_is_no_deeper_than_lists_and_tokens_follow(plain: AuthPool):
    def nested(levels: int) -> dict[str, object]:
        return {"a": nested(levels - 1)} if levels else {}

    refused = await plain.refused(
        "POST", "/signup", {"email": address(), "password": PASSWORD, "data": nested(300)}
    )
    signed = await plain.sign_up(data={**nested(90), "n": 2**64})
    await plain.admin.execute(
        "update auth.users set raw_user_meta_data = $1 where id = $2", json.dumps(nested(300)), signed.id
    )
    listed = await plain.ok("GET", f"/admin/users/{signed.id}", caller=ADMIN)

    assert refused[:2] == (400, "validation_failed")
    assert listed["user_metadata"] == nested(300)


async def test_a_password_is_kept_as_a_hash(plain: AuthPool):
    signed = await plain.sign_up()

    kept = await plain.value("select encrypted_password from auth.users where id = $1", uuid.UUID(signed.id))

    assert kept.startswith("$argon2id$v=19$m=64,t=1,p=1$")
    assert PASSWORD not in await plain.value(
        "select users::text from auth.users where id = $1", uuid.UUID(signed.id)
    )


@pytest.mark.parametrize("password", [PASSWORD, "another one"])
async def test_an_address_is_registered_once(plain: AuthPool, password: str):
    signed = await plain.sign_up()

    for email in (signed.email, signed.email.upper()):
        assert await plain.refused("POST", "/signup", {"email": email, "password": password}) == REGISTERED


async def test_of_many_who_register_one_address_at_once_one_wins(plain: AuthPool):
    body = {"email": address(), "password": PASSWORD}

    answers = await asyncio.gather(*(plain.send("POST", "/signup", body) for _ in range(8)))

    assert sorted(each.status for each in answers) == [200] + [422] * 7
    codes = {json.loads(each.body).get("error_code") for each in answers if each.status == 422}
    assert codes == {"user_already_exists"}


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ({"email": "a@b.org"}, NO_PASSWORD),
        ({"email": "a@b.org", "password": ""}, NO_PASSWORD),
        ({"email": "a@b.org", "password": None}, NO_PASSWORD),
        ({"email": "a@b.org", "password": "12345"}, WEAK),
        ({"email": "a@b.org", "password": "x" * 73}, (400, "validation_failed", "Password cannot be longer than 72 characters")),
        ({"email": "a@b.org", "password": "é" * 37}, (400, "validation_failed", "Password cannot be longer than 72 characters")),
        ({"email": "a", "password": PASSWORD}, INVALID_EMAIL),
        ({"email": "a@", "password": PASSWORD}, INVALID_EMAIL),
        ({"email": "a b@c.org", "password": PASSWORD}, INVALID_EMAIL),
        ({"email": "a@b.org\u0000", "password": PASSWORD}, INVALID_EMAIL),
        ({"email": "a" * 250 + "@b.org", "password": PASSWORD}, (400, "validation_failed", "An email address is too long")),
        ({"phone": "12", "password": "12345"}, WEAK),
        ({"phone": "0123456", "password": PASSWORD}, BAD_PHONE),
        ({"phone": "+1234567890123456", "password": PASSWORD}, BAD_PHONE),
        ({"phone": "call me", "password": PASSWORD}, BAD_PHONE),
        ({"email": "a@b.org", "phone": "4915112345678", "password": PASSWORD}, (400, "validation_failed", "Only an email address or phone number should be provided on signup.")),
        ({"email": "a@b.org", "password": PASSWORD, "data": {"a": "\u0000"}}, (400, "validation_failed", "Metadata cannot hold the character U+0000")),
    ],
)  # fmt: skip
async def test_what_cannot_be_registered_is_refused(
    auth_pool: AuthPool, body: dict[str, object], answer: tuple[int, str, str]
):
    assert await auth_pool.refused("POST", "/signup", body) == answer


async def test_a_backslash_before_u0000_is_text_like_any_other(plain: AuthPool):
    signed = await plain.sign_up(data={"a": "\\u0000"})

    assert signed.body["user"]["user_metadata"]["a"] == "\\u0000"


async def test_a_weak_password_is_told_why(plain: AuthPool):
    strict = plain.having(minimum_password_length=8, password_requirements="letters_digits")
    body = {"email": address(), "password": "abc"}
    first = await strict.send("POST", "/signup", body)
    second = await strict.send("POST", "/signup", body, x_supabase_api_version="2024-01-01")

    assert first.status == second.status == 422
    assert json.loads(first.body)["error_code"] == json.loads(second.body)["code"] == "weak_password"
    for each in (first, second):
        assert json.loads(each.body)["weak_password"] == {"reasons": ["length", "characters"]}
    assert json.loads(second.body)["message"].startswith("Password should be at least 8 characters.")


@pytest.mark.parametrize(
    "body", [{}, {"email": "a", "password": "1"}, {"email": 7}, {"email": "a@b.org", "password": PASSWORD}]
)
async def test_when_signups_are_disabled_nothing_else_is_looked_at(
    auth_pool: AuthPool, body: dict[str, object]
):
    closed = auth_pool.having(enable_signup=False)

    assert await closed.refused("POST", "/signup", body) == (
        422, "signup_disabled", "Signups not allowed for this instance",
    )  # fmt: skip


@pytest.mark.parametrize("field", ["email", "phone"])
async def test_a_provider_that_is_off_takes_nobody(auth_pool: AuthPool, field: str):
    section = {"email": "email__enable_signup", "phone": "sms__enable_signup"}[field]
    closed = auth_pool.having(**{section: False})
    body = {field: {"email": address(), "phone": number()}[field], "password": PASSWORD}

    status, code, _ = await closed.refused("POST", "/signup", body)

    assert (status, code) == (400, f"{field}_provider_disabled")


async def test_fields_that_are_null_are_as_if_not_given(plain: AuthPool):
    signed = await plain.sign_up(phone=None, data=None, channel=None)

    assert signed.body["user"]["email"] == signed.email


async def test_an_anonymous_user_has_no_identity(auth_pool: AuthPool):
    signed = auth_pool.signed(await auth_pool.ok("POST", "/signup", {"data": {"theme": "dark"}}))

    user, claims = signed.body["user"], claims_of(signed.caller)
    assert (user["is_anonymous"], user["identities"], user["role"]) == (True, [], "authenticated")
    assert (user["email"], user["phone"], user["app_metadata"]) == ("", "", {})
    assert user["user_metadata"] == {"theme": "dark"}
    assert "confirmed_at" not in user
    assert claims["is_anonymous"] is True
    assert [each["method"] for each in claims["amr"]] == ["anonymous"]


async def test_an_anonymous_signup_needs_no_body(auth_pool: AuthPool):
    response = await auth_pool.send("POST", "/signup")

    assert response.status == 200


async def test_anonymous_signups_are_refused_unless_they_are_enabled(plain: AuthPool):
    assert await plain.refused("POST", "/signup", {}) == (
        422, "anonymous_provider_disabled", "Anonymous sign-ins are disabled",
    )  # fmt: skip


async def test_the_audience_is_that_of_the_request(plain: AuthPool):
    email = address()
    response = await plain.send(
        "POST", "/signup", {"email": email, "password": PASSWORD}, x_jwt_aud="elsewhere"
    )
    user = json.loads(response.body)["user"]

    assert user["aud"] == "elsewhere"
    assert await plain.refused("POST", "/token?grant_type=password", {"email": email, "password": PASSWORD}) == (
        400, "invalid_credentials", "Invalid login credentials",
    )  # fmt: skip


async def test_an_account_of_single_sign_on_does_not_take_the_address(plain: AuthPool):
    email = address()
    await plain.admin.execute(
        "insert into auth.users (id, aud, email, is_sso_user) values (gen_random_uuid(), 'authenticated', $1, true)",
        email,
    )

    signed = await plain.sign_up(email)

    assert (await plain.sign_in(email)).id == signed.id


async def test_the_device_is_kept_with_the_session(plain: AuthPool):
    for client, kept in (("192.0.2.7", "192.0.2.7"), ("fe80::1%eth0", "fe80::1"), ("", None)):
        body = {"email": address(), "password": PASSWORD}
        response = await plain.send("POST", "/signup", body, client=client, user_agent="Mozilla/5.0 é")
        signed = plain.signed(json.loads(response.body))
        row = await plain.admin.fetchrow(
            "select user_agent, host(ip) as ip from auth.sessions where id = $1", uuid.UUID(signed.session_id)
        )

        assert tuple(row or ()) == ("Mozilla/5.0 é", kept)
