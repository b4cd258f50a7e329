"""Credentials in the payload of a socket's first message."""

import pytest

from services.subscriptions.callers import credentials_of


@pytest.mark.parametrize(
    ("payload", "credentials"),
    [
        ({"apikey": "k", "Authorization": "Bearer t"}, {"apikey": "k", "authorization": "Bearer t"}),
        ({"headers": {"ApiKey": "k", "x-a": "1"}}, {"apikey": "k"}),
        ({"headers": {"apikey": "inner"}, "apikey": "k"}, {"apikey": "k"}),
        ({"apikey": 5, "authorization": ["Bearer t"]}, {}),
        ({"apikey": "", "headers": None, "authorization": None}, {}),
        ({"headers": "apikey"}, {}),
    ],
)
def test_texts_alone_are_credentials(payload: dict[str, object], credentials: dict[str, str]) -> None:
    assert credentials_of(payload) == credentials
