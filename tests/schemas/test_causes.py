"""Causes: what is signed comes back, anything else has no signature."""

import pytest

from schemas.causes import LONGEST_MESSAGE, SignedCause, cause_keys, read_cause, sign_cause
from schemas.keys.secret import Secret
from schemas.settings.auth import Auth

CAUSE = SignedCause("n1", 5, "r-1", "authenticated", "sub\n\x00", "rest", "POST /notes")
KEYS = [b"k" * 32, b"o" * 32]
TEXT = sign_cause(KEYS[0], CAUSE)


def message(text: str, *rest: str) -> bytes:
    return "\n".join([text, *(rest or ("1", "authenticator", "headwater"))]).encode()


@pytest.mark.parametrize(
    ("content", "signed"),
    [
        (message(TEXT), CAUSE),
        (message(sign_cause(KEYS[1], CAUSE)), CAUSE),
        (message(sign_cause(b"x" * 32, CAUSE)), None),
        (message(TEXT.replace("notes", "other")), None),
        (message(TEXT[:-1]), None),
        (message(""), None),
        (message("é" * 40), None),
    ],
    ids=["ours", "former key", "another key", "changed", "cut", "none", "text"],
)
def test_only_a_right_signature_counts(content: bytes, signed: SignedCause | None):
    read = read_cause(KEYS, content)

    assert read is not None
    assert (read.signed, read.login, read.by_trigger) == (signed, "authenticator", False)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a\nb",
        message(TEXT, "x", "l", "a"),
        message(TEXT, "1", "l", "a" * LONGEST_MESSAGE),
        b"\xff\n" * 9,
    ],
)
def test_a_message_of_another_form_is_no_cause(content: bytes):
    assert read_cause(KEYS, content) is None


def test_the_sealing_key_signs_and_the_secret_of_before_verifies():
    secret = Secret("s" * 40)
    before, now = (
        cause_keys(Auth(jwt_secret=secret)),
        cause_keys(Auth(jwt_secret=secret, sealing_key=Secret("z" * 40))),
    )

    assert now[0] not in before
    assert now[1:] == before
