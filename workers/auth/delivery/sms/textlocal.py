"""Textlocal. Source: its public reference of the `send` command."""

import aiohttp

from schemas.settings.auth_delivery import TextlocalSettings as Account
from workers.auth.delivery.sms.form_requests import TIMEOUT_S, post_form, rejection, revealed
from workers.auth.delivery.sms.sender import SMS_ONLY, SmsMessage, demand_channel, digits

_NAME = "Textlocal"


class TextlocalSender:
    """Sends by Textlocal."""

    channels = SMS_ONLY

    def __init__(
        self,
        account: Account,
        session: aiohttp.ClientSession,
        *,
        base_url: str = "https://api.textlocal.in",
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._account = account
        self._session = session
        self._url = f"{base_url}/send/"
        self._timeout_s = timeout_s

    async def send(self, message: SmsMessage) -> str:
        """Send a message and return its id. Raises: DeliveryFailed."""
        demand_channel(self, message, _NAME)
        form = {
            "apikey": revealed(self._account.api_key),
            "sender": self._account.sender,
            "numbers": digits(message.phone),
            "message": message.text,
        }
        if not message.text.isascii():
            form["unicode"] = "true"
        reply = await post_form(self._session, _NAME, self._url, form, timeout_s=self._timeout_s)
        errors = reply.objects("errors")
        first = errors[0] if errors else {}
        if not reply.is_ok or reply.text("status") != "success":
            raise rejection(_NAME, reply, str(first.get("code", "")), str(first.get("message", "")))
        sent = reply.objects("messages")
        return str(sent[0].get("id", "")) if sent else reply.text("batch_id")
