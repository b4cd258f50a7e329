"""The types that all SMS providers share: message, channel, and the protocol of a sender."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from workers.auth.delivery.failures import DeliveryCause, DeliveryFailed


class SmsChannel(StrEnum):
    """How a message reaches a phone."""

    SMS = "sms"
    WHATSAPP = "whatsapp"


@dataclass(frozen=True, slots=True)
class SmsMessage:
    """A code for a phone. `phone` is an E.164 number, with or without its plus."""

    phone: str
    text: str = field(repr=False)
    code: str = field(repr=False)
    channel: SmsChannel = SmsChannel.SMS


class SmsSender(Protocol):
    """Sends messages by a provider. `channels` are those it offers."""

    channels: frozenset[SmsChannel]

    async def send(self, message: SmsMessage) -> str:
        """Send a message and return the provider's id of it. Raises: DeliveryFailed."""
        ...


class CodeChecker(Protocol):
    """A provider that draws the codes itself, so it also checks them."""

    async def check(self, phone: str, code: str) -> bool:
        """Return whether the code is the one that was sent to the phone. Raises: DeliveryFailed."""
        ...


SMS_ONLY = frozenset({SmsChannel.SMS})
EVERY_CHANNEL = frozenset(SmsChannel)


def digits(phone: str) -> str:
    """Return a number without plus and blanks. Raises: DeliveryFailed if it is not E.164 (7 to 15 digits)."""
    bare = phone.removeprefix("+").replace(" ", "")
    if not (bare.isascii() and bare.isdecimal() and 7 <= len(bare) <= 15 and bare[0] != "0"):
        raise DeliveryFailed(DeliveryCause.ADDRESS, "the phone number cannot be sent to", is_permanent=True)
    return bare


def demand_channel(sender: SmsSender, message: SmsMessage, name: str) -> None:
    """Check that the sender offers the message's channel. Raises: DeliveryFailed."""
    if message.channel not in sender.channels:
        raise DeliveryFailed(
            DeliveryCause.CHANNEL, f"{name} offers no channel {message.channel.value}", is_permanent=True
        )
