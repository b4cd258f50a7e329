"""Codes of an authenticator app. RFC 6238 and its test vectors; reference, section 9."""

import base64

import pyotp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.mutate import near_text
from workers.credentials.totp import SECRET_BYTES, address_of, new_secret, step_of

RFC_SECRET = base64.b32encode(b"12345678901234567890").decode()
NOW = 1_800_000_000.0
STEP = int(NOW) // 30


def code_at(step: int, secret: str = RFC_SECRET) -> str:
    return pyotp.TOTP(secret).generate_otp(step)


def test_secrets_have_twenty_bytes_and_are_never_the_same():
    secrets = {new_secret() for _ in range(50)}

    assert {len(base64.b32decode(each)) for each in secrets} == {SECRET_BYTES}
    assert len(secrets) == 50


@pytest.mark.parametrize(
    ("at", "code"),
    [
        (59, "287082"),
        (1111111109, "081804"),
        (1111111111, "050471"),
        (1234567890, "005924"),
        (2000000000, "279037"),
    ],
)
def test_codes_are_those_of_the_standard(at: int, code: str):
    assert step_of(code, RFC_SECRET, at, None) == at // 30


@pytest.mark.parametrize(("skew", "is_taken"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
def test_a_clock_may_differ_by_one_step(skew: int, is_taken: bool):
    assert step_of(code_at(STEP + skew), RFC_SECRET, NOW, None) == (STEP + skew if is_taken else None)


@pytest.mark.parametrize(
    ("last", "is_taken"),
    [(None, True), (STEP - 1, True), (STEP, False), (STEP + 1, False), (STEP - 1000, True)],
)
def test_a_step_counts_once_and_never_after_a_later_one(last: int | None, is_taken: bool):
    assert (step_of(code_at(STEP), RFC_SECRET, NOW, last) == STEP) is is_taken


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "12345",
        "1234567",
        " 123456",
        "123 456",
        "12345a",
        "-12345",
        "１２３４５６",
        "\0" * 6,
        "287082\n",
    ],
)
def test_what_is_no_code_is_wrong(text: str):
    assert step_of(text, RFC_SECRET, 59, None) is None


def test_another_secret_makes_other_codes():
    other = new_secret()

    assert step_of(code_at(STEP, other), other, NOW, None) == STEP
    assert [code_at(STEP + each, other) for each in range(9)] != [code_at(STEP + each) for each in range(9)]


near_codes = near_text([code_at(STEP + skew) for skew in (-2, -1, 0, 1, 2)])


@given(
    near_codes | st.text(max_size=20),
    st.floats(NOW - 90, NOW + 90) | st.floats(0, 1e11),
    st.none() | st.integers(STEP - 2, STEP + 2),
)
def test_any_text_at_any_time_gives_an_answer(text: str, at: float, last: int | None):
    found = step_of(text, RFC_SECRET, at, last)

    steps = range(max(0, int(at) // 30 - 1), int(at) // 30 + 2)
    right = [step for step in steps if code_at(step) == text and (last is None or step > last)]
    assert found == (right[-1] if right else None)


@pytest.mark.parametrize(
    ("issuer", "account"),
    [
        ("example.org", "a@example.org"),
        ("Ä & Ö: Söhne", "a+b@example.org"),
        ("50% = half?", "#1/2@x"),
        ("x", "49170"),
    ],
)
def test_an_app_reads_from_the_address_what_was_written(issuer: str, account: str):
    secret = new_secret()

    read = pyotp.parse_uri(address_of(secret, issuer, account))

    assert isinstance(read, pyotp.TOTP)
    assert (read.secret, read.issuer, read.name) == (secret, issuer, account)
    assert (read.digits, read.interval) == (6, 30)
