"""Codes by message as a second factor. Reference, sections 9.1 to 9.3; attacks on them."""

import asyncio
import re
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import aiohttp
import pytest

from schemas.keys.secret import Secret
from schemas.settings.auth_delivery import Messagebird, TwilioVerifySettings
from tests.workers.auth.auth_pool import ADMIN, AuthPool, SignedInUser, claims_of, number, told
from tests.workers.auth.delivery.sms.provider import Provider, running_provider
from tests.workers.auth.second_factors import OPEN_FACTORS, factors_of, settle
from workers.auth.delivery.sms import messagebird, twilio_verify
from workers.auth.delivery.sms.sender import SmsSender

WRONG = (422, "mfa_verification_failed", "Invalid MFA Phone code entered")


@dataclass
class Phones:
    """A worker whose messages go to a stand-in of a provider."""

    auth_pool: AuthPool
    provider: Provider
    session: aiohttp.ClientSession

    @property
    def last_code(self) -> str:
        """Return the code of the last message."""
        found = re.fullmatch(r"Your code is ([0-9]+)", self.provider.asked[-1].form["body"])
        assert found is not None
        return found[1]

    def by(self, sender: SmsSender, **settings: object) -> "Phones":
        """Return the same with another sender, and other settings."""
        auth_pool = self.auth_pool.having(**settings)
        context = auth_pool.context
        made = replace(context, outbox=replace(context.outbox, sms=sender))
        return replace(self, auth_pool=AuthPool(made, auth_pool.admin, auth_pool.clock))

    def having(self, **settings: object) -> "Phones":
        account = Messagebird(access_key=Secret("key"), originator="Shop")
        sender = messagebird.MessageBirdSender(account, self.session, base_url=self.provider.url)
        return self.by(sender, **settings)

    async def enroll(self, signed: SignedInUser, phone: str | None = None, **more: object) -> str:
        body = {"factor_type": "phone", "phone": phone or number(), **more}
        return str((await self.auth_pool.ok("POST", "/factors", body, signed.caller))["id"])

    async def challenge(self, signed: SignedInUser, id: str, **body: object) -> str:
        made = await self.auth_pool.ok("POST", f"/factors/{id}/challenge", body, signed.caller)
        return str(made["id"])

    async def verify(self, signed: SignedInUser, id: str, challenge: str, code: str) -> SignedInUser:
        body = {"challenge_id": challenge, "code": code}
        answer = await self.auth_pool.ok("POST", f"/factors/{id}/verify", body, signed.caller)
        return self.auth_pool.signed(answer)

    async def refused(self, signed: SignedInUser, id: str, challenge: str, code: str) -> tuple[int, str, str]:
        body = {"challenge_id": challenge, "code": code}
        return await self.auth_pool.refused("POST", f"/factors/{id}/verify", body, signed.caller)


@pytest.fixture
async def phones(plain: AuthPool) -> AsyncIterator[Phones]:
    async with running_provider() as (provider, session):
        provider.answers(201, {"id": "message-1", "recipients": {"totalDeliveryFailedCount": 0}})
        yield Phones(settle(plain.having(**OPEN_FACTORS)), provider, session).having()


def other(code: str) -> str:
    """Return another code of the same length."""
    return f"{(int(code) + 1) % 10 ** len(code):0{len(code)}d}"


async def test_a_number_is_shown_as_it_is_kept(phones: Phones):
    signed = await phones.auth_pool.sign_up()

    made = await phones.auth_pool.ok(
        "POST", "/factors", {"factor_type": "phone", "phone": "+49 151 234567", "friendly_name": "Mine"}, signed.caller
    )  # fmt: skip

    assert {**made, "id": ""} == {"id": "", "type": "phone", "friendly_name": "Mine", "phone": "49151234567"}
    assert [(each["phone"], each["status"]) for each in await factors_of(phones.auth_pool, signed)] == [
        ("49151234567", "unverified")
    ]
    assert phones.provider.asked == []


async def test_a_code_that_was_sent_raises_the_session(phones: Phones):
    signed, phone = await phones.auth_pool.sign_up(), number()
    id = await phones.enroll(signed, phone)
    challenge = await phones.challenge(signed, id)

    high = await phones.verify(signed, id, challenge, phones.last_code)

    assert phones.provider.asked[-1].form["recipients"] == phone
    assert len(phones.last_code) == 6
    assert claims_of(high.caller)["aal"] == "aal2"
    assert {each["method"] for each in claims_of(high.caller)["amr"]} == {"password", "mfa/phone"}
    assert [each["status"] for each in high.body["user"]["factors"]] == ["verified"]


async def test_length_and_words_of_a_message_are_the_projects(phones: Phones):
    own = phones.having(mfa__phone__otp_length=9, mfa__phone__template="{{ .Code }} is for the shop")
    signed = await own.auth_pool.sign_up()

    await own.challenge(signed, await own.enroll(signed))

    assert re.fullmatch(r"[0-9]{9} is for the shop", own.provider.asked[-1].form["body"])


async def test_a_wrong_code_is_told_in_the_words_that_clients_know(phones: Phones):
    signed = await phones.auth_pool.sign_up()
    id = await phones.enroll(signed)
    challenge = await phones.challenge(signed, id)
    right = phones.last_code

    assert await phones.refused(signed, id, challenge, other(right)) == WRONG
    assert await phones.refused(signed, id, challenge, f" {right}") == WRONG
    assert (await phones.refused(signed, id, challenge, ""))[:2] == (400, "validation_failed")
    await phones.verify(signed, id, challenge, right)


async def test_a_code_answers_its_own_challenge_only(phones: Phones):
    signed = await phones.auth_pool.sign_up()
    id = await phones.enroll(signed)
    first = await phones.challenge(signed, id)
    old = phones.last_code
    phones.auth_pool.clock.forward(seconds=6)
    second = await phones.challenge(signed, id)
    new = phones.last_code

    if old != new:
        assert await phones.refused(signed, id, second, old) == WRONG
        assert await phones.refused(signed, id, first, new) == WRONG
    await phones.verify(signed, id, second, new)


async def test_a_user_waits_between_two_messages_whatever_the_number(phones: Phones):
    signed, phone = await phones.auth_pool.sign_up(), number()
    one, two = await phones.enroll(signed, phone), await phones.enroll(signed)
    await phones.challenge(signed, one)
    again = await phones.enroll(signed, phone)  # in place of the first

    for id in (again, two):
        status, code, message = await phones.auth_pool.refused(
            "POST", f"/factors/{id}/challenge", {}, signed.caller
        )
        assert (status, code) == (429, "over_sms_send_rate_limit")
        assert message == "For security purposes, you can only request this after 5 seconds."
    phones.auth_pool.clock.forward(seconds=5)
    await phones.challenge(signed, two)
    assert len(phones.provider.asked) == 2


async def test_of_many_challenges_at_once_one_sends(phones: Phones):
    signed = await phones.auth_pool.sign_up()
    id = await phones.enroll(signed)

    answers = await asyncio.gather(
        *(phones.auth_pool.send("POST", f"/factors/{id}/challenge", {}, signed.caller) for _ in range(10))
    )

    assert sorted(each.status for each in answers) == [200] + [429] * 9
    assert len(phones.provider.asked) == 1


async def test_a_number_that_was_begun_is_replaced(phones: Phones):
    signed, phone = await phones.auth_pool.sign_up(), number()
    few = phones.having(mfa__max_enrolled_factors=1)
    old = await few.enroll(signed, phone, friendly_name="Mine")

    new = await few.enroll(signed, f"+{phone}", friendly_name="Mine")

    assert [each["id"] for each in await factors_of(few.auth_pool, signed)] == [new]
    assert old != new


async def test_a_verified_number_is_not_taken_twice(phones: Phones):
    signed, phone = await phones.auth_pool.sign_up(), number()
    id = await phones.enroll(signed, phone)
    high = await phones.verify(signed, id, await phones.challenge(signed, id), phones.last_code)

    body = {"factor_type": "phone", "phone": phone}
    assert (await phones.auth_pool.refused("POST", "/factors", body, high.caller))[:2] == (
        422, "mfa_verified_factor_exists",
    )  # fmt: skip
    await phones.enroll(await phones.auth_pool.sign_up(), phone)


async def test_a_channel_is_one_that_is_offered(phones: Phones):
    signed = await phones.auth_pool.sign_up()
    id = await phones.enroll(signed)

    for channel in ("whatsapp", "pigeon"):
        refused = await phones.auth_pool.refused(
            "POST", f"/factors/{id}/challenge", {"channel": channel}, signed.caller
        )
        assert refused[0] == 400
    await phones.challenge(signed, id, channel="sms")


async def test_without_a_sender_no_challenge_is_kept(plain: AuthPool):
    auth_pool = plain.having(**OPEN_FACTORS)
    signed = await auth_pool.sign_up()
    body = {"factor_type": "phone", "phone": number()}
    id = (await auth_pool.ok("POST", "/factors", body, signed.caller))["id"]

    assert (await auth_pool.refused("POST", f"/factors/{id}/challenge", {}, signed.caller))[0] >= 400
    assert (
        await auth_pool.value("select count(*) from auth.mfa_challenges where factor_id = $1", uuid.UUID(id))
        == 0
    )


async def test_a_message_that_is_not_taken_is_told(phones: Phones):
    signed = await phones.auth_pool.sign_up()
    id = await phones.enroll(signed)
    phones.provider.answers(500, {"errors": [{"code": 1, "description": "out of order"}]})

    refused = await phones.auth_pool.refused("POST", f"/factors/{id}/challenge", {}, signed.caller)

    assert refused[0] == 422


async def test_a_test_number_has_a_fixed_code_and_gets_no_message(phones: Phones):
    phone = number()
    own = phones.having(sms__test_otp={phone: "424242"})
    signed = await own.auth_pool.sign_up()
    id = await own.enroll(signed, phone)
    challenge = await own.challenge(signed, id)

    assert await own.refused(signed, id, challenge, "000000") == WRONG
    assert claims_of((await own.verify(signed, id, challenge, "424242")).caller)["aal"] == "aal2"
    assert own.provider.asked == []


async def test_a_fixed_code_ends_with_its_time(phones: Phones):
    phone = number()
    past = datetime(2020, 1, 1, tzinfo=UTC)
    own = phones.having(sms__test_otp={phone: "424242"}, sms__test_otp_valid_until=past)
    signed = await own.auth_pool.sign_up()
    id = await own.enroll(signed, phone)

    await own.challenge(signed, id)

    assert own.provider.asked[-1].form["recipients"] == phone


async def test_a_code_is_void_once_an_admin_changes_the_number(phones: Phones):
    signed = await phones.auth_pool.sign_up()
    id = await phones.enroll(signed)
    challenge = await phones.challenge(signed, id)
    await phones.auth_pool.ok("PUT", f"/admin/users/{signed.id}/factors/{id}", {"phone": number()}, ADMIN)

    assert await phones.refused(signed, id, challenge, phones.last_code) == WRONG


async def test_a_provider_that_makes_the_codes_is_asked(phones: Phones):
    account = TwilioVerifySettings(account_sid="AC1", auth_token=Secret("token"), message_service_sid="VA1")
    sender = twilio_verify.TwilioVerifySender(account, phones.session, base_url=phones.provider.url)
    own = phones.by(sender)
    signed = await own.auth_pool.sign_up()
    id = await own.enroll(signed)
    own.provider.answers(201, {"sid": "VE1", "status": "pending"})
    challenge = await own.challenge(signed, id)

    own.provider.answers(200, {"status": "pending"})
    assert await own.refused(signed, id, challenge, "111111") == WRONG
    own.provider.answers(200, {"status": "approved"})
    answers = await asyncio.gather(
        *(
            own.auth_pool.send(
                "POST", f"/factors/{id}/verify", {"challenge_id": challenge, "code": "222222"}, signed.caller
            )
            for _ in range(4)
        )
    )

    assert [each.status for each in answers].count(200) == 1
    assert own.provider.asked[-1].form["Code"] == "222222"


async def test_guesses_at_a_provider_that_makes_the_codes_are_counted(phones: Phones):
    account = TwilioVerifySettings(account_sid="AC1", auth_token=Secret("token"), message_service_sid="VA1")
    sender = twilio_verify.TwilioVerifySender(account, phones.session, base_url=phones.provider.url)
    own = phones.by(sender)
    signed = await own.auth_pool.sign_up()
    id = await own.enroll(signed)
    own.provider.answers(201, {"sid": "VE1", "status": "pending"})
    body = {"challenge_id": await own.challenge(signed, id), "code": "111111"}
    own.provider.answers(200, {"status": "pending"})
    sent = len(own.provider.asked)

    answers = await asyncio.gather(
        *(own.auth_pool.send("POST", f"/factors/{id}/verify", body, signed.caller) for _ in range(12))
    )

    codes = [told(each, "x-sb-error-code") for each in answers]
    assert (codes.count("mfa_verification_failed"), codes.count("mfa_challenge_expired")) == (5, 7)
    assert len(own.provider.asked) == sent + 5
