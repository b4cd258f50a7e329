"""CBOR that authenticators write passes, CBOR that is made to hurt does not."""

import io

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.credentials.plain_cbor import NotPlain, cbor_of_authenticator_data, require_plain

_leaf = (
    st.integers(-(2**64), 2**64 - 1)
    | st.binary(max_size=300)
    | st.text(max_size=300)
    | st.booleans()
    | st.none()
)
_key = st.integers(-300, 300) | st.text(max_size=10)
_plain = st.recursive(
    _leaf,
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(_key, inner, max_size=30),
    max_leaves=40,
)


def _depth(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)


@given(_plain.filter(lambda value: _depth(value) <= 8), _plain.filter(lambda value: _depth(value) <= 8))
def test_plain_items_pass_alone_and_in_a_row(one: object, other: object):
    require_plain(b"")
    require_plain(cbor2.dumps(one))
    require_plain(cbor2.dumps(one) + cbor2.dumps(other))


@given(_plain.filter(lambda value: _depth(value) <= 8), st.data())
def test_items_that_are_cut_are_refused(value: object, data: st.DataObject):
    whole = cbor2.dumps(value)
    cut = whole[: data.draw(st.integers(1, len(whole) - 1))] if len(whole) > 1 else b"\x18"

    with pytest.raises(NotPlain):
        require_plain(cut)


@given(st.binary(max_size=200))
def test_what_passes_does_not_grow_when_it_is_written_again(data: bytes):
    try:
        require_plain(data)
        first = cbor2.CBORDecoder(io.BytesIO(data)).decode() if data else None
    except (NotPlain, cbor2.CBORDecodeError):  # plain bytes may still be no UTF-8, or a list as a key
        return

    assert len(cbor2.dumps(first)) <= max(1, len(data))


def bomb(levels: int) -> bytes:
    """Give lists that each hold the next one twice, by reference: every level doubles what is written again."""
    inner = b"\xd8\x1c\x80"
    for level in range(levels, 0, -1):
        inner = b"\xd8\x1c\x82" + inner + b"\xd8\x1d\x18" + bytes([level])
    return inner


@pytest.mark.parametrize(
    "data",
    [
        bomb(4),
        bomb(40),
        cbor2.dumps(2**70),  # a big number is a tag
        b"\xd8\x23\x63(a+",  # a regular expression
        cbor2.dumps(1.5),
        b"\x9f\xff",  # a list without a length
        b"\x5f\x41a\xff",
        b"\xff",
        b"\x81" * 9 + b"\x80",
        b"\x9b" + b"\xff" * 8,  # a list of very many
        b"\xbb" + b"\xff" * 8,
        b"\x5b" + b"\xff" * 8,
        b"\xf8\x20",
        b"\xf7",
    ],
)
def test_what_hurts_is_refused(data: bytes):
    with pytest.raises(NotPlain):
        require_plain(data)


def test_authenticator_data_end_in_cbor():
    head, credential = bytes(32), bytes(16) + b"\x00\x02id"

    assert cbor_of_authenticator_data(head + b"\x01" + bytes(4) + b"rest") == b"rest"
    assert cbor_of_authenticator_data(head + b"\x41" + bytes(4) + credential + b"key") == b"key"


@pytest.mark.parametrize(
    "data", [b"", bytes(36), bytes(32) + b"\x41" + bytes(4), bytes(32) + b"\x41" + bytes(20) + b"\xff\xffid"]
)
def test_authenticator_data_that_are_cut_are_refused(data: bytes):
    with pytest.raises(NotPlain):
        cbor_of_authenticator_data(data)
