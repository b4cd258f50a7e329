"""One-time codes: their forms, that none leads back, and their life. Reference, sections 5.1 and 28."""

import hashlib
import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.keys.secret import Secret
from tests.fuzz.mutate import near_text
from workers.auth.model.codes import (
    code_key,
    code_length,
    hash_token,
    is_code_of,
    is_over,
    is_pkce,
    issue,
    new_code,
    new_token,
    stored_of_link,
    wait_s,
)

KEY = code_key(Secret("a secret of the server with many characters"))
OTHER_KEY = code_key(Secret("another secret of the server, as long"))
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
codes = st.text("0123456789", min_size=6, max_size=10)
addresses = st.text(max_size=30)


@pytest.mark.parametrize(("setting", "length"), [(5, 6), (6, 6), (8, 8), (10, 10), (11, 6), (0, 6), (-1, 6)])
def test_codes_have_six_to_ten_digits_and_any_other_setting_is_six(setting: int, length: int) -> None:
    assert code_length(setting) == length


@given(st.integers(6, 10))
def test_a_code_is_digits_of_its_length(length: int) -> None:
    assert re.fullmatch(rf"[0-9]{{{length}}}", new_code(length))


def test_codes_keep_their_zeros_and_differ() -> None:
    drawn = [new_code() for _ in range(2000)]

    assert len(set(drawn)) > 1900
    assert {code[0] for code in drawn} == set("0123456789")


def test_tokens_are_url_safe_and_stored_as_a_hash() -> None:
    token = new_token()

    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", token)
    assert hash_token(token) == hashlib.sha256(token.encode()).hexdigest()
    assert new_token() != token


@given(codes, addresses, st.booleans())
def test_a_code_is_found_by_its_link_and_by_its_digits(code: str, address: str, pkce: bool) -> None:
    made = issue(code, address, KEY, is_pkce=pkce)

    assert stored_of_link(made.link, KEY) == made.stored
    assert is_code_of(made.stored, code, address, KEY)
    assert is_pkce(made.link) is is_pkce(made.stored) is pkce


@given(codes, codes, addresses, addresses)
def test_another_code_or_address_does_not_match(code: str, other: str, address: str, elsewhere: str) -> None:
    stored = issue(code, address, KEY).stored

    assert is_code_of(stored, other, elsewhere, KEY) is ((code, address) == (other, elsewhere))


def test_both_forms_are_as_long_as_applications_expect() -> None:
    made, flow = issue("123456", "a@b.co", KEY), issue("123456", "a@b.co", KEY, is_pkce=True)

    assert re.fullmatch(r"[0-9a-f]{56}", made.link)
    assert re.fullmatch(r"[0-9a-f]{56}", made.stored)
    assert re.fullmatch(r"pkce_[0-9a-f]{56}", flow.link)
    assert re.fullmatch(r"pkce_[0-9a-f]{56}", flow.stored)


def test_equal_codes_of_equal_addresses_are_stored_differently() -> None:
    made = [issue("123456", "a@b.co", KEY) for _ in range(50)]

    assert len({each.stored for each in made}) == len({each.link for each in made}) == 50


def test_what_is_stored_is_neither_a_link_nor_a_code_without_the_key() -> None:
    made = issue("123456", "a@b.co", KEY)

    assert stored_of_link(made.stored, KEY) != made.stored
    assert not is_code_of(made.stored, "123456", "a@b.co", OTHER_KEY)
    assert stored_of_link(made.link, OTHER_KEY) != made.stored
    assert made.link != made.stored


def test_a_link_of_an_implicit_flow_does_not_pass_for_one_of_pkce() -> None:
    made, flow = issue("123456", "a@b.co", KEY), issue("123456", "a@b.co", KEY, is_pkce=True)

    assert stored_of_link("pkce_" + made.link, KEY) != made.stored
    assert stored_of_link(flow.link.removeprefix("pkce_"), KEY) != flow.stored


@pytest.mark.parametrize("digits", ["12345 6", "１２３４５６", "123456\n", "", " 123456", "1234567"])
def test_digits_are_compared_as_they_are(digits: str) -> None:
    assert not is_code_of(issue("123456", "a@b.co", KEY).stored, digits, "a@b.co", KEY)


def test_code_and_address_do_not_flow_into_each_other() -> None:
    stored = issue("234567", "4915111", KEY).stored

    assert not is_code_of(stored, "1234567", "491511", KEY)
    assert not is_code_of(stored, "34567", "49151112", KEY)


@pytest.mark.parametrize(
    "stored", [None, "", "pkce_", "x" * 56, "A" * 56, "0" * 55, "0" * 57, "0" * 56 + "\n"]
)
def test_rows_without_a_code_have_none(stored: str | None) -> None:
    assert not is_code_of(stored, "123456", "a@b.co", KEY)


LINKS = [issue("123456", "a@b.co", KEY).link, issue("123456", "a@b.co", KEY, is_pkce=True).link]


@given(near_text(LINKS, ["pkce_", "PKCE_", "a", "A", "\n"]) | st.text(max_size=70))
def test_any_text_is_a_link_or_none(text: str) -> None:
    stored = stored_of_link(text, KEY)

    assert (stored is not None) is bool(re.fullmatch(r"(pkce_)?[0-9a-f]{56}", text))


def test_a_code_does_not_show_itself() -> None:
    made = issue("918273", "a@b.co", KEY)

    assert repr(made) == "OneTimeCode()"


# --- The life of a code ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (timedelta(0), False),
        (HOUR - timedelta(microseconds=1), False),
        (HOUR, True),
        (HOUR * 99, True),
        (-timedelta(seconds=5), False),
        (None, True),
    ],
)
def test_a_code_lives_from_the_time_it_was_sent(age: timedelta | None, expected: bool) -> None:
    assert is_over(None if age is None else NOW - age, NOW, HOUR) is expected


@pytest.mark.parametrize(
    ("since_s", "wait"),
    [(None, 0), (0, 60), (0.1, 60), (30, 30), (59.5, 1), (60, 0), (3600, 0), (-59, 119), (-60, 0)],
)
def test_messages_keep_their_distance(since_s: float | None, wait: int) -> None:
    sent_at = None if since_s is None else NOW - timedelta(seconds=since_s)

    assert wait_s(sent_at, NOW, timedelta(minutes=1)) == wait
