"""Textlocal's `send` command."""

import aiohttp
import pytest

from schemas.keys.secret import Secret
from schemas.settings.auth_delivery import TextlocalSettings as Account
from tests.workers.auth.delivery.sms.provider import Provider
from workers.auth.delivery.failures import DeliveryFailed
from workers.auth.delivery.sms.sender import SmsMessage
from workers.auth.delivery.sms.textlocal import TextlocalSender

StandIn = tuple[Provider, aiohttp.ClientSession]


def sender(stand_in: StandIn) -> TextlocalSender:
    provider, session = stand_in
    return TextlocalSender(Account(sender="TEAM", api_key=Secret("k")), session, base_url=provider.url)


@pytest.mark.parametrize(("text", "extra"), [("Code 1", {}), ("कोड 1", {"unicode": "true"})])
async def test_message_is_posted_as_the_interface_asks(
    stand_in: StandIn, text: str, extra: dict[str, str]
) -> None:
    provider, _ = stand_in
    provider.answers(200, {"status": "success", "batch_id": 7, "messages": [{"id": "m1", "recipient": 91}]})

    sent = await sender(stand_in).send(SmsMessage("+918123456789", text, "1"))

    [asked] = provider.asked
    assert sent == "m1"
    assert (asked.method, asked.path) == ("POST", "/send/")
    assert asked.form == {
        "apikey": "k",
        "sender": "TEAM",
        "numbers": "918123456789",
        "message": text,
        **extra,
    }


async def test_refusal_comes_with_a_good_status_and_is_told(stand_in: StandIn) -> None:
    stand_in[0].answers(
        200, {"status": "failure", "errors": [{"code": 7, "message": "Insufficient credits"}]}
    )

    with pytest.raises(
        DeliveryFailed, match=r"Textlocal refused the message \(HTTP 200, code 7, Insufficient credits\)"
    ):
        await sender(stand_in).send(SmsMessage("918123456789", "t", "1"))
