"""Twilio: Programmable Messaging. Source: its public reference of the Message resource."""

import aiohttp
import orjson

from schemas.settings.auth_delivery import TwilioSettings as Account
from workers.auth.delivery.sms.form_requests import TIMEOUT_S, basic, post_form, rejection
from workers.auth.delivery.sms.sender import EVERY_CHANNEL, SmsChannel, SmsMessage, digits

_NAME = "Twilio"
_FAILED = frozenset({"failed", "undelivered", "canceled"})
_VERSION = "2010-04-01"


class TwilioSender:
    """Sends by Twilio."""

    channels = EVERY_CHANNEL

    def __init__(
        self,
        account: Account,
        session: aiohttp.ClientSession,
        *,
        base_url: str = "https://api.twilio.com",
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._account = account
        self._session = session
        self._url = f"{base_url}/{_VERSION}/Accounts/{account.account_sid}/Messages.json"
        self._timeout_s = timeout_s

    async def send(self, message: SmsMessage) -> str:
        """Send a message and return its SID. Raises: DeliveryFailed."""
        account = self._account
        reply = await post_form(
            self._session,
            _NAME,
            self._url,
            self._form(message),
            headers=basic(account.account_sid, account.auth_token),
            timeout_s=self._timeout_s,
        )
        if not reply.is_ok:
            raise rejection(_NAME, reply, reply.text("code"), reply.text("message"))
        if reply.text("status") in _FAILED:
            raise rejection(_NAME, reply, reply.text("error_code"), reply.text("error_message"))
        return reply.text("sid")

    def _form(self, message: SmsMessage) -> dict[str, str]:
        to, sender = f"+{digits(message.phone)}", self._account.message_service_sid
        form = {"Channel": message.channel.value}
        if message.channel is SmsChannel.WHATSAPP:
            to = f"whatsapp:{to}"
            if sender.removeprefix("+").isdecimal():
                sender = f"whatsapp:{sender}"
            if self._account.content_sid:
                variables = orjson.dumps({"1": message.code}).decode()
                content = {"ContentSid": self._account.content_sid, "ContentVariables": variables}
                return {**form, "To": to, "From": sender, **content}
        return {**form, "To": to, "From": sender, "Body": message.text}
