"""POST /otp and POST /magiclink: who gets a code, how, and what the answer tells."""

import asyncio
import json
import uuid
from urllib.parse import parse_qs, urlsplit

import pytest

from schemas.http import Request
from tests.workers.auth.auth_pool import AuthPool, address, claims_of, number, told
from tests.workers.auth.delivery.sms.provider import Provider
from tests.workers.auth.office import Office, Phones, open_phones, with_phones
from workers.auth.http.redirect_target import redirect_target
from workers.auth.model.pkce import s256
from workers.auth.model.request import AuthRequest

CHALLENGE = {"code_challenge": s256("v" * 43), "code_challenge_method": "s256"}
NO_SIGNUPS = (422, "otp_disabled", "Signups not allowed for otp")
CHANNELS = (
    "Invalid channel, supported values are 'sms' or 'whatsapp'. 'whatsapp' is only supported if Twilio or Twilio Verify"
    " is used as the provider."
)


async def test_a_known_address_gets_a_magic_link_with_a_code(mailed: AuthPool, office: Office):
    signed = await mailed.having(email__enable_confirmations=False).sign_up()

    assert await mailed.ok("POST", "/otp", {"email": signed.email}) == {}

    (email,) = office.to(signed.email)
    assert email.subject == "Your sign-in link"
    assert "type=magiclink" in office.link(signed.email)
    verified = await mailed.ok(
        "POST", "/verify", {"type": "email", "email": signed.email, "token": office.code(signed.email)}
    )
    assert mailed.signed(verified).id == signed.id
    assert [each["method"] for each in claims_of(mailed.signed(verified).caller)["amr"]] == ["otp"]


async def test_an_unknown_address_gets_an_account_that_is_confirmed_by_the_code(
    mailed: AuthPool, office: Office
):
    email = address()

    assert await mailed.ok("POST", "/otp", {"email": email.upper(), "data": {"name": "Ann"}}) == {}

    row = await mailed.admin.fetchrow("select * from auth.users where email = $1", email)
    assert row is not None
    assert (row["email_confirmed_at"], row["encrypted_password"]) == (None, "")
    assert json.loads(row["raw_user_meta_data"])["name"] == "Ann"
    assert office.to(email)[0].subject == "Confirm your email address"
    verified = await mailed.ok(
        "POST", "/verify", {"type": "email", "email": email, "token": office.code(email)}
    )
    assert verified["user"]["email_confirmed_at"]
    assert verified["user"]["user_metadata"]["email_verified"] is True
    (identity,) = verified["user"]["identities"]
    assert identity["identity_data"]["email_verified"] is True


@pytest.mark.parametrize(
    "metadata", ["{}", None, '{"provider": "github", "providers": ["github"], "plan": "gold"}']
)
async def test_a_code_lists_the_ways_in_of_a_row_made_by_hand(
    mailed: AuthPool, office: Office, metadata: str | None
):
    signed = await mailed.having(email__enable_confirmations=False).sign_up()
    id = uuid.UUID(signed.id)
    await mailed.admin.execute("update auth.users set raw_app_meta_data = $2 where id = $1", id, metadata)

    await mailed.ok("POST", "/otp", {"email": signed.email})
    code = {"type": "email", "email": signed.email, "token": office.code(signed.email)}
    told = (await mailed.ok("POST", "/verify", code))["user"]["app_metadata"]

    assert (told["provider"], told["providers"]) == ("email", ["email"])
    assert told.get("plan") == ("gold" if "plan" in (metadata or "") else None)


async def test_where_accounts_are_confirmed_at_once_the_code_follows(mailed: AuthPool, office: Office):
    automatic, email = mailed.having(email__enable_confirmations=False), address()

    await automatic.ok("POST", "/otp", {"email": email})

    assert await automatic.value("select email_confirmed_at from auth.users where email = $1", email)
    assert office.to(email)[0].subject == "Your sign-in link"


@pytest.mark.parametrize("field", ["email", "phone"])
@pytest.mark.parametrize("how", [{"create_user": False}, {"options": {"shouldCreateUser": False}}])
async def test_nobody_is_made_who_must_not_be(texted: AuthPool, field: str, how: dict[str, object]):
    to = {"email": address(), "phone": number()}[field]

    assert await texted.refused("POST", "/otp", {field: to, **how}) == NO_SIGNUPS

    assert not await texted.value(f"select count(*) from auth.users where {field} = $1", to)


async def test_sign_ups_that_are_off_are_off_here_too(mailed: AuthPool, office: Office):
    signed = await mailed.having(email__enable_confirmations=False).sign_up()
    closed = mailed.having(enable_signup=False)

    status, code, _ = await closed.refused("POST", "/otp", {"email": address()})
    await closed.ok("POST", "/otp", {"email": signed.email, "create_user": False})

    assert (status, code) == (422, "signup_disabled")
    assert len(office.to(signed.email)) == 1


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ({}, (400, "validation_failed", "One of email or phone must be set")),
        ({"email": "a@b.org", "phone": "4915112345678"}, (400, "validation_failed", "Only an email address or phone number should be provided")),
        ({"email": "a@b.org", "channel": "sms"}, (400, "validation_failed", "Channel should only be specified with Phone OTP")),
        ({"email": "a b"}, (400, "validation_failed", "Unable to validate email address: invalid format")),
        ({"phone": "12x"}, (400, "validation_failed", "Invalid phone number format (E.164 required)")),
        ({"phone": "4915112345678", "channel": "pigeon"}, (400, "validation_failed", CHANNELS)),
        ({"email": "a@b.org", "code_challenge": "x" * 43}, (400, "validation_failed", "PKCE flow requires code_challenge_method and code_challenge")),
    ],
)  # fmt: skip
async def test_what_cannot_be_sent_is_refused(
    texted: AuthPool, body: dict[str, object], answer: tuple[int, str, str]
):
    assert await texted.refused("POST", "/otp", body) == answer


async def test_where_phones_are_off_none_is_supported(texted: AuthPool):
    """Other ways in that are off: `http/test_features_off.py`."""
    no_phone = texted.having(sms__enable_signup=False)

    assert await no_phone.refused("POST", "/otp", {"phone": number()}) == (
        400, "phone_provider_disabled", "Unsupported phone provider",
    )  # fmt: skip


async def test_a_phone_gets_a_code_of_six_digits(texted: AuthPool, phones: Phones):
    phone = number()

    first = await texted.ok("POST", "/otp", {"phone": f"+{phone}"})
    code = phones.code(phone)
    verified = await texted.ok("POST", "/verify", {"type": "sms", "phone": f"+{phone}", "token": code})
    second = await texted.ok("POST", "/otp", {"phone": phone})

    assert (first, second) == ({}, {"message_id": "SM1"})
    assert len(code) == 6
    user = verified["user"]
    assert (user["phone"], user["user_metadata"]["phone_verified"]) == (phone, True)
    assert user["phone_confirmed_at"]
    assert user["identities"][0]["identity_data"]["phone_verified"] is True
    assert texted.signed(verified).id == user["id"]


async def test_whatsapp_goes_its_own_way(texted: AuthPool, phones: Phones):
    phone = number()

    await texted.ok("POST", "/otp", {"phone": phone, "channel": "whatsapp"})

    assert phones.provider.asked[-1].form["To"] == f"whatsapp:+{phone}"


async def test_without_a_provider_nobody_is_made(mailed: AuthPool):
    phone = number()

    assert await mailed.refused("POST", "/otp", {"phone": phone}) == (
        422, "sms_send_failed", "No provider of text messages is set up (auth.sms)",
    )  # fmt: skip
    assert not await mailed.value("select count(*) from auth.users where phone = $1", phone)


async def test_a_provider_that_refuses_is_told_without_the_number(texted: AuthPool, phones: Phones):
    phone = number()
    phones.provider.answers(400, {"code": 21211, "message": f"The number {phone} is invalid"})

    status, code, message = await texted.refused("POST", "/otp", {"phone": phone})

    assert (status, code) == (422, "sms_send_failed")
    assert "21211" in message
    assert phone not in message


async def test_test_numbers_have_their_code_and_get_no_message(mailed: AuthPool, phones: Phones):
    phone = number()
    tested = with_phones(mailed.having(sms__test_otp={phone: "123456"}), phones)

    await tested.ok("POST", "/otp", {"phone": phone})
    verified = await tested.ok("POST", "/verify", {"type": "sms", "phone": phone, "token": "123456"})
    again = await tested.ok("POST", "/otp", {"phone": phone})

    assert verified["user"]["phone"] == phone
    assert again == {"message_id": "test-otp"}
    assert phones.provider.asked == []


async def test_two_messages_to_one_user_have_a_pause_between_them(mailed: AuthPool, phones: Phones):
    slow = with_phones(mailed.having(email__max_frequency=60.0, sms__max_frequency=30.0), phones)
    email, phone = address(), number()
    for body in ({"email": email}, {"phone": phone}):
        await slow.ok("POST", "/otp", body)

    mail = await slow.send("POST", "/otp", {"email": email})
    text = await slow.send("POST", "/otp", {"phone": phone})

    assert (mail.status, text.status) == (429, 429)
    told_of = [json.loads(each.body) for each in (mail, text)]
    assert [each["error_code"] for each in told_of] == [
        "over_email_send_rate_limit",
        "over_sms_send_rate_limit",
    ]
    for each, shown in zip((mail, text), told_of, strict=True):
        seconds = told(each, "retry-after")
        assert shown["msg"] == f"For security purposes, you can only request this after {seconds} seconds."
    assert 55 <= int(told(mail, "retry-after")) <= 60
    slow.clock.forward(seconds=61)
    await slow.ok("POST", "/otp", {"email": email})


async def test_many_at_once_send_one_message(mailed: AuthPool, office: Office):
    slow, email = mailed.having(email__max_frequency=60.0), address()

    answers = await asyncio.gather(*(slow.send("POST", "/otp", {"email": email}) for _ in range(6)))

    assert sorted(each.status for each in answers) == [200] + [429] * 5
    assert len(office.to(email)) == 1


@pytest.mark.parametrize(
    ("body", "query", "headers", "target"),
    [
        ({}, "", {}, "http://127.0.0.1:3000"),
        ({"options": {"redirectTo": "https://app.example.org/in"}}, "", {}, "https://app.example.org/in"),
        ({"options": {"emailRedirectTo": "https://app.example.org/in"}}, "", {}, "https://app.example.org/in"),
        ({"redirect_to": "https://app.example.org/a"}, "?redirect_to=https%3A%2F%2Fapp.example.org%2Fb", {}, "https://app.example.org/b"),
        ({"redirect_to": "https://app.example.org/a"}, "?redirect_to=https%3A%2F%2Fevil.example%2F", {}, "https://app.example.org/a"),
        ({}, "", {"referer": "https://app.example.org/r"}, "https://app.example.org/r"),
        ({}, "?redirect_to=https://evil.example", {"referer": "https://evil.example/"}, "http://127.0.0.1:3000"),
    ],
)  # fmt: skip
async def test_the_link_leads_to_the_first_address_that_is_allowed(
    mailed: AuthPool,
    office: Office,
    body: dict[str, object],
    query: str,
    headers: dict[str, str],
    target: str,
):
    allowing = mailed.having(additional_redirect_urls=["https://app.example.org/*"])
    email = address()

    sent = {"email": email, **body}
    response = await allowing.send("POST", f"/magiclink{query}", sent, referer=headers.get("referer", ""))

    assert response.status == 200
    assert parse_qs(urlsplit(office.link(email)).query)["redirect_to"] == [target]


async def test_the_seed_s_magic_link_needs_an_address(mailed: AuthPool):
    assert await mailed.refused("POST", "/magiclink", {}) == (
        422, "validation_failed", "An email address is required",
    )  # fmt: skip


async def test_links_stand_on_the_external_url_with_its_path(mailed: AuthPool, office: Office):
    outside, email = mailed.having(external_url="https://api.example.org/sub/auth/v1"), address()

    await outside.send("POST", "/otp", {"email": email}, host="evil.example", x_forwarded_host="evil.example")

    assert office.link(email).startswith("https://api.example.org/sub/auth/v1/verify?token=")


async def test_a_request_with_a_challenge_begins_a_flow(mailed: AuthPool, office: Office):
    signed = await mailed.having(email__enable_confirmations=False).sign_up()

    await mailed.ok("POST", "/otp", {"email": signed.email, **CHALLENGE})

    assert office.token(signed.email).startswith("pkce_")
    kind = await mailed.value(
        "select authentication_method from auth.flow_state where user_id = $1", uuid.UUID(signed.id)
    )
    assert kind == "magiclink"


def test_the_header_of_the_official_clients_names_a_target(mailed: AuthPool):
    allowing = mailed.having(additional_redirect_urls=["https://app.example.org/*"])
    headers = [("referer", "https://app.example.org/r"), ("redirect_to", "https://app.example.org/h")]

    asked = AuthRequest(Request("1", "POST", "/otp", "", headers), b"", {})

    assert redirect_target(allowing.context, asked) == "https://app.example.org/h"


async def test_the_provider_that_makes_codes_is_asked_for_them(mailed: AuthPool):
    async with open_phones(checks_codes=True) as phones:
        checked, phone = with_phones(mailed, phones), number()
        provider: Provider = phones.provider
        await checked.ok("POST", "/otp", {"phone": phone})
        provider.answers(200, {"status": "pending"})
        wrong = await checked.refused("POST", "/verify", {"type": "sms", "phone": phone, "token": "1234"})
        provider.answers(200, {"status": "approved"})
        right = await checked.ok("POST", "/verify", {"type": "sms", "phone": phone, "token": "4321"})
        asked = [(each.path.rpartition("/")[2], each.form) for each in provider.asked]

    assert wrong == (403, "otp_expired", "Token has expired or is invalid")
    assert right["user"]["phone"] == phone
    assert asked == [
        ("Verifications", {"To": f"+{phone}", "Channel": "sms"}),
        ("VerificationCheck", {"To": f"+{phone}", "Code": "1234"}),
        ("VerificationCheck", {"To": f"+{phone}", "Code": "4321"}),
    ]


async def test_the_provider_is_not_asked_after_five_wrong_codes_or_for_nobody(mailed: AuthPool):
    async with open_phones(checks_codes=True) as phones:
        checked, phone = with_phones(mailed, phones), number()
        await checked.ok("POST", "/otp", {"phone": phone})
        phones.provider.answers(200, {"status": "pending"})
        for body in [{"phone": phone}] * 6 + [{"phone": number()}]:
            await checked.refused("POST", "/verify", {"type": "sms", "token": "1234", **body})
        checks = [each for each in phones.provider.asked if each.path.endswith("VerificationCheck")]

    assert len(checks) == 5
