"""The text of an SMS."""

import pytest

from schemas.settings.tree import SettingsError
from workers.auth.delivery.sms.wording import read_wording


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("", "Your code is 123456"),
        ("{{ .Code }} <- {{ .Nothing }}your & code", "123456 <- your & code"),
        ("{{ range 1000000 }}{{ end }}", "Your code is 123456"),
    ],
)
def test_text_carries_the_code(template: str, text: str) -> None:
    assert read_wording(template).text("123456") == text


def test_broken_wording_is_refused_in_words() -> None:
    with pytest.raises(SettingsError, match=r"auth\.sms\.template: line 1: "):
        read_wording("{{ .Code")
