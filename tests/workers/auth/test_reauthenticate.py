"""GET /reauthenticate: the code for a new password. What it is good for is tested with the password. Reference, 6.5."""

import uuid

import pytest

from tests.workers.auth.auth_pool import PASSWORD, AuthPool, SignedInUser, address, number
from tests.workers.auth.delivery.sms.provider import Provider
from tests.workers.auth.office import Office, Phones

PATH = "/reauthenticate"


async def signed_up(auth_pool: AuthPool, **more: object) -> SignedInUser:
    at_once = auth_pool.having(email__enable_confirmations=False, sms__enable_confirmations=False)
    body = {"password": PASSWORD, **(more or {"email": address()})}
    return at_once.signed(await at_once.ok("POST", "/signup", body))


async def test_the_code_goes_to_the_address(mailed: AuthPool, office: Office):
    signed = await signed_up(mailed)

    assert await mailed.ok("GET", PATH, None, signed.caller) == {}

    (email,) = office.to(signed.email)
    assert email.subject == f"{office.code(signed.email)} is your verification code"
    user = await mailed.ok("GET", "/user", None, signed.caller)
    assert user["reauthentication_sent_at"]


async def test_it_goes_to_the_address_even_if_there_is_a_number(
    texted: AuthPool, office: Office, phones: Phones
):
    signed = await signed_up(texted)
    await texted.having(sms__enable_confirmations=False).ok(
        "PUT", "/user", {"phone": number()}, signed.caller
    )

    await texted.ok("GET", PATH, None, signed.caller)

    assert len(office.to(signed.email)) == 1
    assert phones.provider.asked == []


async def test_it_goes_to_the_phone_of_who_has_no_address(texted: AuthPool, phones: Phones):
    phone = number()
    signed = await signed_up(texted, phone=phone)

    assert await texted.ok("GET", PATH, None, signed.caller) == {"message_id": "SM1"}

    assert len(phones.code(phone)) == 6


async def test_who_has_neither_gets_none(mailed: AuthPool):
    signed = mailed.signed(await mailed.ok("POST", "/signup", {}))

    assert await mailed.refused("GET", PATH, None, signed.caller) == (
        400, "validation_failed", "Reauthentication requires the user to have an email or a phone number",
    )  # fmt: skip


@pytest.mark.parametrize("field", ["email", "phone"])
async def test_an_address_that_is_not_confirmed_gets_none(texted: AuthPool, office: Office, field: str):
    signed = await signed_up(texted, **{field: address() if field == "email" else number()})
    await texted.admin.execute(
        f"update auth.users set {field}_confirmed_at = null where id = $1", uuid.UUID(signed.id)
    )

    status, code, _ = await texted.refused("GET", PATH, None, signed.caller)

    assert (status, code) == (422, f"{field}_not_confirmed")
    assert len(office.caught) == 0


async def test_there_is_a_pause_between_two(mailed: AuthPool, office: Office):
    slow = mailed.having(email__max_frequency=60.0)
    signed = await signed_up(slow)
    await slow.ok("GET", PATH, None, signed.caller)

    assert (await slow.refused("GET", PATH, None, signed.caller))[:2] == (429, "over_email_send_rate_limit")
    assert len(office.caught) == 1
    slow.clock.forward(seconds=61)
    await slow.ok("GET", PATH, None, signed.caller)


async def test_a_provider_that_fails_is_told_of(texted: AuthPool, phones: Phones):
    signed = await signed_up(texted, phone=number())
    provider: Provider = phones.provider
    provider.answers(500, {"message": "no"})

    assert (await texted.refused("GET", PATH, None, signed.caller))[:2] == (422, "sms_send_failed")
