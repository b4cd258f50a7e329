"""Keys of long arrays: what is told at once is what a look at each object tells."""

import contextlib
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.rest.errors.parse import BadBody
from workers.rest.parse import payload
from workers.rest.parse.payload import JSON, parse_rows
from workers.rest.parse.uniform_rows import first_names, has_names

_KEYS = st.sampled_from(["a", "b", "é", "", 'q"', "\\", "type", "field_0", "a b", "\n"])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_KEYS, inner, max_size=2),
    max_leaves=4,
)
_ROWS = st.lists(st.dictionaries(_KEYS, _VALUES, max_size=4), max_size=5)
_LONG_TEXT = "x" * 5000


@given(_ROWS, st.lists(_KEYS, unique=True, min_size=1, max_size=4), st.booleans())
def test_keys_are_those_only_if_each_object_has_just_them(
    rows: list[dict[str, object]], names: list[str], is_ascii: bool
) -> None:
    body = json.dumps(rows, ensure_ascii=is_ascii).encode()

    found = has_names(body, tuple(names))

    assert found in (None, all(row.keys() == set(names) for row in rows))
    assert found is not None or b"\\" in body or any(sign in name for name in names for sign in '"\\\n')


@given(_ROWS)
def test_a_long_array_is_read_as_a_short_one(rows: list[dict[str, object]]) -> None:
    short = [{**row, "long": ""} for row in rows]
    long = [{**row, "long": _LONG_TEXT} for row in rows]

    def keys(value: object) -> tuple[str, ...] | str:
        try:
            return parse_rows(JSON, json.dumps(value).encode(), None).keys
        except BadBody as refusal:
            return refusal.message

    assert keys(long) == keys(short)


def test_plain_rows_are_told_at_once() -> None:
    body = json.dumps([{"name": f"row {n}", "qty": n, "data": [n, {"x": "}"}]} for n in range(1000)]).encode()

    assert has_names(body, ("name", "data", "qty"))
    assert not has_names(body, ("name", "qty"))
    assert not has_names(body, ("name", "qty", "data", "more"))
    with pytest.raises(msgspec.DecodeError):
        has_names(body[:-1], ("name", "qty", "data"))
    assert first_names(json.dumps([{"b": _LONG_TEXT, "a": 1}]).encode()) == ("b", "a")


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"",
        b"{}",
        b'[{"' + b"k" * 5000 + b'":1}]',
        b'{"a":"' + _LONG_TEXT.encode() + b'"}',
        b"[1," + b" " * 5000 + b'{"a":1}]',
        b"[" + b" " * 70_000 + b'{"a":1}]',
        b'[{"a":[' + b"{}," * 100 + b"{}]}" + b" " * 5000 + b"]",
    ],
)
def test_other_bodies_are_left_to_the_caller(body: bytes) -> None:
    assert first_names(body) is None


@pytest.mark.parametrize("rows", ["{},{}", "[],[]", "1,{}", '{"a":1},{"b":1}', '{"a":{"b":1}},[]'])
def test_no_objects_are_made_of_millions_of_short_members(rows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[bytes] = []
    monkeypatch.setattr(payload, "_any", CountingDecoder(made, msgspec.json.Decoder()))
    monkeypatch.setattr(
        payload, "_objects", CountingDecoder(made, msgspec.json.Decoder(list[dict[str, msgspec.Raw]]))
    )
    body = f"[{','.join([rows] * 2000)}]".encode()

    with contextlib.suppress(BadBody):
        parse_rows(JSON, body, None)

    assert sum(map(len, made)) == 0


class CountingDecoder:
    """A decoder that notes what it made: what it rejected at once does not count."""

    def __init__(self, made: list[bytes], decoder: "msgspec.json.Decoder[object]") -> None:
        self._made, self._decoder = made, decoder

    def decode(self, body: bytes) -> object:
        """Decode a body."""
        value = self._decoder.decode(body)
        self._made.append(body)
        return value
