"""Names of providers -> senders. A provider is one file beside this one, and one line here."""

from collections.abc import Callable, Mapping
from typing import Any

import aiohttp

from schemas.settings.auth_delivery import Sms
from workers.auth.delivery.sms.messagebird import MessageBird
from workers.auth.delivery.sms.sender import SmsSender
from workers.auth.delivery.sms.textlocal import Textlocal
from workers.auth.delivery.sms.twilio import Twilio
from workers.auth.delivery.sms.twilio_verify import TwilioVerify
from workers.auth.delivery.sms.vonage import Vonage

PROVIDERS: Mapping[str, Callable[[Any, aiohttp.ClientSession], SmsSender]] = {
    "twilio": Twilio,
    "twilio_verify": TwilioVerify,
    "messagebird": MessageBird,
    "vonage": Vonage,
    "textlocal": Textlocal,
}
"""Every sender by the name of its section, whose settings it is made with."""


def make_sender(sms: Sms, session: aiohttp.ClientSession) -> SmsSender | None:
    """Make the sender that the settings enable; None if they enable none."""
    name = sms.sender
    return None if name is None else PROVIDERS[name](getattr(sms, name), session)
