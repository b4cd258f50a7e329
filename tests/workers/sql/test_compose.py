"""SQL as a value: text and parameters stay together however fragments are joined."""

import re

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st

from workers.sql.compose import (
    EMPTY,
    Param,
    ParameterSlot,
    Sql,
    catalog_text,
    concat,
    ident,
    join,
    literal,
    param,
    qualified,
    quoted,
    raw,
    render,
    type_name,
)

FEW = settings(max_examples=150, deadline=None)


@pytest.mark.parametrize(
    ("sql", "text", "params"),
    [
        (EMPTY, "", ()),
        (raw("select 1"), "select 1", ()),
        (param("x"), "$1", (b"x",)),
        (param(b"\x00\xff"), "$1", (b"\x00\xff",)),
        (param(None), "$1", (None,)),
        (param("ü"), "$1", ("ü".encode(),)),
        (param(ParameterSlot(7)), "$1", (ParameterSlot(7),)),
        (raw("a = ") + param("1") + raw(" and b = ") + param("2"), "a = $1 and b = $2", (b"1", b"2")),
        (param("1") + param("2"), "$1$2", (b"1", b"2")),
        (EMPTY + param("1") + EMPTY, "$1", (b"1",)),
        (concat(), "", ()),
        (concat(raw("f("), param("1"), raw(")")), "f($1)", (b"1",)),
        (join(", ", []), "", ()),
        (join(", ", [param("1")]), "$1", (b"1",)),
        (join(", ", [param("1"), raw("now()"), param("3")]), "$1, now(), $2", (b"1", b"3")),
        (join(" and ", [raw("a"), concat(raw("b = "), param("2"))]), "a and b = $1", (b"2",)),
        (catalog_text("character varying(20)"), "character varying(20)", ()),
    ],
)
def test_placeholders_are_numbered_once_the_whole_stands(
    sql: Sql, text: str, params: tuple[Param, ...]
) -> None:
    assert render(sql) == (text, params)


def test_a_fragment_may_stand_in_several_statements() -> None:
    part = concat(raw("a = "), param("1"))

    both = join(" or ", [part, part])

    assert render(both) == ("a = $1 or a = $2", (b"1", b"1"))
    assert render(part) == ("a = $1", (b"1",))


def test_only_the_empty_fragment_is_false() -> None:
    assert not EMPTY
    assert not concat()
    assert raw(" ")
    assert param("")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("items", '"items"'),
        ("My Items", '"My Items"'),
        ('a"b', '"a""b"'),
        ('"', '""""'),
        ("a'b; --", '"a\'b; --"'),
        ("ключ", '"ключ"'),
        ("$1", '"$1"'),
        ("\\", '"\\"'),
        ("a\x00b", '"ab"'),
        ("", '""'),
    ],
)
def test_identifiers_are_quoted(name: str, text: str) -> None:
    assert quoted(name) == text
    assert render(ident(name)) == (text, ())
    assert render(qualified("s", name)) == (f'"s".{text}', ())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x", "'x'"),
        ("it's", "'it''s'"),
        ("", "''"),
        ("a\\b", " E'a\\\\b'"),
        ("'\\", " E'''\\\\'"),
        ("a\x00b", "'ab'"),
        ("$1", "'$1'"),
    ],
)
def test_literals_are_quoted(value: str, text: str) -> None:
    assert render(literal(value)) == (text, ())


@pytest.mark.parametrize("name", ["int", "double precision", "_my_type1", "число", "a$b"])
def test_types_are_words(name: str) -> None:
    assert render(type_name(name)) == (name, ())


@pytest.mark.parametrize(
    "name",
    ["", "int)", "int[]", "numeric(3)", "public.color", 'a"b', "int;", "int\n--", "int'", "a-b", "int\x00"],
)
def test_other_texts_are_no_types(name: str) -> None:
    with pytest.raises(ValueError, match="not the name of a type"):
        type_name(name)


_fragments = st.recursive(
    st.sampled_from([EMPTY, raw("a"), raw(" b ")]) | st.text(max_size=4).map(param) | st.text("ab\" 'é", max_size=6).map(ident),
    lambda inner: st.lists(inner, max_size=4).map(lambda parts: join(", ", parts))
    | st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
    max_leaves=12,
)  # fmt: skip


def _without_names(text: str) -> str:
    return re.sub(r'"(?:[^"]|"")*"', "", text)


def _unnumbered(text: str) -> str:
    """Drop the numbers of placeholders; the names in these fragments have none."""
    return re.sub(r"\$\d+", "$", text)


@FEW
@given(_fragments)
def test_every_fragment_has_its_parameters_in_order(sql: Sql) -> None:
    text, params = render(sql)

    assert [int(each) for each in re.findall(r"\$(\d+)", _without_names(text))] == list(
        range(1, len(params) + 1)
    )


@FEW
@given(st.lists(_fragments, max_size=5))
def test_joining_keeps_text_and_parameters(parts: list[Sql]) -> None:
    rendered = [render(part) for part in parts]

    text, params = render(join("|", parts))

    assert params == tuple(each for _, own in rendered for each in own)
    assert _unnumbered(text) == "|".join(_unnumbered(own) for own, _ in rendered)


@FEW
@given(st.text(min_size=1, max_size=20).filter(lambda name: "\x00" not in name))
def test_every_name_comes_back_out_of_its_quotes(name: str) -> None:
    text = quoted(name)

    assert text[0] == text[-1] == '"'
    assert text[1:-1].replace('""', '"') == name
    assert text[1:-1].replace('""', "").count('"') == 0


@FEW
@given(st.text("ab '\"\\;-$%()é\n", max_size=20))
def test_every_text_comes_back_out_of_its_literal(text: str) -> None:
    found = sqlglot.parse_one(f"select {render(literal(text))[0]}", dialect="postgres").expressions[0]

    assert isinstance(found, sqlglot.exp.Literal | sqlglot.exp.ByteString)
    assert found.this == text or "\\" in text  # how the parser shows an escape text is its own business


def test_longer_names_than_postgres_has_are_not_kept() -> None:
    assert ident("x" * 200) == ident("x" * 200)
    assert ident("x" * 200) is not ident("x" * 200)
