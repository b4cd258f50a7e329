"""POST /token with a password, row by row of the reference's table (4.2). Refreshes are in test_sessions.py."""

import json
import uuid

import bcrypt
import pytest

from tests.workers.auth.auth_pool import ADMIN, PASSWORD, AuthPool, address, claims_of, number

WRONG = (400, "invalid_credentials", "Invalid login credentials")
GRANT = "/token?grant_type=password"


async def test_a_password_gives_a_session(plain: AuthPool):
    signed = await plain.sign_up()

    again = await plain.sign_in(signed.email.upper())

    assert again.id == signed.id
    assert again.session_id != signed.session_id
    assert [each["method"] for each in claims_of(again.caller)["amr"]] == ["password"]
    assert "weak_password" not in again.body
    assert again.body["user"]["last_sign_in_at"] > signed.body["user"]["last_sign_in_at"]


async def test_a_phone_and_a_password_give_a_session(auth_pool: AuthPool):
    phone = number()
    await auth_pool.ok("POST", "/signup", {"phone": phone, "password": PASSWORD})

    body = await auth_pool.ok("POST", GRANT, {"phone": f"+{phone}", "password": PASSWORD})

    assert body["user"]["phone"] == phone


async def test_a_form_signs_in_too(plain: AuthPool):
    signed = await plain.sign_up()
    form = f"grant_type=password&email={signed.email}&password=correct+horse".encode()

    response = await plain.send(
        "POST", "/token", form, content_type="application/x-www-form-urlencoded; charset=utf-8"
    )

    assert response.status == 200


async def test_json_that_curl_sends_as_a_form_is_json(plain: AuthPool):
    signed = await plain.sign_up()
    body = json.dumps({"email": signed.email, "password": PASSWORD}, indent=1)

    response = await plain.send(
        "POST", GRANT, f"\n{body}".encode(), content_type="application/x-www-form-urlencoded"
    )

    assert response.status == 200


@pytest.mark.parametrize(
    "email", [None, "nobody@example.org", "no address", "a@b.org\u0000", "é@b.org", "x" * 300]
)
async def test_wrong_and_unknown_are_told_apart_by_nothing(plain: AuthPool, email: str | None):
    signed = await plain.sign_up()
    body = {"email": email or signed.email, "password": "wrong one"}

    assert await plain.refused("POST", GRANT, body) == WRONG


@pytest.mark.parametrize("password", ["", "x", PASSWORD + " ", PASSWORD.upper(), "x" * 100_000])
async def test_any_other_password_is_wrong(plain: AuthPool, password: str):
    signed = await plain.sign_up()

    assert await plain.refused("POST", GRANT, {"email": signed.email, "password": password}) == WRONG


async def test_no_password_is_wrong(plain: AuthPool):
    signed = await plain.sign_up()

    assert await plain.refused("POST", GRANT, {"email": signed.email}) == WRONG


@pytest.mark.parametrize(
    "who", ["known", "unknown", "ill-formed", "without password", "hash that cannot be read"]
)
async def test_every_failed_sign_in_does_the_same_work(auth_pool: AuthPool, who: str):
    email = address()
    if who == "known":
        await auth_pool.sign_up(email)
    elif who != "unknown":
        await auth_pool.admin.execute(
            "insert into auth.users (id, aud, email, encrypted_password) values (gen_random_uuid(), 'authenticated', $1, $2)",
            email,
            {"without password": None}.get(who, "no hash"),
        )
    counted = auth_pool.having()

    answer = await counted.refused(
        "POST", GRANT, {"email": "?" if who == "ill-formed" else email, "password": "wrong"}
    )

    assert answer == WRONG
    assert (counted.hashing.verified, counted.hashing.made) == (1, 0)


@pytest.mark.parametrize("is_known", [True, False])
async def test_registering_does_the_same_work_for_known_and_unknown(auth_pool: AuthPool, is_known: bool):
    email = address()
    if is_known:
        await auth_pool.sign_up(email)
    counted = auth_pool.having()

    await counted.send("POST", "/signup", {"email": email, "password": PASSWORD})

    assert (counted.hashing.verified, counted.hashing.made) == (0, 1)


@pytest.mark.parametrize("body", [{}, {"password": PASSWORD}, {"email": "a@b.org", "phone": "4915112345678"}])
async def test_neither_or_both_addresses_are_refused(auth_pool: AuthPool, body: dict[str, object]):
    status, code, _ = await auth_pool.refused("POST", GRANT, {"password": PASSWORD, **body})

    assert (status, code) == (400, "validation_failed")


@pytest.mark.parametrize(
    ("setting", "body", "answer"),
    [
        ("email__enable_signup", {"email": "a@b.org"}, (422, "email_provider_disabled", "Email logins are disabled")),
        ("sms__enable_signup", {"phone": "4915112345678"}, (422, "phone_provider_disabled", "Phone logins are disabled")),
    ],
)  # fmt: skip
async def test_a_provider_that_is_off_lets_nobody_in(
    auth_pool: AuthPool, setting: str, body: dict[str, object], answer: tuple[int, str, str]
):
    closed = auth_pool.having(**{setting: False})

    assert await closed.refused("POST", GRANT, {**body, "password": PASSWORD}) == answer


async def test_who_has_not_confirmed_is_told_so_only_with_the_right_password(auth_pool: AuthPool):
    email, phone = address(), number()
    await auth_pool.ok("POST", "/admin/users", {"email": email, "phone": phone, "password": PASSWORD}, ADMIN)

    for wanted, told in (
        ({"email": email}, (400, "email_not_confirmed", "Email not confirmed")),
        ({"phone": phone}, (400, "phone_not_confirmed", "Phone not confirmed")),
    ):
        assert await auth_pool.refused("POST", GRANT, {**wanted, "password": PASSWORD}) == told
        assert await auth_pool.refused("POST", GRANT, {**wanted, "password": "wrong one"}) == WRONG


async def test_who_is_banned_is_told_so_only_with_the_right_password_and_only_so_long(plain: AuthPool):
    signed = await plain.sign_up()
    await plain.ok("PUT", f"/admin/users/{signed.id}", {"ban_duration": "1h"}, ADMIN)
    body = {"email": signed.email, "password": PASSWORD}

    assert await plain.refused("POST", GRANT, body) == (400, "user_banned", "User is banned")
    assert await plain.refused("POST", GRANT, {**body, "password": "wrong one"}) == WRONG
    plain.clock.forward(hours=2)
    assert (await plain.sign_in(signed.email)).id == signed.id


@pytest.mark.parametrize(
    "grant", ["", "?grant_type=", "?grant_type=Password", "?grant_type=client_credentials"]
)
async def test_another_grant_is_refused(plain: AuthPool, grant: str):
    assert await plain.refused("POST", f"/token{grant}", {}) == (
        400, "invalid_credentials", "unsupported_grant_type",
    )  # fmt: skip


async def test_a_password_that_is_weak_today_still_signs_in_and_is_told(plain: AuthPool):
    signed = await plain.sign_up(password="old one")
    strict = plain.having(minimum_password_length=12, password_requirements="letters_digits")

    body = await strict.ok("POST", GRANT, {"email": signed.email, "password": "old one"})

    assert body["weak_password"]["reasons"] == ["length", "characters"]
    assert body["weak_password"]["message"].startswith("Password should be at least 12 characters.")
    assert body["access_token"]


async def _hash_of(auth_pool: AuthPool, id: str) -> str:
    return str(
        await auth_pool.value("select encrypted_password from auth.users where id = $1", uuid.UUID(id))
    )


async def test_an_old_hash_is_renewed_by_the_next_sign_in(plain: AuthPool):
    old = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    body = {"email": address(), "password_hash": old, "email_confirm": True}
    made = await plain.ok("POST", "/admin/users", body, ADMIN)
    assert await _hash_of(plain, made["id"]) == old

    assert await plain.refused("POST", GRANT, {"email": made["email"], "password": "wrong one"}) == WRONG
    assert await _hash_of(plain, made["id"]) == old
    await plain.sign_in(made["email"])

    renewed = await _hash_of(plain, made["id"])
    assert renewed.startswith("$argon2id$")
    await plain.sign_in(made["email"])
    assert await _hash_of(plain, made["id"]) == renewed


async def test_a_user_made_by_hand_with_nulls_signs_in(plain: AuthPool):
    email = address()
    await plain.admin.execute(
        """
        insert into auth.users (id, aud, email, encrypted_password, email_confirmed_at, confirmation_token,
          recovery_token, email_change_token_new, email_change, phone_change, reauthentication_token)
        values (gen_random_uuid(), 'authenticated', $1, $2, now(), null, null, null, null, null, null)
        """,
        email,
        bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode(),
    )

    signed = await plain.sign_in(email)

    assert signed.body["user"]["app_metadata"] == {}
    assert (await plain.ok("GET", "/user", None, signed.caller))["email"] == email
    assert (await plain.refresh(signed.refresh_token)).id == signed.id
