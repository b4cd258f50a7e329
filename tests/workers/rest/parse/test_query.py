"""The query string as a whole, and its shape: reference page, section 6."""

from urllib.parse import parse_qsl, quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.rest.parse.anything import FEW, outcome, texts
from workers.rest.errors.base import RestError
from workers.rest.errors.parse import BadQuery, RangeNotSatisfiable
from workers.rest.model import (
    STAR,
    FieldFilter,
    FieldPath,
    JsonStep,
    Logic,
    Operand,
    OrderTerm,
    Path,
    RestQuery,
    RowRange,
    SelectColumn,
    SelectEmbed,
)
from workers.rest.parse.query import HOLE, parse_query, shape_of
from workers.sql.compose import ParameterSlot

A, B = FieldPath("a"), FieldPath("b")


@pytest.mark.parametrize(
    ("query", "filters"),
    [
        ("", []),
        ("a=eq.1", [((), FieldFilter(A, "eq", "1"))]),
        ("a=gt.1&a=lt.9", [((), FieldFilter(A, "gt", "1")), ((), FieldFilter(A, "lt", "9"))]),
        ("a=eq.1+2%203", [((), FieldFilter(A, "eq", "1 2 3"))]),
        ("a=eq.%2B", [((), FieldFilter(A, "eq", "+"))]),
        ("a=eq.%C3%BC", [((), FieldFilter(A, "eq", "ü"))]),
        ("a=eq.%FF", [((), FieldFilter(A, "eq", "\ufffd"))]),
        ("a=eq.%zz", [((), FieldFilter(A, "eq", "%zz"))]),
        ("a=eq.x=y", [((), FieldFilter(A, "eq", "x=y"))]),
        ("a%2Db=eq.1", [((), FieldFilter(FieldPath("a-b"), "eq", "1"))]),
        ("a->>k=eq.1", [((), FieldFilter(FieldPath("a", (JsonStep("k", True),)), "eq", "1"))]),
        ("c.a=eq.1", [(("c",), FieldFilter(A, "eq", "1"))]),
        ("c.d.a=not.in.(1,2)", [(("c", "d"), FieldFilter(A, "in", ("1", "2"), negated=True))]),
        ('"c.a"=eq.1', [((), FieldFilter(FieldPath("c.a"), "eq", "1"))]),
        ("orders=is.null", [((), FieldFilter(FieldPath("orders"), "is", "null"))]),
        ("limits=eq.1", [((), FieldFilter(FieldPath("limits"), "eq", "1"))]),
        ("a=fts(german).x%00", [((), FieldFilter(A, "fts", "x\x00", config="german"))]),
        ("c.select=eq.1", [(("c",), FieldFilter(FieldPath("select"), "eq", "1"))]),
        ("nokey&&a=eq.1&=", None),
        ("nokey&&a=eq.1&", [((), FieldFilter(A, "eq", "1"))]),
    ],
)
def test_filters_have_a_path_and_a_field(query: str, filters: list[tuple[Path, FieldFilter]] | None) -> None:
    if filters is None:
        with pytest.raises(BadQuery, match="tree path"):
            parse_query(query)
    else:
        assert parse_query(query).filters == tuple(filters)


@pytest.mark.parametrize(
    ("query", "logic"),
    [
        ("or=(a.eq.1,b.eq.2)", [((), Logic("or", False, (FieldFilter(A, "eq", "1"), FieldFilter(B, "eq", "2"))))]),
        ("and=(a.eq.1)", [((), Logic("and", False, (FieldFilter(A, "eq", "1"),)))]),
        ("not.or=(a.eq.1)", [((), Logic("or", True, (FieldFilter(A, "eq", "1"),)))]),
        ("c.or=(a.eq.1)", [(("c",), Logic("or", False, (FieldFilter(A, "eq", "1"),)))]),
        ("c.d.not.and=(a.eq.1)", [(("c", "d"), Logic("and", True, (FieldFilter(A, "eq", "1"),)))]),
        ("or=(a.eq.1)&or=(b.eq.2)", [((), Logic("or", False, (FieldFilter(A, "eq", "1"),))), ((), Logic("or", False, (FieldFilter(B, "eq", "2"),)))]),
        ("or=%28a.eq.%22x%2Cy%22%29", [((), Logic("or", False, (FieldFilter(A, "eq", "x,y"),)))]),
        ("and=(order.eq.1)", [((), Logic("and", False, (FieldFilter(FieldPath("order"), "eq", "1"),)))]),
    ],
)  # fmt: skip
def test_logic_has_a_path(query: str, logic: list[tuple[Path, Logic]]) -> None:
    assert parse_query(query).logic == tuple(logic)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select=a", RestQuery(select=(SelectColumn(A),))),
        ("select=a&select=b", RestQuery(select=(SelectColumn(A),))),
        ("select=", RestQuery(select=(STAR,))),
        ("select=c(a)", RestQuery(select=(SelectEmbed("c", (SelectColumn(A),)),))),
        ("columns=a,b", RestQuery(columns=("a", "b"))),
        ('columns="a","b"', RestQuery(columns=("a", "b"))),
        ('columns="a,b", c ', RestQuery(columns=("a,b", "c"))),
        ("columns=a,a", RestQuery(columns=("a",))),
        ("columns=a&columns=b", RestQuery(columns=("a",))),
        ("on_conflict=a,b", RestQuery(on_conflict=("a", "b"))),
        ("order=a.desc", RestQuery(order=(((), (OrderTerm(A, descending=True),)),))),
        ("order=", RestQuery()),
        ("order=&order=a.desc&order=a", RestQuery(order=(((), (OrderTerm(A, descending=True),)),))),
        ("c.order=a", RestQuery(order=((("c",), (OrderTerm(A),)),))),
        ("c.d.order=a", RestQuery(order=((("c", "d"), (OrderTerm(A),)),))),
        ("limit=5", RestQuery(ranges=(((), RowRange(0, 5)),))),
        ("limit=5&limit=6&offset=1&offset=2", RestQuery(ranges=(((), RowRange(2, 6)),))),
        ("offset=5", RestQuery(ranges=(((), RowRange(5)),))),
        ("limit=5&offset=2", RestQuery(ranges=(((), RowRange(2, 5)),))),
        ("limit=ten&offset=-1", RestQuery(ranges=(((), RowRange()),))),
        ("c.limit=1&c.d.offset=2", RestQuery(ranges=((("c",), RowRange(0, 1)), (("c", "d"), RowRange(2))))),
        ("limit=" + "9" * 5000, RestQuery(ranges=(((), RowRange(0, 2**63 - 1)),))),
    ],
)
def test_reserved_parameters(query: str, expected: RestQuery) -> None:
    found = parse_query(query)

    assert (found.select, found.columns, found.on_conflict) == (
        expected.select,
        expected.columns,
        expected.on_conflict,
    )
    assert (found.order, found.ranges) == (expected.order, expected.ranges)
    assert found.filters == ()


_NAME = "expecting field name (* or [a..z0..9_$])"


@pytest.mark.parametrize(
    ("query", "message", "details"),
    [
        ("id=0", '"failed to parse filter (0)" (line 1, column 1)', 'unexpected "0" expecting "not" or operator (eq, gt, ...)'),
        (
            "or=()",
            '"failed to parse logic tree (())" (line 1, column 4)',
            'unexpected ")" expecting field name (* or [a..z0..9_$]), negation operator (not) or logic operator (and, or)',
        ),
        ("columns=", '"failed to parse columns parameter ()" (line 1, column 1)', f"unexpected end of input {_NAME}"),
        ("columns=a,,b", '"failed to parse columns parameter (a,,b)" (line 1, column 3)', f'unexpected "," {_NAME}'),
        ("columns=a:b", '"failed to parse columns parameter (a:b)" (line 1, column 2)', 'unexpected ":" expecting "," or end of input'),
        ("on_conflict=", '"failed to parse on_conflict parameter ()" (line 1, column 1)', f"unexpected end of input {_NAME}"),
        ("order=id.asc.nullslasttt", '"failed to parse order (id.asc.nullslasttt)" (line 1, column 17)', "unexpected 't' expecting \",\" or end of input"),
        ("select=data->>--34", '"failed to parse select parameter (data->>--34)" (line 1, column 9)', 'unexpected "-" expecting digit'),
        ("a->b.or=(x.eq.1)", '"failed to parse logic path (a->b.or)" (line 1, column 2)', 'unexpected "-" expecting "."'),
        (".a=eq.1", '"failed to parse tree path (.a)" (line 1, column 1)', f'unexpected "." {_NAME}'),
        (".limit=1", '"failed to parse tree path ()" (line 1, column 1)', f"unexpected end of input {_NAME}"),
    ],
)  # fmt: skip
def test_refusals_name_their_source(query: str, message: str, details: str) -> None:
    with pytest.raises(BadQuery) as caught:
        parse_query(query)

    assert (caught.value.message, caught.value.details) == (message, details)


@pytest.mark.parametrize("query", ["limit=-1", "c.limit=-1", "limit=5&c.limit=-2"])
def test_a_negative_limit_anywhere_is_refused(query: str) -> None:
    with pytest.raises(RangeNotSatisfiable):
        parse_query(query)


@pytest.mark.parametrize(
    ("query", "arguments", "filters"),
    [
        ("a=1&b=two", [("a", "1"), ("b", "two")], []),
        ("a=1&id=eq.2", [("a", "1")], [((), FieldFilter(FieldPath("id"), "eq", "2"))]),
        ("v=a&v=b", [("v", "a"), ("v", "b")], []),
        ("a={1,2}", [("a", "{1,2}")], []),
        ("a=", [("a", "")], []),
        ("a=x.y", [("a", "x.y")], []),
        ("a.b=1", [("a.b", "1")], []),
        ("a=not.eq.1", [], [((), FieldFilter(A, "eq", "1", negated=True))]),
        ("limit=1&a=1", [("a", "1")], []),
    ],
)
def test_reads_of_functions_have_arguments(
    query: str, arguments: list[tuple[str, Operand]], filters: list[tuple[Path, FieldFilter]]
) -> None:
    found = parse_query(query, is_call=True)

    assert (found.arguments, found.filters) == (tuple(arguments), tuple(filters))


@pytest.mark.parametrize("query", ["a=in.x", "a=is.x", "a=is."])
def test_what_looks_like_a_filter_is_no_argument(query: str) -> None:
    with pytest.raises(BadQuery):
        parse_query(query, is_call=True)


@pytest.mark.parametrize(
    ("query", "shape", "values"),
    [
        ("", "", []),
        ("a=eq.1", f"a=eq.{HOLE}", ["1"]),
        ("a=eq.1+2&b=not.gt.%C3%BC", f"a=eq.{HOLE}&b=not.gt.{HOLE}", ["1 2", "ü"]),
        ("a=in.(1,2)", f"a=in.{HOLE}", ["(1,2)"]),
        ("a=in.1,2", "a=in.1,2", []),
        ("a=like.*x", f"a=like.{HOLE}", ["*x"]),
        ("c.a->>k=eq.1", f"c.a->>k=eq.{HOLE}", ["1"]),
        ("a=is.null", "a=is.null", []),
        ("a=fts(german).x", "a=fts(german).x", []),
        ("a=eq(any).{1}", "a=eq(any).{1}", []),
        ("a=cs.{1}", "a=cs.{1}", []),
        ("select=eq.1", "select=eq.1", []),
        ("order=eq.1&c.limit=eq.1&or=eq.1", "order=eq.1&c.limit=eq.1&or=eq.1", []),
        ("%6Frder=eq.1", "%6Frder=eq.1", []),
        ("a", "a", []),
        (f"a=eq.{HOLE}", "a=eq.%00", []),
        ("a=eq.%00", f"a=eq.{HOLE}", ["\x00"]),
        (f"a=fts.x{HOLE}", "a=fts.x%00", []),
        ("a=fts.x%00", "a=fts.x%00", []),
    ],
)
def test_the_shape_leaves_out_plain_values(query: str, shape: str, values: list[str]) -> None:
    assert shape_of(query) == (shape, values)


def test_the_shape_of_a_call_leaves_out_its_arguments_too() -> None:
    assert shape_of("a=1&b=x+y&id=eq.2&c=is.null", is_call=True) == (
        f"a={HOLE}&b={HOLE}&id=eq.{HOLE}&c=is.null",
        ["1", "x y", "2"],
    )


def test_requests_of_one_shape_share_a_query_with_slots() -> None:
    one, first = shape_of("a=eq.1&order=a&b=in.(x,y)")
    other, second = shape_of("a=eq.2&order=a&b=in.(z)")

    assert one == other
    assert (first, second) == (["1", "(x,y)"], ["2", "(z)"])
    slots = [each.operand for _, each in parse_query(one).filters]
    assert [slot.index for slot in slots if isinstance(slot, ParameterSlot)] == [0, 1]


@pytest.mark.parametrize(
    ("query", "location"),
    [
        ("select=name&id=eq.1", "id=eq.1&select=name"),
        ("b=eq.2&a=eq.1&b=eq.1", "a=eq.1&b=eq.2&b=eq.1"),
        ("select=a,b", "select=a%2Cb"),
        ("a=eq.x%20y%2Bz", "a=eq.x%20y%2Bz"),
        ("a=in.(1,2)&limit=3", "a=in.%281%2C2%29&limit=3"),
        ("a=is.null&c=eq.%C3%BC", "a=is.null&c=eq.%C3%BC"),
        ("a=fts.%00&b=eq.1", "a=fts.%00&b=eq.1"),
        ("nothing", ""),
    ],
)
def test_the_canonical_form_is_sorted_and_encoded(query: str, location: str) -> None:
    shape, values = shape_of(query)

    pieces = parse_query(shape).canonical
    filled = "".join(p if isinstance(p, str) else p[0] + quote(values[p[1]], safe="") for p in pieces)

    assert filled == location


def test_a_filter_on_a_column_named_cursor_stays_in_links() -> None:
    shape, values = shape_of("cursor=gt.5&id=gt.3&cursor=W2ZhbHNlLFsiNTAiXV0")

    pieces = parse_query(shape).without_cursor
    filled = "".join(p if isinstance(p, str) else p[0] + quote(values[p[1]], safe="") for p in pieces)

    assert filled == "cursor=gt.5&id=gt.3"


_SAFE = "().,:*\"'"
_parameters = st.tuples(
    st.sampled_from(["a", "c.b", "data->>k", "order", "select", "limit", "or", "is", "%00", "ü"]),
    st.sampled_from(["eq.", "not.like.", "in.", "in.(", "fts.", "is.", "", "cs.", "eq(any)."]),
    texts,
)


@FEW
@given(st.lists(_parameters, max_size=4), st.booleans())
def test_values_left_out_come_back_at_their_places(
    parameters: list[tuple[str, str, str]], is_call: bool
) -> None:
    query = "&".join(f"{key}={start}{quote(text, safe=_SAFE)}" for key, start, text in parameters)

    shape, values = shape_of(query, is_call=is_call)
    by_shape, whole = (
        outcome(parse_query, shape, is_call=is_call),
        outcome(parse_query, query, is_call=is_call),
    )

    if isinstance(by_shape, RestError) or isinstance(whole, RestError):
        assert type(by_shape) is type(whole)
        return
    assert _filled(by_shape, values) == _filled(whole, [])
    pieces = by_shape.canonical
    filled = "".join(p if isinstance(p, str) else p[0] + quote(values[p[1]], safe="") for p in pieces)
    assert sorted(parse_qsl(filled, keep_blank_values=True)) == sorted(
        parse_qsl(query, keep_blank_values=True)
    )


def _filled(query: RestQuery, values: list[str]) -> list[tuple[object, ...]]:
    """Return filters and arguments with their values in place, as they would reach the database."""
    found: list[tuple[object, ...]] = [(name, _operand(operand, values)) for name, operand in query.arguments]
    return found + [
        (path, each.field, each.operator, each.negated, _operand(each.operand, values))
        for path, each in query.filters
    ]


def _operand(operand: Operand | tuple[str, ...] | FieldPath, values: list[str]) -> object:
    if isinstance(operand, tuple):
        return parse_literal(operand)
    if isinstance(operand, FieldPath):
        return operand
    if isinstance(operand, str):
        return operand.encode()
    value = values[operand.index]
    return operand.convert(value) if operand.convert else value.encode()


def parse_literal(items: tuple[str, ...]) -> bytes:
    return (
        "{" + ",".join('"' + each.replace("\\", "\\\\").replace('"', '\\"') + '"' for each in items) + "}"
    ).encode()


@FEW
@given(texts)
def test_any_query_string_is_a_query_or_refused(text: str) -> None:
    for query in (
        text,
        quote(text, safe="=&"),
        f"a=eq.{text}",
        f"{text}=eq.1",
        f"cursor={text}",
        f"{text}.order=a",
        f"select=a({text})",
    ):
        shape, values = shape_of(query)
        found = outcome(parse_query, shape)

        assert isinstance(found, RestQuery | BadQuery | RangeNotSatisfiable)
        if isinstance(found, RestQuery):
            assert len([1 for _, each in found.filters if isinstance(each.operand, ParameterSlot)]) == len(
                values
            )
