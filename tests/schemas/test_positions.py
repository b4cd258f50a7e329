"""Positions in the log and their tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.positions import (
    UNREACHABLE,
    end_of_records,
    parse_lsn,
    position_token,
    read_position,
    read_window_s,
)


def test_position_of_the_server_is_read():
    assert parse_lsn("16/B374D848") == 0x16B374D848
    assert parse_lsn("0/0") == 0


@pytest.mark.parametrize("text", ["", "16", "/", "x/1", "1/100000000", "1/2/3", "-1/2"])
def test_other_texts_are_rejected(text):
    with pytest.raises(ValueError, match="not a position"):
        parse_lsn(text)


@given(st.integers(0, UNREACHABLE), st.integers(10, 60_000))
def test_token_keeps_position_and_window(position, window_ms):
    token = position_token(position, window_ms / 1000)

    assert read_position(token) == position
    assert read_window_s(token) == window_ms / 1000


@given(st.text())
def test_any_text_is_a_token_and_its_window_is_bounded(text):
    assert 0 <= read_position(text) <= UNREACHABLE
    assert 0 <= read_window_s(text) <= 60


@pytest.mark.parametrize("token", ["", "x.1000", "primary", "-1", "0x10", "1" * 17])
def test_unreadable_token_is_contained_in_no_replica(token):
    assert read_position(token) == UNREACHABLE


def test_insert_position_behind_the_header_of_an_empty_page_is_the_end_of_the_page_before():
    assert end_of_records(8192 * 5 + 24) == 8192 * 5
    assert end_of_records(8192 * 5 + 25) == 8192 * 5 + 25
    assert end_of_records(8192 * 5) == 8192 * 5
