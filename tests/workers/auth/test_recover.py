"""POST /recover and POST /resend: what is sent, and that nobody learns who is there."""

import json
import uuid

import pytest

from tests.workers.auth.auth_pool import PASSWORD, AuthPool, address, number
from tests.workers.auth.office import Office, Phones, landed
from workers.auth.model.pkce import s256

CHALLENGE = {"code_challenge": s256("v" * 43), "code_challenge_method": "s256"}
TYPES = (400, "validation_failed", "Missing one of these types: signup, email_change, sms, phone_change")


async def known(mailed: AuthPool) -> str:
    """Make an account that is confirmed, and give its address."""
    return (await mailed.having(email__enable_confirmations=False).sign_up()).email


async def test_a_known_address_gets_a_link_by_which_a_password_is_set(mailed: AuthPool, office: Office):
    email = await known(mailed)

    assert (
        await mailed.ok("POST", "/recover?redirect_to=http://127.0.0.1:3000/new", {"email": email.upper()})
        == {}
    )

    assert office.to(email)[0].subject == "Reset your password"
    target, _, fragment = landed(await mailed.send("GET", office.path(email)))
    assert (target, fragment["type"]) == ("http://127.0.0.1:3000/new", "recovery")
    caller = mailed.signed({"access_token": fragment["access_token"]}).caller
    await mailed.ok("PUT", "/user", {"password": "a new password"}, caller)
    await mailed.sign_in(email, "a new password")


async def test_an_unknown_address_gets_the_same_answer_and_no_email(mailed: AuthPool, office: Office):
    email = address()

    assert await mailed.ok("POST", "/recover", {"email": email}) == {}

    assert len(office.caught) == 0
    assert not await mailed.value("select count(*) from auth.users where email = $1", email)


@pytest.mark.parametrize("path", ["/recover", "/otp"])
async def test_a_clock_that_was_set_back_does_not_prolong_the_pause(
    mailed: AuthPool, office: Office, path: str
):
    slow = mailed.having(email__max_frequency=60.0)
    email = await known(mailed)

    for _ in range(2):
        await slow.ok("POST", path, {"email": email})
        slow.clock.forward(hours=-2)

    assert len(office.to(email)) == 2


@pytest.mark.parametrize(("path", "second"), [("/recover", 429), ("/resend", 200)])
async def test_asking_again_does_not_tell_who_is_known(mailed: AuthPool, path: str, second: int):
    slow = mailed.having(email__max_frequency=60.0)
    signed_up = address()
    await mailed.having(email__enable_confirmations=False).sign_up(signed_up)

    told: list[list[tuple[int, object]]] = []
    for email in (signed_up, address()):
        body = {"email": email, "type": "signup"}
        answers = [await slow.send("POST", path, body) for _ in range(2)]
        told.append([(each.status, json.loads(each.body)) for each in answers])

    assert told[0] == told[1]
    assert [status for status, _ in told[0]] == [200, second]
    slow.clock.forward(seconds=61)
    assert (await slow.send("POST", path, {"email": address(), "type": "signup"})).status == 200


@pytest.mark.parametrize("email", ["", None])
async def test_a_recovery_needs_an_address(mailed: AuthPool, email: str | None):
    assert await mailed.refused("POST", "/recover", {"email": email}) == (
        400, "validation_failed", "Password recovery requires an email",
    )  # fmt: skip


async def test_a_recovery_confirms_an_address_that_was_not(mailed: AuthPool, office: Office):
    email = address()
    await mailed.ok("POST", "/signup", {"email": email, "password": PASSWORD})

    await mailed.ok("POST", "/recover", {"email": email})
    body = {"type": "recovery", "email": email, "token": office.code(email)}
    verified = await mailed.ok("POST", "/verify", body)

    assert verified["user"]["email_confirmed_at"]
    assert not await mailed.value("select count(*) from auth.one_time_tokens where relates_to = $1", email)


async def test_a_recovery_with_a_challenge_begins_a_flow(mailed: AuthPool, office: Office):
    email = await known(mailed)

    await mailed.ok("POST", "/recover", {"email": email, **CHALLENGE})

    assert office.token(email).startswith("pkce_")
    assert (
        await mailed.value(
            "select authentication_method from auth.flow_state f join auth.users u on u.id = f.user_id where email = $1",
            email,
        )
        == "recovery"
    )


async def test_a_sign_up_that_is_waited_for_is_sent_again(mailed: AuthPool, office: Office):
    email = address()
    await mailed.ok("POST", "/signup", {"email": email, "password": PASSWORD})
    first = office.token(email)

    assert await mailed.ok("POST", "/resend", {"type": "signup", "email": email}) == {}

    second = office.token(email)
    assert first != second
    _, _, old = landed(await mailed.send("GET", f"/verify?type=signup&token={first}"))
    _, _, new = landed(await mailed.send("GET", f"/verify?type=signup&token={second}"))
    assert old["error_code"] == "otp_expired"
    assert new["access_token"]


async def test_a_text_message_is_sent_again(texted: AuthPool, phones: Phones):
    phone = number()
    await texted.ok("POST", "/signup", {"phone": phone, "password": PASSWORD})

    assert await texted.ok("POST", "/resend", {"type": "sms", "phone": phone}) == {"message_id": "SM1"}

    assert len(phones.provider.asked) == 2
    body = {"type": "sms", "phone": phone, "token": phones.code(phone)}
    assert (await texted.ok("POST", "/verify", body))["user"]["phone_confirmed_at"]


@pytest.mark.parametrize("type", ["signup", "email_change", "sms", "phone_change"])
@pytest.mark.parametrize("is_known", [True, False])
async def test_where_nothing_is_waited_for_nothing_is_sent(
    texted: AuthPool, office: Office, phones: Phones, type: str, is_known: bool
):
    email, phone = address(), number()
    if is_known:
        automatic = texted.having(email__enable_confirmations=False, sms__enable_confirmations=False)
        await automatic.ok("POST", "/signup", {"email": email, "password": PASSWORD})
        await automatic.ok("POST", "/signup", {"phone": phone, "password": PASSWORD})
    to = {"email": email} if type in ("signup", "email_change") else {"phone": phone}

    assert await texted.ok("POST", "/resend", {"type": type, **to}) == {}

    assert (len(office.caught), len(phones.provider.asked)) == (0, 0)


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ({"email": "a@b.org"}, TYPES),
        ({"email": "a@b.org", "type": "recovery"}, TYPES),
        ({"type": "signup", "email": "a@b.org", "phone": "4915112345678"}, (400, "validation_failed", "Only an email address or phone number should be provided")),
        ({"type": "signup", "phone": "4915112345678"}, (400, "validation_failed", "Type provided requires an email address")),
        ({"type": "sms", "email": "a@b.org"}, (400, "validation_failed", "Type provided requires a phone number")),
        ({"type": "email_change"}, (400, "validation_failed", "Type provided requires an email address")),
    ],
)  # fmt: skip
async def test_what_cannot_be_sent_again_is_refused(
    texted: AuthPool, body: dict[str, object], answer: tuple[int, str, str]
):
    assert await texted.refused("POST", "/resend", body) == answer


async def test_only_listed_addresses_get_mail_whoever_is_known(mailed: AuthPool, office: Office):
    listed = mailed.having(email__authorized_addresses=["team@corp.example"])
    email = await known(mailed)

    for path, body in (
        ("/recover", {}),
        ("/otp", {}),
        ("/magiclink", {}),
        ("/resend", {"type": "signup"}),
        ("/signup", {"password": PASSWORD}),
    ):
        for one in (email, "nobody@corp.example"):
            answer = await listed.refused("POST", path, {"email": one, **body})
            assert answer[:2] == (400, "email_address_not_authorized")
    await listed.ok("POST", "/otp", {"email": "team+news@corp.example"})

    assert len(office.caught) == 1


async def test_reserved_hosts_get_no_mail_where_the_settings_say_so(mailed: AuthPool):
    strict = mailed.having(email__validation_extended=True)

    answer = await strict.refused("POST", "/otp", {"email": "a@example.com"})

    assert answer == (400, "email_address_invalid", 'Email address "a@example.com" is invalid')


async def test_an_address_of_another_audience_is_not_known_here(mailed: AuthPool, office: Office):
    email = await known(mailed)

    response = await mailed.send("POST", "/recover", {"email": email}, x_jwt_aud="elsewhere")

    assert response.status == 200
    assert len(office.caught) == 0
    assert uuid.UUID(str(await mailed.value("select id from auth.users where email = $1", email)))
