"""Bodies: reference page, sections 13.1 and 14."""

import asyncio
import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.rest.parse.anything import FEW, outcome, texts
from tests.workers.rest.plan.asking import OPTIONS
from workers.rest.errors.parse import BadBody
from workers.rest.model import Payload
from workers.rest.parse.payload import (
    CSV,
    FORM,
    JSON,
    check_keys,
    parse_arguments,
    parse_rows,
    read_payload,
)
from workers.rest.parse.request import parse_request, plan_headers

SCALAR = Payload("json", b"[]", (), is_array=True, is_empty_array=True)


@pytest.mark.parametrize(
    ("body", "keys", "is_array"),
    [
        (b'{"a":1}', ("a",), False),
        (b'{"b":1,"a":2}', ("a", "b"), False),
        (b"{}", (), False),
        (b'  {"a":1}\r\n\t', ("a",), False),
        (b'{"a":{"x":[1]},"b":[1,2]}', ("a", "b"), False),
        (b'{"a":1,"a":2}', ("a",), False),
        ('{"ключ":1}'.encode(), ("ключ",), False),
        (b'{"":1}', ("",), False),
        (b'[{"a":1}]', ("a",), True),
        (b'[{"a":1,"b":2},{"b":3,"a":null}]', ("a", "b"), True),
        (b"[{},{}]", (), True),
        (b'{"a":12345678901234567890123456789}', ("a",), False),
        (b'{"a":1e400}', ("a",), False),
    ],
)
def test_json_rows_pass_as_they_are(body: bytes, keys: tuple[str, ...], is_array: bool) -> None:
    assert parse_rows(JSON, body, None) == Payload("json", body, keys, is_array=is_array)


@pytest.mark.parametrize("body", [b"1", b'"text"', b"null", b"true", b" 1.5 "])
def test_a_scalar_stands_for_no_rows(body: bytes) -> None:
    assert parse_rows(JSON, body, None) == SCALAR


def test_an_empty_array_is_no_rows() -> None:
    assert parse_rows(JSON, b"[]", None) == SCALAR
    assert parse_rows(JSON, b"[ ]", ("a",)) == Payload(
        "json", b"[ ]", ("a",), is_array=True, is_empty_array=True
    )


@pytest.mark.parametrize(
    "body",
    [
        b"", b"   ", b"{", b"[", b"}", b'{"a"}', b'{"a":1,}', b"{'a':1}", b"[{]", b"nul", b"text", b"\xff", b'{"\xff":1}',
        b'{"a":1}{"b":2}', b'[{"a":1}', b"\x00", b'\xef\xbb\xbf{"a":1}', b'{"\\ud800":1}', b"NaN", b"{1:2}",
    ],
)  # fmt: skip
def test_broken_json_is_refused(body: bytes) -> None:
    with pytest.raises(BadBody) as caught:
        parse_rows(JSON, body, None)

    assert (caught.value.code, caught.value.status) == ("PGRST102", 400)
    assert caught.value.message == "Empty or invalid json"


@pytest.mark.parametrize("start", [b"[", b'{"a":', b'[{"a":', b"[1,["])
def test_endless_nesting_is_refused(start: bytes) -> None:
    with pytest.raises(BadBody):
        parse_rows(JSON, start * 100_000, None)
    with pytest.raises(BadBody):
        parse_arguments(JSON, start * 100_000, None)


@pytest.mark.parametrize(
    "body", [b'[{"a":1},{"b":1}]', b'[{"a":1},{"a":1,"b":2}]', b'[{"a":1},{}]', b"[1,2]", b'[{"a":1},null]', b"[[]]"]
)  # fmt: skip
def test_rows_of_different_keys_are_refused(body: bytes) -> None:
    with pytest.raises(BadBody, match=r"^All object keys must match$"):
        parse_rows(JSON, body, None)


@pytest.mark.parametrize(
    ("body", "is_array"), [(b'[{"a":1},{"b":2}]', True), (b'{"z":1}', False), (b"[not looked into", True)]
)
def test_with_columns_a_json_body_is_not_looked_into(body: bytes, is_array: bool) -> None:
    assert parse_rows(JSON, body, ("a", "b")) == Payload("json", body, ("a", "b"), is_array=is_array)


@pytest.mark.parametrize(
    ("body", "rows"),
    [
        ("a,b\n1,2\n", [{"a": "1", "b": "2"}]),
        ("a,b\r\n1,2\r\n3,4\r\n", [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]),
        ("a,b\n1,2", [{"a": "1", "b": "2"}]),
        ("a,b\n,NULL\n", [{"a": "", "b": None}]),
        ("a,b\nnull,NULLS\n", [{"a": "null", "b": "NULLS"}]),
        ('a,b\n"1,2","x ""y"""\n', [{"a": "1,2", "b": 'x "y"'}]),
        ('a\n"two\nlines"\n', [{"a": "two\nlines"}]),
        ('"first name",b\n1,2\n', [{"first name": "1", "b": "2"}]),
        ("a,b\n\n1,2\n\n", [{"a": "1", "b": "2"}]),
        ("ключ\nзначение\n", [{"ключ": "значение"}]),
        ("a\n" + "x" * 200_000, [{"a": "x" * 200_000}]),
    ],
)
def test_csv_rows_become_json(body: str, rows: list[dict[str, str | None]]) -> None:
    payload = parse_rows(CSV, body.encode(), None)

    assert json.loads(payload.data) == rows
    assert (payload.kind, payload.keys, payload.is_array) == ("json", tuple(sorted(rows[0])), True)
    assert not payload.is_empty_array


def test_a_header_alone_is_no_rows() -> None:
    assert parse_rows(CSV, b"b,a\n", None) == Payload(
        "json", b"[]", ("a", "b"), is_array=True, is_empty_array=True
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"a,b\n1\n", "All lines must have same number of fields"),
        (b"a,b\n1,2,3\n", "All lines must have same number of fields"),
        (b"a\n1\n2,3\n", "All lines must have same number of fields"),
        (b"", "Empty or invalid CSV"),
        (b"\n\n", "Empty or invalid CSV"),
        (b'a\n"open', "Invalid CSV: unexpected end of data"),
        (b'a\n"x"y\n', "Invalid CSV: ',' expected after '\"'"),
    ],
)
def test_ragged_and_broken_csv_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(BadBody) as caught:
        parse_rows(CSV, body, None)

    assert caught.value.message == message


@pytest.mark.parametrize(
    ("body", "row"),
    [
        (b"a=1&b=two+words", {"a": "1", "b": "two words"}),
        (b"a=%D1%8E&b=", {"a": "ю", "b": ""}),
        (b"a=1&a=2", {"a": "2"}),
        (b"a", {"a": ""}),
        (b"", {}),
    ],
)
def test_a_form_is_one_row(body: bytes, row: dict[str, str]) -> None:
    payload = parse_rows(FORM, body, None)

    assert json.loads(payload.data) == row
    assert (payload.keys, payload.is_array) == (tuple(sorted(row)), False)


def test_a_form_has_a_bounded_number_of_fields() -> None:
    with pytest.raises(BadBody, match="Invalid form"):
        parse_rows(FORM, b"a=1&" * 10_001, None)
    with pytest.raises(BadBody, match="Invalid form"):
        parse_rows(FORM, b"\xff=1", None)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/xml", "text/csv2", "application/octet-stream", "", "json"]
)
def test_rows_come_in_three_types_only(kind: str) -> None:
    with pytest.raises(BadBody) as caught:
        parse_rows(kind, b"{}", None)

    assert caught.value.message == f"Content-Type not acceptable: {kind}"


@pytest.mark.parametrize(
    ("kind", "body", "payload"),
    [
        (JSON, b"", Payload("json", b"{}")),
        (JSON, b'{"b":1,"a":2}', Payload("json", b'{"b":1,"a":2}', ("a", "b"))),
        (JSON, b"[1,2]", Payload("json", b"[1,2]", is_array=True)),
        (JSON, b'[{"a":1},{"b":1}]', Payload("json", b'[{"a":1},{"b":1}]', is_array=True)),
        (JSON, b'[{"a":1}]', Payload("json", b'[{"a":1}]', ("a",), is_array=True)),
        (JSON, b"5", Payload("json", b"5", is_array=True, is_empty_array=True)),
        (FORM, b"v=1&v=2&a=x", Payload("form", b"v=1&v=2&a=x", ("a", "v"), form=(("v", "1"), ("v", "2"), ("a", "x")))),
        (FORM, b"", Payload("form", b"")),
        (CSV, b"b,a\n1,NULL", Payload("json", b'[{"b":"1","a":null}]', ("a", "b"), is_array=True)),
        ("text/plain", b"\xff any", Payload("raw", b"\xff any")),
        ("text/xml", b"<a/>", Payload("raw", b"<a/>")),
        ("application/octet-stream", b"\x00\xff", Payload("raw", b"\\x00ff")),
    ],
)  # fmt: skip
def test_arguments_of_functions(kind: str, body: bytes, payload: Payload) -> None:
    assert parse_arguments(kind, body, None) == payload


def test_columns_restrict_arguments() -> None:
    assert parse_arguments(JSON, b'{"a":1,"b":2}', ("a",)).keys == ("a",)


def test_csv_of_many_lines_is_not_held_as_objects() -> None:
    body = b"a,b\n" + b"1,NULL\n" * 20_001

    tracemalloc.start()
    try:
        payload = parse_rows(CSV, body, None)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert json.loads(payload.data) == [{"a": "1", "b": None}] * 20_001
    assert peak < 20 * len(body)


@pytest.mark.parametrize("kind", ["text/csv2", "image/png", "application/xml"])
def test_arguments_come_in_six_types_only(kind: str) -> None:
    with pytest.raises(BadBody) as caught:
        parse_arguments(kind, b"{}", None)

    assert caught.value.message == f"Content-Type not acceptable: {kind}"


NO_VALUE, TWICE = "Object 1 of the body has no value for a key column", "Object 2 of the body names a row that another one names too"  # fmt: skip


@pytest.mark.parametrize(
    ("body", "key", "message"),
    [
        (b'[{"id":1},{"id":2}]', ("id",), None),
        (b'{"id":1}', ("id",), None),
        (b"[]", ("id",), None),
        (b'[{"id":"null"}]', ("id",), None),
        (b'[{"a":1,"b":1},{"a":1,"b":2}]', ("a", "b"), None),
        (b'[{"id":1},{"id":1}]', ("id",), TWICE),
        (b'[{"id":1},{"id":"1"}]', ("id",), TWICE),
        (b'[{"id":"a"},{"id":"\\u0061"}]', ("id",), TWICE),
        (b'[{"id":null}]', ("id",), NO_VALUE),
        (b'[{"x":1}]', ("id",), NO_VALUE),
        (b'{"x":1}', ("id",), NO_VALUE),
    ],
)
def test_objects_of_a_keyed_change_name_one_row_each(
    body: bytes, key: tuple[str, ...], message: str | None
) -> None:
    payload = parse_rows(JSON, body, None)

    refusal = outcome(check_keys, payload, key)

    assert (refusal.message if isinstance(refusal, BadBody) else None) == message


@pytest.mark.parametrize("body", [b"[x", b"[1]", b'{"id":', b"[" * 100_000])
def test_keys_are_looked_for_only_in_json(body: bytes) -> None:
    payload = parse_rows(JSON, body, ("id",))  # with `columns` nobody has looked into it yet

    with pytest.raises(BadBody, match="Empty or invalid json"):
        check_keys(payload, ("id",))


_jsonish = st.lists(st.sampled_from([b"{", b"}", b"[", b"]", b'"a"', b":", b",", b"1", b"null", b" ", b"\xff", b'"']), max_size=20)  # fmt: skip
_bodies = st.binary(max_size=60) | texts.map(str.encode) | _jsonish.map(b"".join)


@FEW
@given(
    st.sampled_from([JSON, CSV, FORM, "text/plain", "text/xml", "application/octet-stream", "x/y"]), _bodies
)
def test_any_body_is_a_payload_or_refused(kind: str, body: bytes) -> None:
    for columns in (None, ("a",)):
        assert isinstance(outcome(parse_rows, kind, body, columns), Payload | BadBody)
        assert isinstance(outcome(parse_arguments, kind, body, columns), Payload | BadBody)


_json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@FEW
@given(st.dictionaries(st.text(max_size=6), _json_values, max_size=4), st.integers(1, 3))
def test_every_row_is_read_with_its_keys(row: dict[str, object], copies: int) -> None:
    one, several = json.dumps(row).encode(), json.dumps([row] * copies).encode()

    assert parse_rows(JSON, one, None).keys == tuple(sorted(row))
    assert parse_rows(JSON, several, None).keys == tuple(sorted(row))
    assert parse_rows(JSON, several, None).is_array


@pytest.mark.parametrize(
    ("method", "query", "kind", "body"),
    [
        ("POST", "", CSV, b"a,b\n" + b"1,2\n" * 50_000),
        ("POST", "", FORM, b"a=" + b"%41" * 50_000 + b"&b=1"),
        ("PATCH", "key=a", JSON, json.dumps([{"a": n, "b": 2} for n in range(5000)]).encode()),
    ],
)
async def test_other_requests_go_on_while_a_long_body_is_read_value_by_value(
    method: str, query: str, kind: str, body: bytes
) -> None:
    headers = plan_headers([("content-type", kind)])
    request = parse_request(method, "/items", query, headers, OPTIONS)
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    going_on = asyncio.create_task(other())
    payload = await read_payload(request, body)
    going_on.cancel()

    assert payload.keys == ("a", "b")
    assert turns > 0
