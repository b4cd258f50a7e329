"""Recovery codes: random, of one spelling, stored as an HMAC."""

import re
import uuid

import pytest

from workers.credentials.recovery_codes import hash_of, new_codes, normal_code


def test_codes_are_of_the_length_and_number_that_are_set_and_all_different():
    codes = new_codes(16, 32)

    assert len(set(codes)) == 16
    assert all(re.fullmatch(r"[a-z2-7]{32}", each) for each in codes)


@pytest.mark.parametrize("text", ["ABCD-efgh", " ab cd\tef gh ", "a-b-c-d-e-f-g-h", "abcdefgh"])
def test_a_code_is_the_same_however_it_is_written_down(text: str):
    assert normal_code(text) == "abcdefgh"


def test_an_endless_text_is_cut():
    assert len(normal_code("x" * 10**6)) == 64


def test_a_hash_depends_on_code_user_and_key():
    one, other = uuid.uuid4(), uuid.uuid4()

    made = {
        hash_of(code, user, key)
        for code in ("a", "b")
        for user in (one, other)
        for key in (b"k" * 32, b"l" * 32)
    }

    assert len(made) == 8
    assert all(re.fullmatch(r"[0-9a-f]{64}", each) for each in made)
