"""PUT /user with another phone number. Reference, sections 6.2 and 6.4."""

import pytest

from tests.workers.auth.auth_pool import PASSWORD, AuthPool, address, number
from tests.workers.auth.office import Office, Phones, landed
from tests.workers.auth.test_user_addresses import NOTICES, PHONE_EXISTS, put, refused, signed_up


async def test_a_new_number_waits_for_its_code(texted: AuthPool, phones: Phones):
    signed, phone = await signed_up(texted), number()

    shown = await put(texted, signed, phone=f"+{phone}")

    assert (shown["phone"], shown["new_phone"]) == ("", phone)
    assert shown["phone_change_sent_at"]
    body = {"type": "phone_change", "phone": phone, "token": phones.code(phone)}
    user = (await texted.ok("POST", "/verify", body))["user"]
    assert (user["id"], user["phone"]) == (signed.id, phone)
    assert "new_phone" not in user
    assert [each["provider"] for each in user["identities"]] == ["email", "phone"]
    assert user["app_metadata"] == {"provider": "email", "providers": ["email", "phone"]}
    assert user["user_metadata"]["phone_verified"] is True


async def test_where_messages_are_not_confirmed_a_new_number_is_the_users_at_once(auth_pool: AuthPool):
    signed, first, second = await auth_pool.sign_up(), number(), number()

    for phone in (first, second):
        shown = await put(auth_pool, signed, phone=phone)
        assert (shown["phone"], shown["user_metadata"]["phone_verified"]) == (phone, True)
        assert shown["phone_confirmed_at"]
        assert "new_phone" not in shown
        identity = next(each for each in shown["identities"] if each["provider"] == "phone")
        assert identity["identity_data"] == {"sub": signed.id, "phone": phone, "phone_verified": True}
    assert shown["app_metadata"] == {"provider": "email", "providers": ["email", "phone"]}
    by_phone = await auth_pool.ok(
        "POST", "/token?grant_type=password", {"phone": second, "password": PASSWORD}
    )
    assert by_phone["user"]["id"] == signed.id
    gone = await auth_pool.refused(
        "POST", "/token?grant_type=password", {"phone": first, "password": PASSWORD}
    )
    assert gone[1] == "invalid_credentials"


@pytest.mark.parametrize("confirms", [True, False])
async def test_a_number_that_is_taken_is_refused(texted: AuthPool, phones: Phones, confirms: bool):
    auth_pool = texted.having(sms__enable_confirmations=confirms)
    signed, other, phone = await signed_up(auth_pool), await signed_up(auth_pool), number()
    await put(auth_pool.having(sms__enable_confirmations=False), other, phone=phone)

    assert await refused(auth_pool, signed, phone=f"+{phone}") == PHONE_EXISTS
    assert phones.provider.asked == []
    assert "new_phone" not in await put(auth_pool, other, phone=phone)


async def test_a_change_that_waits_is_sent_again(texted: AuthPool, office: Office, phones: Phones):
    signed, new_email, new_phone = await signed_up(texted), address(), number()
    phone = number()
    await put(texted.having(sms__enable_confirmations=False), signed, phone=phone)
    await put(texted.having(email__double_confirm_changes=False), signed, email=new_email, phone=new_phone)

    mail = await texted.ok("POST", "/resend", {"type": "email_change", "email": signed.email})
    text = await texted.ok("POST", "/resend", {"type": "phone_change", "phone": phone})

    assert (mail, text) == ({}, {"message_id": "SM1"})
    assert len(office.to(new_email)) == 2
    body = {"type": "phone_change", "phone": new_phone, "token": phones.code(new_phone)}
    assert (await texted.ok("POST", "/verify", body))["user"]["phone"] == new_phone


async def test_a_number_that_is_taken_between_wish_and_code_stays_whose_it_is(
    texted: AuthPool, phones: Phones
):
    signed, other, phone = await signed_up(texted), await signed_up(texted), number()
    await put(texted, signed, phone=phone)
    await put(texted.having(sms__enable_confirmations=False), other, phone=phone)

    body = {"type": "phone_change", "phone": phone, "token": phones.code(phone)}

    assert await texted.refused("POST", "/verify", body) == PHONE_EXISTS
    assert (await texted.ok("GET", "/user", None, other.caller))["phone"] == phone


async def test_the_channel_is_one_that_the_provider_has(texted: AuthPool, phones: Phones):
    signed = await signed_up(texted)

    status, code, message = await refused(texted, signed, phone=number(), channel="fax")
    assert (status, code) == (400, "validation_failed")
    assert message.startswith("Invalid channel")
    await put(texted, signed, phone=number(), channel="")
    await put(texted, signed, phone=number(), channel="whatsapp")
    assert phones.provider.asked[-1].form["To"].startswith("whatsapp:")


async def test_without_a_provider_a_number_cannot_be_changed(mailed: AuthPool):
    signed = await signed_up(mailed)

    assert (await refused(mailed, signed, phone=number()))[:2] == (422, "sms_send_failed")
    assert "new_phone" not in await mailed.ok("GET", "/user", None, signed.caller)


async def test_both_addresses_and_the_password_may_change_at_once(
    texted: AuthPool, office: Office, phones: Phones
):
    signed, email, phone = await signed_up(texted), address(), number()

    shown = await put(texted, signed, email=email, phone=phone, password="another one", data={"a": 1})

    assert (shown["new_email"], shown["new_phone"], shown["user_metadata"]["a"]) == (email, phone, 1)
    code = {"type": "phone_change", "phone": phone, "token": phones.code(phone)}
    await texted.ok("POST", "/verify", code)
    link = landed(await texted.send("GET", office.path(email)))[2]
    # an address that has changed voids all codes, that of the other address too
    assert link["error_code"] == "otp_expired"
    await texted.sign_in(signed.email, "another one")


@pytest.mark.parametrize("confirms", [True, False])
async def test_of_a_new_number_the_address_is_told(
    texted: AuthPool, office: Office, phones: Phones, confirms: bool
):
    auth_pool = texted.having(**NOTICES, sms__enable_confirmations=confirms)
    signed, phone = await signed_up(auth_pool), number()

    await put(auth_pool, signed, phone=phone)
    if confirms:
        assert len(office.caught) == 0
        body = {"type": "phone_change", "phone": phone, "token": phones.code(phone)}
        await auth_pool.ok("POST", "/verify", body)

    (email,) = office.to(signed.email)
    assert email.subject == "Your phone number was changed"
    assert phone in email.text
