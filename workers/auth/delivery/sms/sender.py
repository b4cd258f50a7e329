"""What all SMS providers have in common: a message, a channel, and the protocol of a sender."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from workers.auth.delivery.failures import Cause, DeliveryFailed


class Channel(StrEnum):
    """The way a message takes to a phone."""

    SMS = "sms"
    WHATSAPP = "whatsapp"


@dataclass(frozen=True, slots=True)
class SmsMessage:
    """A code for a phone. `phone` is an E.164 number, with or without its plus."""

    phone: str
    text: str = field(repr=False)
    code: str = field(repr=False)
    channel: Channel = Channel.SMS


class SmsSender(Protocol):
    """Hands messages to a provider. `channels` are those it offers."""

    channels: frozenset[Channel]

    async def send(self, message: SmsMessage) -> str:
        """Hand over a message and give the provider's id of it. Raises: DeliveryFailed."""
        ...


class CodeChecker(Protocol):
    """A provider that makes the codes itself, and so must be asked whether one is right."""

    async def check(self, phone: str, code: str) -> bool:
        """Tell whether the code is the one that was sent to the phone. Raises: DeliveryFailed."""
        ...


SMS_ONLY = frozenset({Channel.SMS})
EVERY_CHANNEL = frozenset(Channel)


def digits(phone: str) -> str:
    """Give the number without plus and ornaments. Raises: DeliveryFailed if it is none (E.164: 7 to 15 digits)."""
    bare = phone.removeprefix("+").replace(" ", "")
    if not (bare.isascii() and bare.isdecimal() and 7 <= len(bare) <= 15 and bare[0] != "0"):
        raise DeliveryFailed(Cause.ADDRESS, "the phone number cannot be sent to", is_permanent=True)
    return bare


def demand_channel(sender: SmsSender, message: SmsMessage, name: str) -> None:
    """Raises: DeliveryFailed if the sender does not offer the message's channel."""
    if message.channel not in sender.channels:
        raise DeliveryFailed(
            Cause.CHANNEL, f"{name} offers no channel {message.channel.value}", is_permanent=True
        )
