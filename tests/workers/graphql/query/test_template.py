"""Templates: what they are filled with, and which ones are rejected."""

import pytest

from workers.graphql.query.template import optional, template
from workers.sql.compose import EMPTY, Sql, ident, param, render


def test_placeholders_are_filled_in_the_order_of_the_text() -> None:
    sql = template(
        "update {table} set {name} = {value}", value=param("new"), table=ident("item"), name=ident("word")
    )
    assert render(sql) == ('update "item" set "word" = $1', (b"new",))


def test_a_value_that_stands_twice_brings_its_parameter_twice() -> None:
    assert render(template("{a} + {a}", a=param("1"))) == ("$1 + $2", (b"1", b"1"))


def test_doubled_braces_are_braces_of_sql() -> None:
    assert render(template("select '{{}}'::json{end}", end=EMPTY)) == ("select '{}'::json", ())


def test_a_template_may_consist_of_text_alone() -> None:
    assert render(template("select 1")) == ("select 1", ())


@pytest.mark.parametrize("values", [{}, {"b": EMPTY}, {"a": EMPTY, "b": EMPTY}])
def test_placeholders_and_values_must_be_the_same(values: dict[str, Sql]) -> None:
    with pytest.raises(ValueError, match="differ"):
        template("select {a}", **values)


@pytest.mark.parametrize("text", ["select {}", "select {a!r}", "select {a:>8}"])
def test_a_placeholder_is_a_name_alone(text: str) -> None:
    with pytest.raises(ValueError, match="name in braces"):
        template(text, a=EMPTY)


def test_an_optional_clause_is_left_out_without_a_value() -> None:
    assert optional(" where {value}", None) is EMPTY
    assert render(optional(" where {value}", ident("a"))) == (' where "a"', ())
