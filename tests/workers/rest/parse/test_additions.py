"""Parameters beyond the standard grammar: `distinct`, `having`, `key`, related rows, casts and columns in filters."""

import pytest
from hypothesis import given

from tests.workers.rest.parse.anything import FEW, outcome, texts
from workers.rest.errors.parse import BadQuery
from workers.rest.model import Condition, FieldFilter, FieldPath, JsonStep, Logic, RelatedTest, RestQuery
from workers.rest.parse.additions import parse_distinct, parse_having
from workers.rest.parse.filters import parse_filter, parse_logic, parse_tree_path
from workers.rest.parse.query import parse_query

ALL = FieldPath("*")
B_IS_1 = FieldFilter(FieldPath("b"), "eq", "1")


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("true", ()),
        ("a", (FieldPath("a"),)),
        (" a , b ", (FieldPath("a"), FieldPath("b"))),
        ('"a,b"', (FieldPath("a,b"),)),
        ('"true"', (FieldPath("true"),)),
        ("false", (FieldPath("false"),)),
    ],
)
def test_distinct_names_fields_or_whole_rows(text: str, fields: tuple[FieldPath, ...]) -> None:
    assert parse_distinct(text) == fields


@pytest.mark.parametrize("text", ["", ",", "a,", "a->>k", "a::int", "a.desc", "a)"])
def test_what_is_no_list_of_fields_is_refused(text: str) -> None:
    with pytest.raises(BadQuery, match="failed to parse distinct parameter"):
        parse_distinct(text)


COUNT_2 = FieldFilter(ALL, "gt", "2", aggregate="count")


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("count().gt.2", COUNT_2),
        ("not.count().gt.2", FieldFilter(ALL, "gt", "2", negated=True, aggregate="count")),
        ("count().not.gt.2", FieldFilter(ALL, "gt", "2", negated=True, aggregate="count")),
        ("not.count().not.gt.2", COUNT_2),
        ("a.sum().lte.1.5", FieldFilter(FieldPath("a"), "lte", "1.5", aggregate="sum")),
        ("not.a.sum().eq.1", FieldFilter(FieldPath("a"), "eq", "1", negated=True, aggregate="sum")),
        ('"not".count().gt.2', FieldFilter(FieldPath("not"), "gt", "2", aggregate="count")),
        ("a.count(distinct).in.(1,2)", FieldFilter(FieldPath("a"), "in", ("1", "2"), aggregate="count(distinct)")),
        ("a->>k::int.max().is.null", FieldFilter(FieldPath("a", (JsonStep("k", True),), "int"), "is", "null", aggregate="max")),
        ("or(count().gt.2,a.min().eq.1)", Logic("or", False, (COUNT_2, FieldFilter(FieldPath("a"), "eq", "1", aggregate="min")))),
        ("not.and(count().gt.2)", Logic("and", True, (COUNT_2,))),
        ("and(not.count().gt.2)", Logic("and", False, (FieldFilter(ALL, "gt", "2", negated=True, aggregate="count"),))),
        ("and(or(count().gt.2))", Logic("and", False, (Logic("or", False, (COUNT_2,)),))),
    ],
)  # fmt: skip
def test_having_compares_aggregates(text: str, condition: Condition) -> None:
    assert parse_having(text) == condition


@pytest.mark.parametrize(
    "text",
    ["", "count()", "count().gt", "a.gt.1", "count.gt.1", "a.median().gt.1", "or()", "or(count().gt.1", "or(count().gt.1)x", "or(a(b.eq.1))", "and(" * 10_000],
)  # fmt: skip
def test_what_compares_no_aggregate_is_refused(text: str) -> None:
    with pytest.raises(BadQuery, match="failed to parse having parameter"):
        parse_having(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gt(col).cost", FieldFilter(FieldPath("x"), "gt", FieldPath("cost"))),
        (
            "not.eq(col).a->>k",
            FieldFilter(FieldPath("x"), "eq", FieldPath("a", (JsonStep("k", True),)), negated=True),
        ),
        ("lt(col).a::int", FieldFilter(FieldPath("x"), "lt", FieldPath("a", cast="int"))),
        ("isdistinct(col).a", FieldFilter(FieldPath("x"), "isdistinct", FieldPath("a"))),
        ('eq(col)."a.b"', FieldFilter(FieldPath("x"), "eq", FieldPath("a.b"))),
        ("fts(col).a", FieldFilter(FieldPath("x"), "fts", "a", config="col")),
    ],
)
def test_an_operand_may_be_a_column(text: str, expected: FieldFilter) -> None:
    assert parse_filter(FieldPath("x"), text) == expected


@pytest.mark.parametrize(
    "text", ["in(col).a", "is(col).a", "gt(col).", "gt(col).a)", "gt(col).a or b,", "gt(cols).a"]
)
def test_what_is_no_column_is_refused(text: str) -> None:
    with pytest.raises(BadQuery, match="failed to parse filter"):
        parse_filter(FieldPath("x"), text)


@pytest.mark.parametrize(
    ("key", "field"),
    [("a::text", FieldPath("a", cast="text")), ("a->>k::int", FieldPath("a", (JsonStep("k", True),), "int")), ('"a::b"', FieldPath("a::b"))],
)  # fmt: skip
def test_a_filtered_field_may_be_cast(key: str, field: FieldPath) -> None:
    assert parse_tree_path(key) == ((), field)


@pytest.mark.parametrize(
    ("text", "branch"),
    [
        ("(a(b.eq.1))", RelatedTest("a", None, False, (B_IS_1,))),
        ("(not.a(b.eq.1))", RelatedTest("a", None, True, (B_IS_1,))),
        ("(a!fk(b.eq.1))", RelatedTest("a", "fk", False, (B_IS_1,))),
        ('("a b"!"f k"(b.eq.1))', RelatedTest("a b", "f k", False, (B_IS_1,))),
        ("(a(c(b.eq.1)))", RelatedTest("a", None, False, (RelatedTest("c", None, False, (B_IS_1,)),))),
        ("(a(or(b.eq.1,b.eq.1)))", RelatedTest("a", None, False, (Logic("or", False, (B_IS_1, B_IS_1)),))),
        ("(a.eq(col).b::int)", FieldFilter(FieldPath("a"), "eq", FieldPath("b", cast="int"))),
        ("(a::text.eq.1)", FieldFilter(FieldPath("a", cast="text"), "eq", "1")),
    ],
)
def test_trees_ask_for_related_rows_and_columns(text: str, branch: Condition) -> None:
    assert parse_logic("or", False, text).branches == (branch,)


@pytest.mark.parametrize(
    "text", ["(a())", "(a!(b.eq.1))", "(a!b)", "(a(b.eq.1)", "(a" * 10_000, "(a(b" * 10_000]
)
def test_broken_tests_of_related_rows_are_refused(text: str) -> None:
    with pytest.raises(BadQuery, match="failed to parse logic tree"):
        parse_logic("or", False, text)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("distinct=true", RestQuery(distinct=(((), ()),))),
        ("c.distinct=a", RestQuery(distinct=((("c",), (FieldPath("a"),)),))),
        ("having=count().gt.2", RestQuery(having=(((), COUNT_2),))),
        ("c.d.having=count().gt.2", RestQuery(having=((("c", "d"), COUNT_2),))),
        ("key=a,b", RestQuery(key=("a", "b"))),
        ("key=a&key=b", RestQuery(key=("a",))),
    ],
)
def test_additions_are_parameters_of_their_own(query: str, expected: RestQuery) -> None:
    found = parse_query(query)

    assert (found.distinct, found.having, found.key) == (expected.distinct, expected.having, expected.key)
    assert found.filters == ()


@pytest.mark.parametrize("name", ["distinct", "having", "key", "c.key"])
def test_columns_may_have_the_names_of_additions(name: str) -> None:
    found = parse_query(f"{name}=eq.1")

    assert (found.distinct, found.having, found.key) == ((), (), None)
    assert [each.field.name for _, each in found.filters] == [name.rpartition(".")[2]]


@pytest.mark.parametrize("name", ["distinct", "having", "key"])
def test_arguments_may_have_the_names_of_additions(name: str) -> None:
    assert parse_query(f"{name}=1", is_call=True).arguments == ((name, "1"),)


@FEW
@given(texts)
def test_any_text_is_an_addition_or_refused(text: str) -> None:
    assert isinstance(outcome(parse_distinct, text), tuple | BadQuery)
    for having in (text, f"count().{text}", f"or(count().eq.{text})", f"not.{text}"):
        assert isinstance(outcome(parse_having, having), FieldFilter | Logic | BadQuery)
    for tree in (f"(a({text}))", f"({text}(b.eq.1))", f"(a!{text}(b.eq.1))"):
        assert isinstance(outcome(parse_logic, "and", False, tree), Logic | BadQuery)
    assert isinstance(outcome(parse_filter, FieldPath("x"), f"eq(col).{text}"), FieldFilter | BadQuery)
