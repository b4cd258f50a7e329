"""Vonage's SMS interface."""

import aiohttp
import pytest

from schemas.keys.secret import Secret
from schemas.settings.auth_delivery import VonageSettings as Account
from tests.workers.auth.delivery.sms.provider import Provider
from workers.auth.delivery.failures import DeliveryFailed
from workers.auth.delivery.sms.sender import SmsMessage
from workers.auth.delivery.sms.vonage import VonageSender

StandIn = tuple[Provider, aiohttp.ClientSession]


def sender(stand_in: StandIn) -> VonageSender:
    provider, session = stand_in
    return VonageSender(
        Account(from_="Team", api_key="k", api_secret=Secret("s")), session, base_url=provider.url
    )


@pytest.mark.parametrize(("text", "extra"), [("Code 1", {}), ("Código 1", {"type": "unicode"})])
async def test_message_is_posted_as_the_interface_asks(
    stand_in: StandIn, text: str, extra: dict[str, str]
) -> None:
    provider, _ = stand_in
    provider.answers(200, {"message-count": "1", "messages": [{"message-id": "m1", "status": "0"}]})

    sent = await sender(stand_in).send(SmsMessage("+4915112345678", text, "1"))

    [asked] = provider.asked
    assert sent == "m1"
    assert (asked.method, asked.path, asked.authorization) == ("POST", "/sms/json", "")
    assert asked.form == {
        "from": "Team",
        "to": "4915112345678",
        "text": text,
        "api_key": "k",
        "api_secret": "s",
        **extra,
    }


@pytest.mark.parametrize(("status", "is_permanent"), [("1", False), ("4", True), ("5", False), ("6", True)])
async def test_status_of_the_message_decides(stand_in: StandIn, status: str, is_permanent: bool) -> None:
    stand_in[0].answers(200, {"messages": [{"status": status, "error-text": "Bad Credentials"}]})

    with pytest.raises(DeliveryFailed, match=f"code {status}, Bad Credentials") as caught:
        await sender(stand_in).send(SmsMessage("4915112345678", "t", "1"))

    assert caught.value.is_permanent is is_permanent
