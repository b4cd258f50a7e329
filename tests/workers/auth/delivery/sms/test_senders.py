"""What every sender has in common: success, refusal, faults, channels, and what is not told."""

from collections.abc import Callable

import aiohttp
import pytest

from schemas.keys.secret import Secret
from schemas.settings.auth_delivery import (
    Messagebird,
    TextlocalSettings,
)
from schemas.settings.auth_delivery import TwilioSettings as TwilioSettings
from schemas.settings.auth_delivery import (
    TwilioVerifySettings as VerifySettings,
)
from schemas.settings.auth_delivery import (
    VonageSettings as VonageSettings,
)
from tests.workers.auth.delivery.sms.provider import Provider
from tests.workers.auth.delivery.smtp_server import raw_server
from workers.auth.delivery.failures import DeliveryCause, DeliveryFailed
from workers.auth.delivery.sms.messagebird import MessageBirdSender
from workers.auth.delivery.sms.sender import SmsChannel, SmsMessage, SmsSender
from workers.auth.delivery.sms.textlocal import TextlocalSender
from workers.auth.delivery.sms.twilio import TwilioSender
from workers.auth.delivery.sms.twilio_verify import TwilioVerifySender
from workers.auth.delivery.sms.vonage import VonageSender

KEY = Secret("key-secret-1")
MESSAGE = SmsMessage("+4915112345678", "Your code is 123456", "123456")
Make = Callable[[aiohttp.ClientSession, str, float], SmsSender]

SENDERS: dict[str, Make] = {
    "twilio": lambda session, url, limit: TwilioSender(
        TwilioSettings(account_sid="AC1", message_service_sid="MG1", auth_token=KEY), session, base_url=url, timeout_s=limit
    ),
    "twilio_verify": lambda session, url, limit: TwilioVerifySender(
        VerifySettings(account_sid="AC1", message_service_sid="VA1", auth_token=KEY), session, base_url=url, timeout_s=limit
    ),
    "messagebird": lambda session, url, limit: MessageBirdSender(
        Messagebird(originator="Team", access_key=KEY), session, base_url=url, timeout_s=limit
    ),
    "vonage": lambda session, url, limit: VonageSender(
        VonageSettings(from_="Team", api_key="k", api_secret=KEY), session, base_url=url, timeout_s=limit
    ),
    "textlocal": lambda session, url, limit: TextlocalSender(
        TextlocalSettings(sender="TEAM", api_key=KEY), session, base_url=url, timeout_s=limit
    ),
}  # fmt: skip


@pytest.fixture(params=list(SENDERS))
def make(request: pytest.FixtureRequest) -> Make:
    """Each sender in turn."""
    return SENDERS[request.param]


async def failure(sender: SmsSender, message: SmsMessage = MESSAGE) -> DeliveryFailed:
    with pytest.raises(DeliveryFailed) as caught:
        await sender.send(message)
    for hidden in ("15112345678", "123456", "key-secret"):
        assert hidden not in str(caught.value) + repr(caught.value)
    return caught.value


@pytest.mark.parametrize(
    "body", ["", "<html>no</html>", [], {}, {"messages": "x", "recipients": 3, "errors": [1]}]
)
@pytest.mark.parametrize(("status", "is_permanent"), [(400, True), (429, False), (500, False), (503, False)])
async def test_refusal_tells_whether_to_try_again(
    make: Make,
    stand_in: tuple[Provider, aiohttp.ClientSession],
    status: int,
    is_permanent: bool,
    body: object,
) -> None:
    provider, session = stand_in
    provider.answers(status, body)

    failed = await failure(make(session, provider.url, 5.0))

    assert (failed.cause, failed.is_permanent) == (DeliveryCause.REFUSED, is_permanent)
    assert f"HTTP {status}" in str(failed)


async def test_wrong_credentials_are_told(
    make: Make, stand_in: tuple[Provider, aiohttp.ClientSession]
) -> None:
    provider, session = stand_in
    provider.answers(401, {"code": 20003, "message": "Authenticate key-secret-1"})

    assert (await failure(make(session, provider.url, 5.0))).cause is DeliveryCause.LOGIN


async def test_redirect_is_not_followed(make: Make, stand_in: tuple[Provider, aiohttp.ClientSession]) -> None:
    provider, session = stand_in
    provider.answers(307, "elsewhere")

    await failure(make(session, provider.url, 5.0))

    assert len(provider.asked) == 1


async def test_provider_that_does_not_answer_is_given_up(make: Make) -> None:
    async def silent(reader, _) -> None:  # type: ignore[no-untyped-def]  # the streams of asyncio
        await reader.read()

    async with raw_server(silent) as port, aiohttp.ClientSession() as session:
        failed = await failure(make(session, f"http://127.0.0.1:{port}", 0.05))

    assert (failed.cause, failed.is_permanent) == (DeliveryCause.TIMEOUT, False)


async def test_provider_that_cannot_be_reached_is_told(make: Make) -> None:
    async def never(_: object, __: object) -> None: ...

    async with raw_server(never) as port:
        pass
    async with aiohttp.ClientSession() as session:
        failed = await failure(make(session, f"http://127.0.0.1:{port}", 5.0))

    assert (failed.cause, failed.is_permanent) == (DeliveryCause.UNREACHABLE, False)


@pytest.mark.parametrize("phone", ["", "+", "0123456789", "12ab5678901", "+1234567890123456", "٤٩١٥١١٢٣٤٥٦٧"])
async def test_number_that_is_none_is_not_sent_to(
    make: Make, stand_in: tuple[Provider, aiohttp.ClientSession], phone: str
) -> None:
    provider, session = stand_in

    failed = await failure(make(session, provider.url, 5.0), SmsMessage(phone, "t", "c"))

    assert failed.cause is DeliveryCause.ADDRESS
    assert provider.asked == []


@pytest.mark.parametrize("name", list(SENDERS))
async def test_channels_are_kept_to(name: str, stand_in: tuple[Provider, aiohttp.ClientSession]) -> None:
    provider, session = stand_in
    sender = SENDERS[name](session, provider.url, 5.0)
    provider.answers(201, {"sid": "1", "status": "pending"})
    message = SmsMessage("4915112345678", "t", "c", SmsChannel.WHATSAPP)

    if name.startswith("twilio"):
        assert SmsChannel.WHATSAPP in sender.channels
        assert await sender.send(message) == "1"
    else:
        failed = await failure(sender, message)
        assert sender.channels == {SmsChannel.SMS}
        assert (failed.cause, str(failed).endswith("whatsapp")) == (DeliveryCause.CHANNEL, True)


def test_message_shows_no_code() -> None:
    assert "123456 " not in repr(MESSAGE)
    assert "code" not in repr(MESSAGE)
