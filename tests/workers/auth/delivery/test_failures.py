"""What may be told of a server's words."""

import pytest

from workers.auth.delivery.failures import safe_words


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("5.7.1 <ann@example.org>: Relay access denied", "Relay access denied"),
        ("message with code 123456 and https://x/verify?token=ab refused", "message with code and refused"),
        ("user@host quota exceeded, try later.", "quota exceeded, try later."),
        ("x" * 40, ""),
        ("a " * 100, " ".join(["a"] * 30)),
    ],
)
def test_only_plain_words_are_told(said: str, told: str) -> None:
    assert safe_words(said) == told
