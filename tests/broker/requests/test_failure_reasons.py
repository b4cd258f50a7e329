"""What the log says of an answer that failed."""

import pytest

from broker.requests.failure_reasons import failure_reason


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (503, b'{"code":"53100","message":"could not extend file"}', "53100: could not extend file"),
        (
            503,
            b'{"code":503,"error_code":"unexpected_failure","msg":"it is full"}',
            "unexpected_failure: it is full",
        ),
        (
            503,
            b'{"statusCode":"503","error":"SlowDown","message":"The blob store"}',
            "SlowDown: The blob store",
        ),
        (503, b'{"message":"no rest worker is running"}', "no rest worker is running"),
        (503, b'{"code":"PT503","message":"the card 4111 is blocked"}', "PT503"),
        (500, b'{"code":"XX000","message":"value 4111 of the row"}', "XX000"),
        (504, b"<html>", ""),
        (503, b"[1]", ""),
        (503, b'{"message": 7}', ""),
        (503, b'{"message":"' + b"x" * 20_000 + b'"}', ""),
    ],
)
def test_code_and_words_are_told_where_they_hold_no_values(status: int, body: bytes, words: str) -> None:
    assert failure_reason(status, body) == words
