"""MessageBird (Bird). Source: its public reference of the SMS interface."""

import aiohttp

from schemas.settings.auth_delivery import Messagebird as Account
from workers.auth.delivery.sms.form_requests import TIMEOUT_S, post_form, rejection, revealed
from workers.auth.delivery.sms.sender import SMS_ONLY, SmsMessage, demand_channel, digits

_NAME = "MessageBird"


class MessageBirdSender:
    """Sends by MessageBird."""

    channels = SMS_ONLY

    def __init__(
        self,
        account: Account,
        session: aiohttp.ClientSession,
        *,
        base_url: str = "https://rest.messagebird.com",
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._account = account
        self._session = session
        self._url = f"{base_url}/messages"
        self._timeout_s = timeout_s

    async def send(self, message: SmsMessage) -> str:
        """Send a message and return its id. Raises: DeliveryFailed."""
        demand_channel(self, message, _NAME)
        reply = await post_form(
            self._session,
            _NAME,
            self._url,
            {
                "originator": self._account.originator,
                "body": message.text,
                "recipients": digits(message.phone),
                "type": "sms",
                "datacoding": "unicode",
            },
            headers={"Authorization": f"AccessKey {revealed(self._account.access_key)}"},
            timeout_s=self._timeout_s,
        )
        errors = reply.objects("errors")
        if errors:
            raise rejection(
                _NAME, reply, str(errors[0].get("code", "")), str(errors[0].get("description", ""))
            )
        recipients = reply.body.get("recipients")
        failed = recipients.get("totalDeliveryFailedCount") if isinstance(recipients, dict) else 0
        if not reply.is_ok or failed:
            raise rejection(_NAME, reply)
        return reply.text("id")
