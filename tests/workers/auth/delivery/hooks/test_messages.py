"""Hooks that send in place of the mail server and the SMS provider, and the one that is asked about second factors."""

from typing import Any
from uuid import UUID

import pytest

from tests.workers.auth.auth_pool import AuthPool, SignedInUser, address, number
from tests.workers.auth.delivery.hooks.conftest import Hooked
from tests.workers.auth.delivery.hooks.service import HookService
from tests.workers.auth.second_factors import OPEN_FACTORS, WRONG_TOTP, App, next_step, with_app
from workers.auth.accounts.codes import code_messages, one_time
from workers.auth.accounts.codes.one_time import CodeKind
from workers.auth.accounts.users import users
from workers.auth.delivery.email.emails import OutgoingEmail
from workers.auth.delivery.hooks.points import HookPoint
from workers.auth.delivery.templates import EmailKind as Template
from workers.auth.delivery.templates import TemplateValues
from workers.auth.flows import address_changes
from workers.auth.model.errors import AuthError
from workers.auth.model.rows import AuthUser

CLIENT = "192.0.2.9"


async def user_of(auth_pool: AuthPool, signed: SignedInUser) -> AuthUser:
    async with auth_pool.context.transaction() as transaction:
        found = await users.find_by_id(transaction, UUID(signed.id))
    assert found is not None
    return found


async def is_code(auth_pool: AuthPool, kind: CodeKind, to: str, code: str) -> bool:
    return await one_time.try_code(auth_pool.context, (kind,), to, code, "authenticated") is not None


async def is_link(auth_pool: AuthPool, kind: CodeKind, link: str) -> bool:
    async with auth_pool.context.transaction() as transaction:
        return await one_time.find_by_link(auth_pool.context, transaction, link, (kind,)) is not None


async def recovery(auth_pool: AuthPool, signed: SignedInUser) -> OutgoingEmail:
    user = await user_of(auth_pool, signed)
    async with auth_pool.context.transaction() as transaction:
        return await code_messages.prepare_mail(
            auth_pool.context,
            transaction,
            user,
            code_messages.RECOVERY,
            "https://app.example.org/x",
            client=CLIENT,
        )


async def test_a_mail_goes_to_the_service_with_a_code_that_works(hooked: Hooked, service: HookService):
    outside = "https://project.example/auth/v1"
    auth_pool = hooked.over_http(
        HookPoint.SEND_EMAIL, site_url="https://app.example.org", external_url=outside
    )
    signed = await auth_pool.sign_up()

    await auth_pool.context.outbox.send(await recovery(auth_pool, signed))

    (heard,) = service.heard
    data = heard["email_data"]
    assert (heard["metadata"]["name"], heard["metadata"]["ip_address"]) == ("send-email", CLIENT)
    assert (heard["user"]["id"], heard["user"]["email"]) == (signed.id, signed.email)
    assert data["email_action_type"] == "recovery"
    assert data["site_url"] == outside
    assert data["redirect_to"] == "https://app.example.org/x"
    assert (data["token_new"], data["token_hash_new"], data["old_email"]) == ("", "", "")
    assert await is_link(auth_pool, CodeKind.RECOVERY, data["token_hash"])
    assert await is_code(auth_pool, CodeKind.RECOVERY, signed.email, data["token"])


async def test_a_change_of_address_is_told_once_with_both_codes_crossed(hooked: Hooked, service: HookService):
    auth_pool = hooked.over_http(HookPoint.SEND_EMAIL, email__double_confirm_changes=True)
    signed, new = await auth_pool.sign_up(), address()
    user = await user_of(auth_pool, signed)
    async with auth_pool.context.transaction() as transaction:
        mail = await address_changes.begin_email_change(auth_pool.context, transaction, user, new, "")

    await auth_pool.context.outbox.send(mail)

    (heard,) = service.heard
    data = heard["email_data"]
    assert (data["email_action_type"], heard["user"]["new_email"]) == ("email_change", new)
    assert await is_link(auth_pool, CodeKind.EMAIL_CHANGE_CURRENT, data["token_hash_new"])
    assert await is_link(auth_pool, CodeKind.EMAIL_CHANGE_NEW, data["token_hash"])
    assert await is_code(auth_pool, CodeKind.EMAIL_CHANGE_CURRENT, signed.email, data["token"])
    assert await is_code(auth_pool, CodeKind.EMAIL_CHANGE_NEW, new, data["token_new"])


async def test_a_notice_says_what_has_changed(hooked: Hooked, service: HookService):
    auth_pool = hooked.over_http(HookPoint.SEND_EMAIL)
    user = await user_of(auth_pool, await auth_pool.sign_up())

    await auth_pool.context.outbox.mail(
        Template.FACTOR_ENROLLED, user.email or "", TemplateValues(factor_type="totp"), user
    )

    data = service.heard[0]["email_data"]
    assert data["email_action_type"] == "mfa_factor_enrolled_notification"
    assert (data["factor_type"], data["token"], data["token_hash"]) == ("totp", "", "")


async def test_a_mail_that_the_service_refuses_is_refused_in_its_words(hooked: Hooked, service: HookService):
    auth_pool = hooked.over_http(HookPoint.SEND_EMAIL)
    service.says({"error": {"http_code": 429, "message": "slowly"}})
    mail = await recovery(auth_pool, await auth_pool.sign_up())

    with pytest.raises(AuthError) as raised:
        await auth_pool.context.outbox.send(mail)

    assert (raised.value.status, raised.value.message) == (429, "slowly")


async def test_a_text_message_goes_to_the_service_without_any_provider(hooked: Hooked, service: HookService):
    auth_pool = hooked.over_http(HookPoint.SEND_SMS)
    phone = number()
    signed = auth_pool.signed(
        await auth_pool.ok("POST", "/signup", {"phone": phone, "password": "correct horse"})
    )
    user = await user_of(auth_pool, signed)
    async with auth_pool.context.transaction() as transaction:
        text = await code_messages.prepare_text(
            auth_pool.context, transaction, user, CodeKind.CONFIRMATION, phone, client=CLIENT
        )

        sent = await text.send(auth_pool.context, transaction)

    (heard,) = service.heard
    assert sent == ""
    assert (heard["user"]["id"], heard["metadata"]["ip_address"]) == (signed.id, CLIENT)
    assert (set(heard["sms"]), heard["sms"]["phone"]) == ({"otp", "phone"}, phone)
    assert await is_code(auth_pool, CodeKind.CONFIRMATION, phone, heard["sms"]["otp"])


async def test_test_numbers_are_not_told(hooked: Hooked, service: HookService):
    phone = number()
    auth_pool = hooked.over_http(HookPoint.SEND_SMS, sms__test_otp={phone: "123456"})
    user = await user_of(auth_pool, await auth_pool.sign_up())

    assert await auth_pool.context.outbox.text(phone, "123456", user=user) == "test-otp"
    assert not service.heard


# --- Second factors ----------------------------------------------------------------------------------------------


async def with_factor(hooked: Hooked, said: dict[str, Any]) -> tuple[AuthPool, SignedInUser, App]:
    """Set an app up before anybody is asked, then ask the service, which says something."""
    signed, app = await with_app(hooked.auth_pool.having(**OPEN_FACTORS))
    next_step(hooked.auth_pool)
    auth_pool = hooked.over_http(HookPoint.MFA_VERIFICATION, **OPEN_FACTORS)
    hooked.service.says(said)
    return auth_pool, signed, App(auth_pool, app.id, app.secret)


async def test_each_check_of_a_factor_is_told(hooked: Hooked, service: HookService):
    _, signed, app = await with_factor(hooked, {"decision": "continue"})

    assert await app.refused(signed, app.wrong()) == WRONG_TOTP
    await app.verify(signed)

    told = [
        (each["factor_id"], each["factor_type"], each["user_id"], each["valid"]) for each in service.heard
    ]
    assert told == [(app.id, "totp", signed.id, False), (app.id, "totp", signed.id, True)]


@pytest.mark.parametrize("is_right", [True, False])
async def test_a_rejected_factor_ends_all_sessions(hooked: Hooked, is_right: bool):
    auth_pool, signed, app = await with_factor(hooked, {"decision": "reject", "message": "not from there"})
    code = app.code() if is_right else app.wrong()

    assert await app.refused(signed, code) == (403, "mfa_verification_rejected", "not from there")
    assert await auth_pool.sessions_of(signed.id) == set()


async def test_a_decision_that_is_none_raises_no_session(hooked: Hooked):
    auth_pool, signed, app = await with_factor(hooked, {"decision": "allow"})

    assert (await app.refused(signed, app.code()))[:2] == (500, "unexpected_failure")
    assert await auth_pool.sessions_of(signed.id) == {signed.session_id}
