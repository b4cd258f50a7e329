"""MessageBird's SMS interface."""

import aiohttp
import pytest

from schemas.keys.secret import Secret
from schemas.settings.auth_delivery import Messagebird
from tests.workers.auth.delivery.sms.provider import Provider
from workers.auth.delivery.failures import DeliveryFailed
from workers.auth.delivery.sms.messagebird import MessageBirdSender
from workers.auth.delivery.sms.sender import SmsMessage

StandIn = tuple[Provider, aiohttp.ClientSession]
MESSAGE = SmsMessage("+4915112345678", "Code ü", "1")


def sender(stand_in: StandIn) -> MessageBirdSender:
    provider, session = stand_in
    return MessageBirdSender(
        Messagebird(originator="Team", access_key=Secret("k")), session, base_url=provider.url
    )


async def test_message_is_posted_as_the_interface_asks(stand_in: StandIn) -> None:
    provider, _ = stand_in
    provider.answers(
        201, {"id": "m1", "recipients": {"totalCount": 1, "totalSentCount": 1, "totalDeliveryFailedCount": 0}}
    )

    sent = await sender(stand_in).send(MESSAGE)

    [asked] = provider.asked
    assert sent == "m1"
    assert (asked.method, asked.path, asked.authorization) == ("POST", "/messages", "AccessKey k")
    assert asked.form == {
        "originator": "Team",
        "body": "Code ü",
        "recipients": "4915112345678",
        "type": "sms",
        "datacoding": "unicode",
    }


async def test_refusal_is_told_with_its_code(stand_in: StandIn) -> None:
    error = {"code": 9, "description": "no (correct) recipients found", "parameter": "recipient"}
    stand_in[0].answers(422, {"errors": [error]})

    with pytest.raises(DeliveryFailed, match=r"HTTP 422, code 9, no recipients found") as caught:
        await sender(stand_in).send(MESSAGE)

    assert caught.value.code == 9


async def test_number_that_was_not_reached_is_told(stand_in: StandIn) -> None:
    stand_in[0].answers(201, {"id": "m1", "recipients": {"totalDeliveryFailedCount": 1}})

    with pytest.raises(DeliveryFailed):
        await sender(stand_in).send(MESSAGE)
