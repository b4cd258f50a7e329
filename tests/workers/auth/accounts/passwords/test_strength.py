"""What makes a password acceptable. Reference, sections 4.1 and 19."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.settings.auth import Auth, Password
from workers.auth.accounts.passwords.strength import (
    LeakedListUnavailable,
    RangeQuery,
    StrengthRules,
    Weakness,
    is_leaked,
    reject_unusable,
    rules_of,
    weakness_of,
)
from workers.auth.model.errors import AuthError

LOWER, UPPER, DIGITS = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
SYMBOLS = "!@#$%^&*()_+-=[]{};'\\:\"|<>?,./`~"


def answering(*lines: str) -> tuple[RangeQuery, list[str]]:
    asked: list[str] = []

    async def ask(prefix: str) -> str:
        asked.append(prefix)
        return "\r\n".join(lines)

    return ask, asked


async def failing(prefix: str) -> str:
    del prefix
    raise LeakedListUnavailable("away")


def test_six_characters_are_enough_and_five_are_not() -> None:
    assert weakness_of("123456", StrengthRules()) is None
    assert weakness_of("12345", StrengthRules()) == Weakness(
        "Password should be at least 6 characters.", ("length",)
    )


def test_characters_are_counted_and_not_bytes() -> None:
    assert weakness_of("пас", StrengthRules()) is not None
    assert weakness_of("пароль", StrengthRules()) is None


def test_all_reasons_are_told_together_in_one_order() -> None:
    weakness = weakness_of("a", StrengthRules(8, required=("abc", "123")), is_leaked=True)

    assert weakness is not None
    assert weakness.reasons == ("length", "characters", "pwned")
    assert weakness.message == (
        "Password should be at least 8 characters. "
        "Password should contain at least one character of each: abc, 123. "
        "Password is known to be weak and easy to guess, please choose a different one."
    )
    refusal = weakness.error()
    assert (refusal.status, refusal.code.value, refusal.reasons) == (
        422,
        "weak_password",
        list(weakness.reasons),
    )
    assert refusal.message == weakness.message


@pytest.mark.parametrize(
    ("name", "listed", "sets"),
    [
        ("", [], ()),
        ("letters_digits", [], (LOWER + UPPER, DIGITS)),
        ("lower_upper_letters_digits", ["", "!?"], (LOWER, UPPER, DIGITS, "!?")),
        ("lower_upper_letters_digits_symbols", [DIGITS], (LOWER, UPPER, DIGITS, SYMBOLS)),
        ("", ["abc", "123"], ("abc", "123")),
    ],
)
def test_required_characters_are_named_and_listed(
    name: str, listed: list[str], sets: tuple[str, ...]
) -> None:
    auth = Auth(
        password_requirements=name,
        minimum_password_length=9,
        password=Password(required_characters=listed, max_length=100),
    )

    assert rules_of(auth) == StrengthRules(9, 100, sets)


def test_the_rules_of_the_defaults_are_those_of_the_seed() -> None:
    assert rules_of(Auth()) == StrengthRules(6, 72, ())


@pytest.mark.parametrize(
    ("password", "is_strong"),
    [("abcDEF12!", True), ("abcDEF12:", True), ("abcDEF123", False), ("abcdef12!", False), ("ABCDEF12!", False), ("abcDEFgh!", False)],
)  # fmt: skip
def test_one_character_of_each_set_is_asked_for(password: str, is_strong: bool) -> None:
    rules = rules_of(Auth(password_requirements="lower_upper_letters_digits_symbols"))

    assert (weakness_of(password, rules) is None) is is_strong


@pytest.mark.parametrize(
    ("password", "most", "message"),
    [
        ("", 72, "Signup requires a valid password"),
        ("x" * 73, 72, "Password cannot be longer than 72 characters"),
        ("ü" * 37, 72, "Password cannot be longer than 72 characters"),
        ("x" * 1025, 1024, "Password cannot be longer than 1024 characters"),
    ],
)
def test_no_password_and_one_that_is_too_long_cannot_be_taken(password: str, most: int, message: str) -> None:
    with pytest.raises(AuthError) as refused:
        reject_unusable(password, StrengthRules(most_bytes=most))

    assert (refused.value.status, refused.value.code.value, refused.value.message) == (
        400,
        "validation_failed",
        message,
    )


def test_seventy_two_bytes_can_be_taken() -> None:
    reject_unusable("ü" * 36, StrengthRules())
    reject_unusable("x" * 1024, StrengthRules(most_bytes=1024))


# --- Leaked passwords --------------------------------------------------------------------------------------------

REST = "1E4C9B93F3F0682250B6CF8331B7EE68FD8"
"""SHA-1 of "password" is 5BAA6, then this."""


OTHER_LINE = "0018A45C4D1DEF81644B54AB7F969B88D65:1"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((OTHER_LINE, f"{REST}:3730471"), True),
        ((f"{REST.lower()}:1",), True),
        ((), False),
        ((f"{REST}:0",), False),
        ((f"{REST}:000",), False),
        ((OTHER_LINE,), False),
    ],
)
async def test_a_listed_password_is_leaked_and_only_five_digits_are_asked(
    lines: tuple[str, ...], expected: bool
) -> None:
    ask, asked = answering(*lines)

    assert await is_leaked("password", ask, fail_closed=not expected) is expected
    assert asked == ["5BAA6"]


@given(st.text(max_size=40))
async def test_nothing_of_the_password_but_five_digits_leaves(password: str) -> None:
    ask, asked = answering()

    await is_leaked(password, ask, fail_closed=True)

    digest = hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper()
    assert asked == [digest[:5]]


async def test_when_the_list_is_away_the_settings_decide() -> None:
    assert not await is_leaked("password", failing, fail_closed=False)
    with pytest.raises(AuthError) as refused:
        await is_leaked("password", failing, fail_closed=True)

    assert (refused.value.status, refused.value.code.value) == (500, "unexpected_failure")
    assert "password1" not in refused.value.message


@pytest.mark.parametrize("line", ["<html>", "A:B", "A:", "A:-1", "A:²"])
async def test_an_answer_of_another_form_counts_as_none(line: str) -> None:
    ask, _ = answering(line)

    assert not await is_leaked("password", ask, fail_closed=False)
    with pytest.raises(AuthError):
        await is_leaked("password", ask, fail_closed=True)
