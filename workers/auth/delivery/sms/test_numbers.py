"""Test numbers: phones with a fixed code, to which nothing is sent. Pure.

Source: docs/reference/auth.md, 5.8 (`sms.test_otp`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from schemas.settings.auth_delivery import Sms
from schemas.settings.tree import SettingsError
from workers.auth.delivery.failures import DeliveryFailed
from workers.auth.delivery.sms.sender import digits

MESSAGE_ID = "test-otp"
"""The message id of what was not sent."""


@dataclass(frozen=True, slots=True)
class TestNumbers:
    """The codes by number, and when they end; None: never."""

    __test__ = False  # the name is no invitation to pytest

    codes: Mapping[str, str] = field(default_factory=dict, repr=False)
    valid_until: datetime | None = None

    def code_for(self, phone: str, now: datetime) -> str | None:
        """Give the fixed code of a number; None when it has none, or no longer."""
        if self.valid_until is not None and now >= self.valid_until:
            return None
        return self.codes.get(phone.removeprefix("+"))


def read_test_numbers(sms: Sms) -> TestNumbers:
    """Read the test numbers of the settings. Raises: SettingsError, which shows no code."""
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
