"""Test numbers with a fixed code."""

from datetime import UTC, datetime, timedelta

import pytest

from schemas.settings.auth_delivery import Sms
from schemas.settings.tree import SettingsError
from workers.auth.delivery.sms.test_numbers import read_test_numbers

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def test_number_has_its_code_with_and_without_plus() -> None:
    numbers = read_test_numbers(Sms(test_otp={"+4915112345678": "123456", "4152127777": " 000000 "}))

    assert numbers.code_for("4915112345678", NOW) == "123456"
    assert numbers.code_for("+4152127777", NOW) == "000000"
    assert numbers.code_for("4152127778", NOW) is None
    assert "123456" not in repr(numbers)


def test_codes_end_at_their_time() -> None:
    numbers = read_test_numbers(Sms(test_otp={"4152127777": "1"}, test_otp_valid_until=NOW))

    assert numbers.code_for("4152127777", NOW - timedelta(seconds=1)) == "1"
    assert numbers.code_for("4152127777", NOW) is None


@pytest.mark.parametrize(
    ("codes", "words"), [({"nobody": "123"}, "not a phone number"), ({"4152127777": " "}, "no code")]
)
def test_what_is_no_test_number_is_refused(codes: dict[str, str], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        read_test_numbers(Sms(test_otp=codes))
