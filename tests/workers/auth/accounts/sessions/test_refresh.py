"""Refresh tokens: written, read, and refused as soon as a bit of them differs. Reference, section 8.2."""

import base64
import hashlib
import hmac
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.mutate import near, near_text
from workers.auth.accounts.sessions.refresh import RefreshToken, issue_token, new_key, read_key, read_token

SESSION = UUID("8a2c9ff0-4c2c-4f3e-9f4e-0d7a4c7a9b11")
KEY = bytes(range(32))
MOST = 2**63 - 1


def spelled(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def crafted(head: bytes) -> str:
    """Return a token with a signature and a checksum that are right, whatever stands before them."""
    token = head + hmac.digest(KEY, head, "sha256")[:16]
    return spelled(token + hashlib.sha256(token).digest()[:4])


def read(text: str) -> RefreshToken:
    found = read_token(text)
    assert found is not None
    return found


def test_a_token_is_as_the_reference_draws_it():
    head = b"\x00" + SESSION.bytes + b"\xac\x02"
    signature = hmac.new(KEY, head, hashlib.sha256).digest()[:16]
    checksum = hashlib.sha256(head + signature).digest()[:4]

    assert issue_token(SESSION, 300, KEY) == spelled(head + signature + checksum)


@pytest.mark.parametrize("counter", [0, 1, 127, 128, 300, 16383, 16384, 2**32, MOST])
def test_a_token_comes_back_as_it_was_written(counter: int):
    found = read(issue_token(SESSION, counter, KEY))

    assert (found.session_id, found.counter) == (SESSION, counter)
    assert found.is_signed_by(KEY)
    assert not found.is_signed_by(bytes(32))


@given(st.uuids(), st.integers(0, MOST), st.binary(min_size=1, max_size=64))
def test_any_token_comes_back_as_it_was_written(session: UUID, counter: int, key: bytes):
    found = read(issue_token(session, counter, key))

    assert (found.session_id, found.counter, found.is_signed_by(key)) == (session, counter, True)


@pytest.mark.parametrize("counter", [0, 300, MOST])
def test_a_token_with_any_bit_flipped_is_refused(counter: int):
    text = issue_token(SESSION, counter, KEY)
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    flipped = [
        bytes(each ^ (1 << bit if place == at else 0) for place, each in enumerate(data))
        for at in range(len(data))
        for bit in range(8)
    ]

    assert [each for each in flipped if read_token(spelled(each)) is not None] == []


def test_a_token_with_any_sign_replaced_is_refused():
    signs = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/= \n"
    text = issue_token(SESSION, 1, KEY)
    replaced = [text[:at] + sign + text[at + 1 :] for at in range(len(text)) for sign in signs]

    assert [each for each in replaced if each != text and read_token(each) is not None] == []


@pytest.mark.parametrize("counter", range(4))
def test_a_token_has_one_spelling_only(counter: int):
    text = next(
        found
        for session in range(1000)
        if {"-", "_"} <= set(found := issue_token(UUID(int=session), counter, KEY))
    )

    assert read_token(text) is not None
    assert read_token(text.replace("-", "+")) is None
    assert read_token(text.replace("_", "/")) is None
    assert read_token(text + "=" * (-len(text) % 4 or 4)) is None
    assert read_token(text + "\n") is None
    assert read_token(" " + text) is None


@pytest.mark.parametrize(
    "number",
    [
        b"",
        b"\x80",
        b"\x80\x00",  # 0, longer than it must be
        b"\x81\x00",
        b"\x01\x01",
        b"\xff" * 9 + b"\x01",  # 64 bits
        b"\x80" * 9 + b"\x01",
        b"\xff" * 200 + b"\x01",
    ],
)
def test_a_number_that_is_none_is_refused_though_the_rest_is_right(number: bytes):
    assert read_token(crafted(b"\x00" + SESSION.bytes + number)) is None


def test_the_highest_number_is_one_that_the_database_holds():
    assert read(crafted(b"\x00" + SESSION.bytes + b"\xff" * 8 + b"\x7f")).counter == MOST


@pytest.mark.parametrize("version", [1, 2, 127, 255])
def test_another_version_is_refused(version: int):
    assert read_token(crafted(bytes([version]) + SESSION.bytes + b"\x00")) is None


@pytest.mark.parametrize(
    "text", ["", "a", "=", "====", "é" * 50, "\ud800" * 52, "abcdefgh2345", "A" * 10_000]
)
def test_what_is_no_token_is_refused(text: str):
    assert read_token(text) is None


TOKENS = [issue_token(SESSION, counter, KEY) for counter in (0, 300, MOST)]
HEADS = [b"\x00" + SESSION.bytes + counter for counter in (b"\x00", b"\xac\x02", b"\xff" * 8 + b"\x7f")]


@given(near_text(TOKENS) | st.text())
def test_any_text_is_read_or_refused(text: str):
    found = read_token(text)

    assert found is None or (text in TOKENS and found.is_signed_by(KEY))


@given(near(HEADS) | st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(data: bytes):
    read_token(spelled(data))
    found = read_token(crafted(data))

    if found is not None:
        assert data[:1] == b"\x00"
        assert found.session_id.bytes == data[1:17]
        assert 0 <= found.counter <= MOST


def test_keys_are_new_each_time_and_read_as_they_are_kept():
    kept = {new_key() for _ in range(100)}

    assert len(kept) == 100
    assert {len(read_key(each)) for each in kept} == {32}
    assert not any("=" in each for each in kept)


def test_a_token_says_nothing_of_its_key():
    assert KEY.hex() not in repr(read(issue_token(SESSION, 1, KEY)))
