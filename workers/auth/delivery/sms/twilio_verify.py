"""Twilio Verify: the provider draws the code, sends it and checks it.

Source: its public reference of the Verification and VerificationCheck resources.
"""

import aiohttp

from schemas.settings.auth_delivery import TwilioVerifySettings as Account
from workers.auth.delivery.sms.form_requests import TIMEOUT_S, SmsReply, basic, post_form, rejection
from workers.auth.delivery.sms.sender import EVERY_CHANNEL, SmsMessage, digits

_NAME = "Twilio Verify"
_NOTHING_TO_CHECK = 404
"""The number's verification was approved, has expired, or was tried too often."""
_TOO_OFTEN = "60202"


class TwilioVerifySender:
    """Lets Twilio Verify send and check codes; text and code of messages are not used."""

    channels = EVERY_CHANNEL

    def __init__(
        self,
        account: Account,
        session: aiohttp.ClientSession,
        *,
        base_url: str = "https://verify.twilio.com",
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._login = basic(account.account_sid, account.auth_token)
        self._session = session
        self._url = f"{base_url}/v2/Services/{account.message_service_sid}"
        self._timeout_s = timeout_s

    async def send(self, message: SmsMessage) -> str:
        """Request a code from Twilio for a phone, and return the verification's SID. Raises: DeliveryFailed."""
        form = {"To": f"+{digits(message.phone)}", "Channel": message.channel.value}
        reply = await self._post("Verifications", form)
        if not reply.is_ok or reply.text("status") not in ("pending", "approved"):
            raise rejection(_NAME, reply, reply.text("code"), reply.text("message"))
        return reply.text("sid")

    async def check(self, phone: str, code: str) -> bool:
        """Return whether the code is the one that was sent to the phone. Raises: DeliveryFailed."""
        reply = await self._post("VerificationCheck", {"To": f"+{digits(phone)}", "Code": code})
        if reply.status == _NOTHING_TO_CHECK or reply.text("code") == _TOO_OFTEN:
            return False
        if not reply.is_ok:
            raise rejection(_NAME, reply, reply.text("code"), reply.text("message"))
        return reply.text("status") == "approved"

    async def _post(self, resource: str, form: dict[str, str]) -> SmsReply:
        url = f"{self._url}/{resource}"
        return await post_form(
            self._session, _NAME, url, form, headers=self._login, timeout_s=self._timeout_s
        )
