"""POST /verify: codes that are typed, used as they are meant to be and otherwise."""

import asyncio
import json
import uuid

import pytest

from tests.workers.auth.auth_pool import AuthPool, address, number
from tests.workers.auth.office import SITE, Office, Phones, failure, landed, waiting

VERIFIER = "v" * 43
BAD_LINK = (403, "otp_expired", "Email link is invalid or has expired")
BAD_CODE = (403, "otp_expired", "Token has expired or is invalid")


@pytest.mark.parametrize("type", ["signup", "email", "invite"])
async def test_a_code_confirms_under_each_of_its_types(mailed: AuthPool, office: Office, type: str):
    email = await waiting(mailed)

    body = {"type": type, "email": email.upper(), "token": office.code(email)}
    session = await mailed.ok("POST", "/verify", body)

    assert session["user"]["email_confirmed_at"]
    assert session["token_type"] == "bearer"
    assert await mailed.refused("POST", "/verify", body) == BAD_CODE


@pytest.mark.parametrize("type", ["recovery", "magiclink"])
async def test_a_code_of_a_sign_up_is_no_recovery(mailed: AuthPool, office: Office, type: str):
    email = await waiting(mailed)

    body = {"type": type, "email": email, "token": office.code(email)}

    assert await mailed.refused("POST", "/verify", body) == BAD_CODE


async def test_a_token_hash_alone_confirms(mailed: AuthPool, office: Office):
    email = await waiting(mailed)
    body = {"type": "signup", "token_hash": office.token(email)}

    session = await mailed.ok("POST", "/verify", body)

    assert session["user"]["email"] == email
    assert await mailed.refused("POST", "/verify", body) == BAD_LINK


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"type": "email", "email": "a@b.org"},
        {"token": "123456", "email": "a@b.org"},
        {"type": "email", "token": "123456"},
        {"type": "email", "token": "123456", "email": "a@b.org", "phone": "4915112345678"},
        {"type": "email", "token_hash": "0" * 56, "email": "a@b.org"},
        {"type": "email", "token_hash": "0" * 56, "phone": "4915112345678"},
        {"type": "email", "token_hash": "0" * 56, "redirect_to": SITE},
        {"type": "email", "token_hash": "0" * 56, "token": "123456"},
        {"type": "sms", "token_hash": "0" * 56},
        {"type": "sms", "token": "123456", "email": "a@b.org"},
        {"type": "email", "token": "123456", "phone": "4915112345678"},
        {"type": "nothing", "token": "123456", "email": "a@b.org"},
        {"type": "nothing", "token_hash": "0" * 56},
        {"type": "email", "token": "123456", "email": "nobody"},
    ],
)
async def test_what_makes_no_sense_is_refused(mailed: AuthPool, body: dict[str, str]):
    assert (await mailed.refused("POST", "/verify", body))[:2] == (400, "validation_failed")


async def test_a_number_that_is_none_is_refused_in_the_words_that_clients_expect(mailed: AuthPool):
    body = {"type": "sms", "phone": "+1-555", "token": "123456"}

    assert await mailed.refused("POST", "/verify", body) == (
        400, "validation_failed", "Invalid phone number format (E.164 required)",
    )  # fmt: skip


async def test_unknown_and_known_addresses_are_refused_in_the_same_words(mailed: AuthPool):
    email = await waiting(mailed)

    for one in (email, address()):
        assert (
            await mailed.refused("POST", "/verify", {"type": "email", "email": one, "token": "000x00"})
            == BAD_CODE
        )


async def test_a_code_dies_of_five_wrong_ones_typed_at_different_workers(mailed: AuthPool, office: Office):
    email = await waiting(mailed)
    code, workers = office.code(email), [mailed, mailed.having(), mailed.having()]
    wrong = f"{(int(code) + 1) % 1_000_000:06d}"

    for number_of in range(5):
        body = {"type": "email", "email": email, "token": wrong}
        assert await workers[number_of % 3].refused("POST", "/verify", body) == BAD_CODE

    assert (
        await mailed.refused("POST", "/verify", {"type": "email", "email": email, "token": code}) == BAD_CODE
    )
    assert (await mailed.ok("POST", "/verify", {"type": "signup", "token_hash": office.token(email)}))["user"]


async def test_a_code_that_is_typed_at_once_in_many_places_gives_one_session(
    mailed: AuthPool, office: Office
):
    email = await waiting(mailed)
    body = {"type": "email", "email": email, "token": office.code(email)}

    answers = await asyncio.gather(*(mailed.send("POST", "/verify", body) for _ in range(6)))

    assert sorted(each.status for each in answers) == [200] + [403] * 5
    assert await mailed.value(
        "select count(*) from auth.sessions s join auth.users u on u.id = s.user_id where u.email = $1", email
    ) == 1  # fmt: skip


async def test_the_lifetime_is_that_of_the_settings(mailed: AuthPool, office: Office):
    email = await waiting(mailed)
    mailed.clock.forward(seconds=3601)

    body = {"type": "email", "email": email, "token": office.code(email)}

    assert await mailed.having(email__otp_expiry=86400).ok("POST", "/verify", body)


@pytest.mark.parametrize(("length", "digits"), [(6, 6), (10, 10), (4, 6), (11, 6)])
async def test_codes_have_the_length_of_the_settings(
    mailed: AuthPool, office: Office, length: int, digits: int
):
    email = await waiting(mailed.having(email__otp_length=length))

    assert len(office.code(email)) == digits


async def test_a_success_clears_all_codes_of_the_user(mailed: AuthPool, office: Office):
    email = await waiting(mailed)
    await mailed.ok("POST", "/recover", {"email": email})
    recovery = office.token(email)
    await mailed.ok("POST", "/resend", {"type": "signup", "email": email})

    await mailed.ok("POST", "/verify", {"type": "signup", "token_hash": office.token(email)})

    assert await mailed.refused("POST", "/verify", {"type": "recovery", "token_hash": recovery}) == BAD_LINK


async def test_a_change_of_the_address_or_the_password_makes_codes_void(mailed: AuthPool, office: Office):
    signed = await mailed.having(email__enable_confirmations=False).sign_up()
    await mailed.ok("POST", "/recover", {"email": signed.email})

    await mailed.ok("PUT", "/user", {"password": "a new password"}, signed.caller)

    body = {"type": "recovery", "token_hash": office.token(signed.email)}
    assert await mailed.refused("POST", "/verify", body) == BAD_LINK


async def test_who_is_banned_gets_in_by_no_code_and_keeps_it(mailed: AuthPool, office: Office):
    email = await waiting(mailed)
    body = {"type": "email", "email": email, "token": office.code(email)}
    await mailed.admin.execute(
        "update auth.users set banned_until = now() + interval '1 day' where email = $1", email
    )

    assert await mailed.refused("POST", "/verify", body) == (403, "user_banned", "User is banned")
    assert (await failure(mailed, office.path(email)))["error_code"] == "user_banned"
    await mailed.admin.execute("update auth.users set banned_until = null where email = $1", email)

    assert await mailed.ok("POST", "/verify", body)


async def test_a_code_sent_to_an_address_that_is_no_longer_the_user_s_confirms_nothing(
    mailed: AuthPool, office: Office
):
    email, other = await waiting(mailed), address()
    await mailed.admin.execute("update auth.users set email = $2 where email = $1", email, other)

    assert (await failure(mailed, office.path(email)))["error_code"] == "otp_expired"
    assert await mailed.value("select email_confirmed_at from auth.users where email = $1", other) is None


async def test_rows_made_by_hand_sign_in_by_link(mailed: AuthPool, office: Office):
    id, email = uuid.uuid4(), address()
    await mailed.admin.execute(
        "insert into auth.users (id, aud, role, email, email_confirmed_at, confirmation_token, recovery_token,"
        " email_change_token_new, email_change, phone_change, raw_user_meta_data, raw_app_meta_data)"
        " values ($1, 'authenticated', 'authenticated', $2, now(), null, null, null, null, null, null, null)",
        id, email.replace("@", "@Sub."),
    )  # fmt: skip
    email = email.replace("@", "@sub.")

    await mailed.ok("POST", "/otp", {"email": email, "create_user": False})
    session = await mailed.ok(
        "POST", "/verify", {"type": "email", "email": email, "token": office.code(email)}
    )

    assert session["user"]["id"] == str(id)


async def test_tries_of_one_client_are_limited(mailed: AuthPool):
    limited = mailed.having(rate_limit__token_verifications=30.0)
    bodies = [{"type": "email", "email": address(), "token": "123456"} for _ in range(31)]

    answers = [await limited.send("POST", "/verify", body, client="203.0.113.77") for body in bodies]
    link = await limited.send("GET", f"/verify?type=email&token={'0' * 56}", client="203.0.113.77")

    assert [each.status for each in answers] == [403] * 30 + [429]
    assert landed(link)[2]["error_code"] == "over_request_rate_limit"


async def test_a_phone_code_is_no_code_of_a_mail(texted: AuthPool, phones: Phones):
    phone = number()
    await texted.ok("POST", "/otp", {"phone": phone})
    code = phones.code(phone)

    answer = json.loads(
        (await texted.send("POST", "/verify", {"type": "phone_change", "phone": phone, "token": code})).body
    )

    assert answer["error_code"] == "otp_expired"
    assert await texted.ok("POST", "/verify", {"type": "sms", "phone": phone, "token": code})
