"""Twilio's Verification and VerificationCheck resources."""

import aiohttp
import pytest

from schemas.keys.secret import Secret
from schemas.settings.auth_delivery import TwilioVerifySettings as Account
from tests.workers.auth.delivery.sms.provider import Provider
from workers.auth.delivery.failures import DeliveryFailed
from workers.auth.delivery.sms.sender import SmsChannel, SmsMessage
from workers.auth.delivery.sms.twilio_verify import TwilioVerifySender

StandIn = tuple[Provider, aiohttp.ClientSession]


def verify(stand_in: StandIn) -> TwilioVerifySender:
    provider, session = stand_in
    account = Account(account_sid="AC1", auth_token=Secret("t"), message_service_sid="VA1")
    return TwilioVerifySender(account, session, base_url=provider.url)


async def test_verification_is_begun(stand_in: StandIn) -> None:
    provider, _ = stand_in
    provider.answers(201, {"sid": "VE1", "status": "pending"})

    sent = await verify(stand_in).send(SmsMessage("4915112345678", "t", "c", SmsChannel.WHATSAPP))

    [asked] = provider.asked
    assert sent == "VE1"
    assert asked.path == "/v2/Services/VA1/Verifications"
    assert asked.authorization == "Basic QUMxOnQ="
    assert asked.form == {"To": "+4915112345678", "Channel": "whatsapp"}


@pytest.mark.parametrize(
    ("status", "body", "is_right"),
    [
        (200, {"status": "approved", "valid": True}, True),
        (200, {"status": "pending", "valid": False}, False),
        (404, {"code": 20404, "message": "not found"}, False),
        (429, {"code": 60202, "message": "Max check attempts reached"}, False),
    ],
)
async def test_code_is_checked_there(stand_in: StandIn, status: int, body: object, is_right: bool) -> None:
    provider, _ = stand_in
    provider.answers(status, body)

    assert await verify(stand_in).check("+4915112345678", "123456") is is_right
    assert provider.asked[0].path == "/v2/Services/VA1/VerificationCheck"
    assert provider.asked[0].form == {"To": "+4915112345678", "Code": "123456"}


@pytest.mark.parametrize("status", [401, 500])
async def test_check_that_fails_is_no_wrong_code(stand_in: StandIn, status: int) -> None:
    stand_in[0].answers(status, {})

    with pytest.raises(DeliveryFailed):
        await verify(stand_in).check("4915112345678", "123456")


async def test_verification_that_was_not_begun_is_told(stand_in: StandIn) -> None:
    stand_in[0].answers(201, {"sid": "VE1", "status": "canceled"})

    with pytest.raises(DeliveryFailed):
        await verify(stand_in).send(SmsMessage("4915112345678", "t", "c"))
