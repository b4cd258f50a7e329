"""Twilio's Message resource."""

import aiohttp
import pytest

from schemas.keys.secret import Secret
from schemas.settings.auth_delivery import TwilioSettings as Account
from tests.workers.auth.delivery.sms.provider import Provider
from workers.auth.delivery.failures import DeliveryFailed
from workers.auth.delivery.sms.sender import SmsChannel, SmsMessage
from workers.auth.delivery.sms.twilio import TwilioSender

StandIn = tuple[Provider, aiohttp.ClientSession]


def twilio(stand_in: StandIn, sender: str = "MG1", content: str = "") -> TwilioSender:
    provider, session = stand_in
    account = Account(
        account_sid="AC1", auth_token=Secret("t"), message_service_sid=sender, content_sid=content
    )
    return TwilioSender(account, session, base_url=provider.url)


async def test_message_is_posted_as_the_interface_asks(stand_in: StandIn) -> None:
    provider, _ = stand_in
    provider.answers(201, {"sid": "SM1", "status": "queued", "error_code": None})

    sent = await twilio(stand_in).send(SmsMessage("4915112345678", "Code 1 & 2 ü", "1"))

    [asked] = provider.asked
    assert sent == "SM1"
    assert (asked.method, asked.path) == ("POST", "/2010-04-01/Accounts/AC1/Messages.json")
    assert asked.authorization == "Basic QUMxOnQ="
    assert asked.form == {"To": "+4915112345678", "From": "MG1", "Channel": "sms", "Body": "Code 1 & 2 ü"}


@pytest.mark.parametrize(("sender", "shown"), [("MG1", "MG1"), ("+15551234567", "whatsapp:+15551234567")])
async def test_whatsapp_numbers_carry_their_prefix(stand_in: StandIn, sender: str, shown: str) -> None:
    provider, _ = stand_in
    provider.answers(201, {"sid": "SM1"})

    await twilio(stand_in, sender).send(SmsMessage("+4915112345678", "Code", "1", SmsChannel.WHATSAPP))

    assert provider.asked[0].form == {
        "To": "whatsapp:+4915112345678",
        "From": shown,
        "Channel": "whatsapp",
        "Body": "Code",
    }


async def test_whatsapp_template_takes_the_code(stand_in: StandIn) -> None:
    provider, _ = stand_in
    provider.answers(201, {"sid": "SM1"})

    await twilio(stand_in, content="HX1").send(
        SmsMessage("4915112345678", "Code", "123", SmsChannel.WHATSAPP)
    )

    form = provider.asked[0].form
    assert (form["ContentSid"], form["ContentVariables"]) == ("HX1", '{"1":"123"}')
    assert "Body" not in form


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (400, {"code": 21211, "message": "Invalid 'To' Phone Number: +4915", "status": 400}, 21211),
        (201, {"sid": "SM1", "status": "failed", "error_code": 30005, "error_message": "Unknown"}, 30005),
    ],
)
async def test_refusal_is_told_with_its_code(stand_in: StandIn, status: int, body: object, code: int) -> None:
    provider, _ = stand_in
    provider.answers(status, body)

    with pytest.raises(DeliveryFailed, match=f"code {code}") as caught:
        await twilio(stand_in).send(SmsMessage("4915112345678", "t", "c"))

    assert (caught.value.code, caught.value.is_permanent) == (code, True)
