"""Vonage (Nexmo). Source: its public reference of the SMS interface."""

import aiohttp

from schemas.settings.auth_delivery import VonageSettings as Account
from workers.auth.delivery.sms.form_requests import TIMEOUT_S, post_form, rejection, revealed
from workers.auth.delivery.sms.sender import SMS_ONLY, SmsMessage, demand_channel, digits

_NAME = "Vonage"
_PASSING = frozenset({"1", "5"})
"""Statuses after which a retry may succeed: throttled, internal error."""


class VonageSender:
    """Sends by Vonage."""

    channels = SMS_ONLY

    def __init__(
        self,
        account: Account,
        session: aiohttp.ClientSession,
        *,
        base_url: str = "https://rest.nexmo.com",
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._account = account
        self._session = session
        self._url = f"{base_url}/sms/json"
        self._timeout_s = timeout_s

    async def send(self, message: SmsMessage) -> str:
        """Send a message and return its id. Raises: DeliveryFailed."""
        demand_channel(self, message, _NAME)
        form = {
            "from": self._account.from_,
            "to": digits(message.phone),
            "text": message.text,
            "api_key": self._account.api_key,
            "api_secret": revealed(self._account.api_secret),
        }
        if not message.text.isascii():
            form["type"] = "unicode"
        reply = await post_form(self._session, _NAME, self._url, form, timeout_s=self._timeout_s)
        parts = reply.objects("messages")
        if not reply.is_ok or not parts:
            raise rejection(_NAME, reply)
        for part in parts:
            status = str(part.get("status", ""))
            if status != "0":
                error_text = str(part.get("error-text", ""))
                raise rejection(_NAME, reply, status, error_text, may_pass=status in _PASSING)
        return str(parts[0].get("message-id", ""))
