"""The official Python client, in both of its forms: accounts that emails and text messages confirm, enter and change."""

from typing import Any

import pytest

from tests.conformance.auth_callers import (
    OTHER,
    PASSWORD,
    People,
    Person,
    address,
    claims_of,
    done,
    refusal,
    refused,
)
from tests.conformance.auth_post import code_to, email_to, land, phone_number
from tests.conformance.confirming import SITE

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.process_group("clients")]

EXPIRED = refused(403, "otp_expired", "Token has expired or is invalid")
NOT_CONFIRMED = refused(400, "email_not_confirmed", "Email not confirmed")


async def sign_up(people: People, **options: object) -> tuple[Any, str]:
    auth, email = await people.auth(**options), address()
    asked = {
        "email": email,
        "password": PASSWORD,
        "options": {"email_redirect_to": f"{SITE}/in", "data": {"name": "Ada"}},
    }
    answer = await done(auth.sign_up(asked))
    assert (answer.session, answer.user.email) == (None, email)
    return auth, email


async def follow(people: People, email: str) -> Any:
    message = await email_to(people.platform, email)
    return land(message.link)


async def exchange(auth: Any, code: str) -> Any:
    return await done(
        auth.exchange_code_for_session({"auth_code": code, "code_verifier": "", "redirect_to": SITE})
    )


def listen(auth: Any) -> list[str]:
    events: list[str] = []
    auth.on_auth_state_change(lambda event, session: events.append(event))
    return events


# --- Confirmation ------------------------------------------------------------------------------------------------


async def test_a_sign_up_waits_for_the_code_of_the_email(new_users: People) -> None:
    auth, email = await sign_up(new_users)
    early = await refusal(auth.sign_in_with_password, {"email": email, "password": PASSWORD})
    message = await email_to(new_users.platform, email)

    answer = await done(auth.verify_otp({"email": email, "token": message.code, "type": "signup"}))

    assert early == NOT_CONFIRMED
    assert message.subject == "Confirm your email address"
    assert answer.user.email_confirmed_at is not None
    assert answer.user.user_metadata.items() >= {"name": "Ada", "email_verified": True}.items()
    assert (await done(auth.get_user())).user.email == email
    again = await refusal(auth.verify_otp, {"email": email, "token": message.code, "type": "signup"})
    assert again == EXPIRED


async def test_the_link_of_the_email_brings_a_code_that_is_exchanged(new_users: People) -> None:
    auth, email = await sign_up(new_users)
    landed = await follow(new_users, email)

    answer = await exchange(auth, landed.query["code"])

    assert (landed.target, landed.fragment) == (f"{SITE}/in", {})
    assert answer.session.user.email == email


async def test_the_link_brings_a_session_to_a_client_of_the_implicit_flow(new_users: People) -> None:
    auth, email = await sign_up(new_users, flow_type="implicit")
    events, landed = listen(auth), await follow(new_users, email)

    await done(auth.initialize(url=landed.url.replace("#", "?")))

    assert landed.fragment["type"] == "signup"
    assert (await done(auth.get_user())).user.email == email
    assert events == ["SIGNED_IN"]


async def test_a_email_is_sent_again(new_users: People) -> None:
    auth, email = await sign_up(new_users)
    await email_to(new_users.platform, email)

    await done(
        auth.resend({"type": "signup", "email": email, "options": {"email_redirect_to": f"{SITE}/again"}})
    )

    message = await email_to(new_users.platform, email)
    assert "%2Fagain" in message.link or "/again" in message.link
    assert (
        await done(auth.verify_otp({"email": email, "token": message.code, "type": "email"}))
    ).user.email == email


async def test_a_sign_up_by_phone_waits_for_the_code_of_the_message(new_users: People) -> None:
    auth, phone = await new_users.auth(), phone_number()
    first = await done(auth.sign_up({"phone": phone, "password": PASSWORD}))
    await code_to(new_users.platform, phone)
    again = await done(auth.resend({"type": "sms", "phone": phone}))

    answer = await done(
        auth.verify_otp({"phone": phone, "token": await code_to(new_users.platform, phone), "type": "sms"})
    )

    assert (first.session, first.user.phone) == (None, phone[1:])
    assert again.message_id
    assert answer.user.phone_confirmed_at is not None
    entered = await done(
        (await new_users.auth()).sign_in_with_password({"phone": phone, "password": PASSWORD})
    )
    assert entered.user.id == first.user.id


# --- Without a password ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_code_by_email_signs_in(new_users: People, is_known: bool) -> None:
    email = (await new_users.member()).email if is_known else address()
    auth = await new_users.auth()
    await done(auth.sign_in_with_otp({"email": email, "options": {"data": {"name": "Ada"}}}))
    message = await email_to(new_users.platform, email)

    answer = await done(auth.verify_otp({"email": email, "token": message.code, "type": "email"}))

    assert answer.user.email == email
    assert [each["method"] for each in claims_of(answer.session.access_token)["amr"]] == ["otp"]


async def test_the_link_of_an_email_signs_in_and_its_hash_does_too(new_users: People) -> None:
    one, auth = await new_users.member(), await new_users.auth()
    for_link = {
        "email": one.email,
        "options": {"email_redirect_to": f"{SITE}/in", "should_create_user": False},
    }
    await done(auth.sign_in_with_otp(for_link))
    landed = await follow(new_users, one.email)
    by_link = await exchange(auth, landed.query["code"])
    implicit = await new_users.auth(flow_type="implicit")
    await done(implicit.sign_in_with_otp({"email": one.email}))
    link = (await email_to(new_users.platform, one.email)).link

    by_hash = await done(
        implicit.verify_otp({"token_hash": link.split("token=")[1].split("&")[0], "type": "magiclink"})
    )

    assert by_link.user.id == by_hash.user.id == one.user.id


async def test_nobody_is_made_where_the_application_does_not_wish_it(new_users: People) -> None:
    auth = await new_users.auth()

    error = await refusal(
        auth.sign_in_with_otp, {"email": address(), "options": {"should_create_user": False}}
    )

    assert error == refused(422, "otp_disabled", "Signups not allowed for otp")


async def test_a_code_by_text_message_signs_in(new_users: People) -> None:
    phone, ids = phone_number(), []
    for _ in range(2):
        auth = await new_users.auth()
        await done(auth.sign_in_with_otp({"phone": phone}))
        code = await code_to(new_users.platform, phone)
        ids.append((await done(auth.verify_otp({"phone": phone, "token": code, "type": "sms"}))).user.id)

    wrong = await refusal(auth.verify_otp, {"phone": phone, "token": code, "type": "sms"})

    assert ids[0] == ids[1]
    assert wrong == EXPIRED


@pytest.mark.parametrize("by_link", [True, False])
async def test_a_forgotten_password_is_replaced(new_users: People, by_link: bool) -> None:
    one, auth = await new_users.member(), await new_users.auth()
    events = listen(auth)
    ask = auth.reset_password_for_email if by_link else auth.reset_password_email
    await done(ask(one.email, {"redirect_to": f"{SITE}/new-password"}))

    if by_link:
        await exchange(auth, (await follow(new_users, one.email)).query["code"])
    else:
        code = (await email_to(new_users.platform, one.email)).code
        await done(auth.verify_otp({"email": one.email, "token": code, "type": "recovery"}))
    await done(auth.update_user({"password": OTHER}))

    assert events == ["PASSWORD_RECOVERY", "USER_UPDATED"]
    assert (await new_users.signed_in(one.email, OTHER)).user.id == one.user.id


# --- Changes -----------------------------------------------------------------------------------------------------


async def old_session(people: People) -> Person:
    one, service = await people.member(), await people.visitor("SERVICE_ROLE_KEY")
    session = claims_of(one.session.access_token)["session_id"]
    await service.run(service.rpc("set_session_start_back", {"session": session}))
    return one


async def test_an_old_session_changes_the_password_with_the_nonce_of_an_email(new_users: People) -> None:
    one = await old_session(new_users)
    without = await refusal(one.auth.update_user, {"password": OTHER})
    await done(one.auth.reauthenticate())
    nonce = (await email_to(new_users.platform, one.email)).code

    await done(one.auth.update_user({"password": OTHER, "nonce": nonce}))

    assert (without["status"], without["code"]) == (400, "reauthentication_needed")
    assert (await new_users.signed_in(one.email, OTHER)).user.id == one.user.id


async def test_another_address_holds_when_both_codes_were_entered(new_users: People) -> None:
    one, after = await new_users.member(), address("next")
    asked = await done(one.auth.update_user({"email": after}, {"email_redirect_to": f"{SITE}/settings"}))
    codes = [(email, (await email_to(new_users.platform, email)).code) for email in (one.email, after)]

    first, second = [
        await done(one.auth.verify_otp({"email": email, "token": code, "type": "email_change"}))
        for email, code in codes
    ]

    assert (asked.user.email, asked.user.new_email) == (one.email, after)
    assert (first.user, first.session) == (None, None)
    assert (second.user.id, second.session.user.email) == (one.user.id, after)
    assert (await new_users.signed_in(after)).user.id == one.user.id


async def test_a_number_is_added_by_the_code_sent_to_it(new_users: People) -> None:
    one, phone = await new_users.member(), phone_number()
    asked = (await done(one.auth.update_user({"phone": phone}))).user
    code = await code_to(new_users.platform, phone)

    answer = await done(one.auth.verify_otp({"phone": phone, "token": code, "type": "phone_change"}))

    assert (asked.phone, asked.new_phone) == ("", phone[1:])
    assert (answer.user.id, answer.user.phone) == (one.user.id, phone[1:])


async def test_a_visitor_stays_by_confirming_an_address(new_users: People) -> None:
    auth, email = await new_users.auth(), address()
    start = await done(auth.sign_in_anonymously())
    await done(auth.update_user({"email": email}))
    code = (await email_to(new_users.platform, email)).code

    answer = await done(auth.verify_otp({"email": email, "token": code, "type": "email_change"}))

    assert (answer.user.id, answer.user.email, answer.user.is_anonymous) == (start.user.id, email, False)
