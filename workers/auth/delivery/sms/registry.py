"""SMS providers by name. A provider is one module beside this one, and one line here."""

from collections.abc import Callable, Mapping
from typing import Any

import aiohttp

from schemas.settings.auth_delivery import Sms
from workers.auth.delivery.sms.messagebird import MessageBirdSender
from workers.auth.delivery.sms.sender import SmsSender
from workers.auth.delivery.sms.textlocal import TextlocalSender
from workers.auth.delivery.sms.twilio import TwilioSender
from workers.auth.delivery.sms.twilio_verify import TwilioVerifySender
from workers.auth.delivery.sms.vonage import VonageSender

PROVIDERS: Mapping[str, Callable[[Any, aiohttp.ClientSession], SmsSender]] = {
    "twilio": TwilioSender,
    "twilio_verify": TwilioVerifySender,
    "messagebird": MessageBirdSender,
    "vonage": VonageSender,
    "textlocal": TextlocalSender,
}
"""Every sender class by the name of its settings section, which it takes as its argument."""


def make_sender(sms: Sms, session: aiohttp.ClientSession) -> SmsSender | None:
    """Return the sender that the settings enable; None without one."""
    name = sms.sender
    return None if name is None else PROVIDERS[name](getattr(sms, name), session)
