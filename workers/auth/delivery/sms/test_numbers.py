"""Test numbers: phone numbers with a fixed code; no message is sent to them. Pure.

Source: docs/reference/auth.md, section 5.8 (`sms.test_otp`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from schemas.settings.auth_delivery import Sms
from schemas.settings.tree import SettingsError
from workers.auth.delivery.failures import DeliveryFailed
from workers.auth.delivery.sms.sender import digits

MESSAGE_ID = "test-otp"
"""The message id in place of a sent message's."""


@dataclass(frozen=True, slots=True)
class TestNumbers:
    """The codes by number, and until when they are valid; None for no end."""

    __test__ = False  # pytest collects classes of this name

    codes: Mapping[str, str] = field(default_factory=dict, repr=False)
    valid_until: datetime | None = None

    def code_for(self, phone: str, now: datetime) -> str | None:
        """Return the fixed code of a number; None if it is not a test number, or its code has expired."""
        if self.valid_until is not None and now >= self.valid_until:
            return None
        return self.codes.get(phone.removeprefix("+"))


def read_test_numbers(sms: Sms) -> TestNumbers:
    """Read the test numbers from the settings. Raises: SettingsError, without the codes in its text."""
    codes: dict[str, str] = {}
    for phone, code in sms.test_otp.items():
        try:
            number = digits(phone.strip())
        except DeliveryFailed:
            raise SettingsError("auth.sms.test_otp: a key is not a phone number") from None
        if not code.strip():
            raise SettingsError("auth.sms.test_otp: a number has no code")
        codes[number] = code.strip()
    return TestNumbers(codes, sms.test_otp_valid_until)
