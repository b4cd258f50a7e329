"""The `order` parameter: reference page, sections 6, 9.5 and 11."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.rest.parse.anything import FEW, outcome, storable, texts
from workers.rest.errors.parse import BadQuery
from workers.rest.model import FieldPath, JsonStep, OrderTerm
from workers.rest.parse.order import parse_order

ID = FieldPath("id")


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("id", [OrderTerm(ID)]),
        ("id.asc", [OrderTerm(ID, descending=False)]),
        ("id.desc", [OrderTerm(ID, descending=True)]),
        ("id.nullsfirst", [OrderTerm(ID, nulls="first")]),
        ("id.nullslast", [OrderTerm(ID, nulls="last")]),
        ("id.asc.nullsfirst", [OrderTerm(ID, descending=False, nulls="first")]),
        ("id.desc.nullslast", [OrderTerm(ID, descending=True, nulls="last")]),
        ("id,name.desc", [OrderTerm(ID), OrderTerm(FieldPath("name"), descending=True)]),
        (" id , name ", [OrderTerm(ID), OrderTerm(FieldPath("name"))]),
        ("data->>x", [OrderTerm(FieldPath("data", (JsonStep("x", True),)))]),
        ("data->0.desc", [OrderTerm(FieldPath("data", (JsonStep(0, False),)), descending=True)]),
        ('"a.b,c".desc', [OrderTerm(FieldPath("a.b,c"), descending=True)]),
        ("client(name)", [OrderTerm(FieldPath("name"), relation="client")]),
        ("client(name).desc.nullsfirst", [OrderTerm(FieldPath("name"), True, "first", "client")]),
        ("client(data->>x).asc,id", [OrderTerm(FieldPath("data", (JsonStep("x", True),)), False, None, "client"), OrderTerm(ID)]),
        ('"my client"("a.b")', [OrderTerm(FieldPath("a.b"), relation="my client")]),
    ],
)  # fmt: skip
def test_terms(text: str, terms: list[OrderTerm]) -> None:
    assert parse_order(text) == tuple(terms)


@pytest.mark.parametrize(
    ("text", "column", "details"),
    [
        ("id.asc.nullslasttt", 17, "unexpected 't' expecting \",\" or end of input"),
        ("id.up", 4, 'unexpected "u" expecting "asc", "desc", "nullsfirst" or "nullslast"'),
        ("id.ac", 4, 'unexpected "c" expecting "asc", "desc", "nullsfirst" or "nullslast"'),
        ("id.as", 4, 'unexpected end of input expecting "asc", "desc", "nullsfirst" or "nullslast"'),
        ("id.descc", 8, "unexpected 'c' expecting delimiter (.), \",\" or end of input"),
        ("id.asc.nlsfst", 8, 'unexpected "l" expecting "nullsfirst" or "nullslast"'),
        ("id.desc.desc", 9, 'unexpected "d" expecting "nullsfirst" or "nullslast"'),
        ("id.nullslast.desc", 13, "unexpected '.' expecting \",\" or end of input"),
        ("", 1, "unexpected end of input expecting field name (* or [a..z0..9_$])"),
        ("id,", 4, "unexpected end of input expecting field name (* or [a..z0..9_$])"),
        (",id", 1, 'unexpected "," expecting field name (* or [a..z0..9_$])'),
        ("client(name", 12, 'unexpected end of input expecting ")"'),
        ("client()", 8, 'unexpected ")" expecting field name (* or [a..z0..9_$])'),
        ("a(b(c))", 4, 'unexpected "(" expecting ")"'),
        ('"id', 4, "unexpected end of input expecting closing quote"),
    ],
)
def test_what_is_no_order_is_refused_with_its_place(text: str, column: int, details: str) -> None:
    with pytest.raises(BadQuery) as caught:
        parse_order(text)

    assert caught.value.message == f'"failed to parse order ({text})" (line 1, column {column})'
    assert caught.value.details == details


_terms = st.builds(
    OrderTerm,
    st.builds(FieldPath, storable(8)),
    st.sampled_from([None, True, False]),
    st.sampled_from([None, "first", "last"]),
    st.none() | storable(8),
)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _shown(term: OrderTerm) -> str:
    field = _quoted(term.field.name)
    value = field if term.relation is None else f"{_quoted(term.relation)}({field})"
    direction = {None: "", True: ".desc", False: ".asc"}[term.descending]
    return value + direction + (f".nulls{term.nulls}" if term.nulls else "")


@FEW
@given(st.lists(_terms, min_size=1, max_size=4))
def test_what_is_written_is_read_again(terms: list[OrderTerm]) -> None:
    assert parse_order(",".join(map(_shown, terms))) == tuple(terms)


@FEW
@given(texts)
def test_any_text_is_an_order_or_refused(text: str) -> None:
    assert isinstance(outcome(parse_order, text), tuple | BadQuery)
