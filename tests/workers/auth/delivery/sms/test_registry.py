"""The sender that the settings enable."""

import aiohttp
import pytest

from schemas.settings.auth_delivery import (
    SENDERS,
    Messagebird,
    Sms,
    TextlocalSettings,
    TwilioSettings,
    TwilioVerifySettings,
    VonageSettings,
)
from workers.auth.delivery.sms.registry import PROVIDERS, make_sender


@pytest.mark.parametrize(
    "sms",
    [
        Sms(twilio=TwilioSettings(enabled=True)),
        Sms(twilio_verify=TwilioVerifySettings(enabled=True)),
        Sms(messagebird=Messagebird(enabled=True)),
        Sms(vonage=VonageSettings(enabled=True)),
        Sms(textlocal=TextlocalSettings(enabled=True)),
    ],
)
async def test_enabled_provider_is_made(sms: Sms) -> None:
    async with aiohttp.ClientSession() as session:
        sender = make_sender(sms, session)

    assert type(sender) is PROVIDERS[str(sms.sender)]


async def test_no_provider_is_no_sender() -> None:
    async with aiohttp.ClientSession() as session:
        assert make_sender(Sms(), session) is None


def test_every_provider_of_the_settings_is_known() -> None:
    assert set(PROVIDERS) == set(SENDERS)
