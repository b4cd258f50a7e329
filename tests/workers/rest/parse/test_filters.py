"""Filters and logic trees: every operator and modifier of the reference page, section 7."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.rest.parse.anything import FEW, outcome, storable, texts
from workers.rest.errors.base import RestError
from workers.rest.errors.parse import BadQuery
from workers.rest.model import FieldFilter, FieldPath, JsonStep, Logic
from workers.rest.parse.filters import (
    MAX_DEPTH,
    in_list,
    is_filter,
    parse_filter,
    parse_logic,
    parse_logic_path,
    parse_tree_path,
)
from workers.sql.compose import ParameterSlot
from workers.sql.operators import OPERATORS

X = FieldPath("x")
NOT_AN_OPERATOR = 'expecting "not" or operator (eq, gt, ...)'


def test_the_operators_are_those_of_the_reference_page() -> None:
    page = "eq gt gte lt lte neq like ilike match imatch in is isdistinct fts plfts phfts wfts cs cd ov sl sr nxr nxl adj"

    assert set(OPERATORS) == set(page.split())


@pytest.mark.parametrize("operator", sorted(set(OPERATORS) - {"in", "is"}))
def test_every_operator_takes_the_rest_of_the_text(operator: str) -> None:
    assert parse_filter(X, f'{operator}.a.b,"c")') == FieldFilter(X, operator, 'a.b,"c")')
    assert parse_filter(X, f"not.{operator}.") == FieldFilter(X, operator, "", negated=True)


@pytest.mark.parametrize("word", ["any", "all"])
@pytest.mark.parametrize(
    "operator", ["eq", "gt", "gte", "lt", "lte", "like", "ilike", "match", "imatch"]
)  # fmt: skip
def test_any_and_all_are_modifiers(operator: str, word: str) -> None:
    assert parse_filter(X, f"{operator}({word}).{{1,2}}") == FieldFilter(
        X, operator, "{1,2}", quantifier=word
    )


@pytest.mark.parametrize(
    "operator",
    sorted(
        set(OPERATORS)
        - {
            "eq",
            "gt",
            "gte",
            "lt",
            "lte",
            "like",
            "ilike",
            "match",
            "imatch",
            "fts",
            "plfts",
            "phfts",
            "wfts",
        }
    ),
)
def test_other_operators_take_no_modifier(operator: str) -> None:
    with pytest.raises(BadQuery) as caught:
        parse_filter(X, f"{operator}(any).1")

    assert caught.value.details == 'unexpected "(" expecting "."'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("like.*a*_%", FieldFilter(X, "like", "%a%_%")),
        ("ilike.A*", FieldFilter(X, "ilike", "A%")),
        ("like(any).{a*,*b}", FieldFilter(X, "like", "{a%,%b}", quantifier="any")),
        ("match.^a*", FieldFilter(X, "match", "^a*")),
        ("eq.*", FieldFilter(X, "eq", "*")),
        ("fts.cat", FieldFilter(X, "fts", "cat")),
        ("fts(german).cat", FieldFilter(X, "fts", "cat", config="german")),
        ("plfts(english).the cat", FieldFilter(X, "plfts", "the cat", config="english")),
        (
            "not.phfts(pg_catalog.simple).a",
            FieldFilter(X, "phfts", "a", negated=True, config="pg_catalog.simple"),
        ),
        ("wfts.a or -b", FieldFilter(X, "wfts", "a or -b")),
        ("cs.{a,b}", FieldFilter(X, "cs", "{a,b}")),
        ("cd.[1,5)", FieldFilter(X, "cd", "[1,5)")),
        ('cs.{"a":1}', FieldFilter(X, "cs", '{"a":1}')),
        ("eq.", FieldFilter(X, "eq", "")),
        ("eq.eq.1", FieldFilter(X, "eq", "eq.1")),
        ("eq.a\nb", FieldFilter(X, "eq", "a\nb")),
        ("isdistinct.null", FieldFilter(X, "isdistinct", "null")),
    ],
)
def test_values(text: str, expected: FieldFilter) -> None:
    assert parse_filter(X, text) == expected


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("is.null", "null"), ("is.NULL", "null"), ("is.Not_Null", "not_null"), ("is.true", "true"), ("is.FALSE", "false"),
        ("is.unknown", "unknown"),
    ],
)  # fmt: skip
def test_is_takes_five_words_in_any_case(text: str, word: str) -> None:
    assert parse_filter(X, text) == FieldFilter(X, "is", word)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("in.(a,b)", ("a", "b")),
        ("in.(1)", ("1",)),
        ("in.()", ()),
        ("in.(   )", ()),
        ("in.( a,b)", ("a", "b")),
        ("in.(a, b)", ("a", " b")),
        ("in.(a,)", ("a", "")),
        ("in.(,)", ("", "")),
        ('in.("")', ()),
        ('in.("a,b",c)', ("a,b", "c")),
        ('in.("a)b")', ("a)b",)),
        (r'in.("a\"b","c\\d")', ('a"b', r"c\d")),
        ('in.("a"b,c)', ('"a"b', "c")),
        ('in.("open,c)', ('"open', "c")),
        ("in.({1,2},{3})", ("{1", "2}", "{3}")),
        ("in.({a}b)", ("{a}b",)),
        ("in.(null)", ("null",)),
        ("in.(ключ,名)", ("ключ", "名")),
    ],
)
def test_lists(text: str, items: tuple[str, ...]) -> None:
    assert parse_filter(X, text) == FieldFilter(X, "in", items)


@pytest.mark.parametrize(
    ("text", "column", "details"),
    [
        ("0", 1, f'unexpected "0" {NOT_AN_OPERATOR}'),
        ("", 1, f"unexpected end of input {NOT_AN_OPERATOR}"),
        ("eq", 1, f'unexpected "e" {NOT_AN_OPERATOR}'),
        ("EQ.1", 1, f'unexpected "E" {NOT_AN_OPERATOR}'),
        ("foo.1", 1, f'unexpected "f" {NOT_AN_OPERATOR}'),
        ("not.0", 5, 'unexpected "0" expecting operator (eq, gt, ...)'),
        ("not.not.eq.1", 5, 'unexpected "n" expecting operator (eq, gt, ...)'),
        ("eq(some).1", 3, 'unexpected "(" expecting "."'),
        ("neq(any).1", 4, 'unexpected "(" expecting "."'),
        ("fts().1", 4, 'unexpected "(" expecting "."'),
        ("is.nil", 4, 'unexpected "n" expecting isVal: (null, not_null, true, false, unknown)'),
        ("is.", 4, "unexpected end of input expecting isVal: (null, not_null, true, false, unknown)"),
        ("in.a,b", 4, 'unexpected "a" expecting "("'),
        ("in.(a,b", 8, 'unexpected end of input expecting "," or ")"'),
    ],
)
def test_what_is_no_filter_is_refused_with_its_place(text: str, column: int, details: str) -> None:
    with pytest.raises(BadQuery) as caught:
        parse_filter(X, text)

    assert caught.value.message == f'"failed to parse filter ({text})" (line 1, column {column})'
    assert caught.value.details == details


@pytest.mark.parametrize(
    ("text", "given", "bound"),
    [
        ("eq.\x00", "a*", b"a*"),
        ("like.\x00", "a*", b"a%"),
        ("ilike.\x00", "*", b"%"),
        ("match.\x00", "a*", b"a*"),
        ("in.\x00", '(a,"b,c")', b'{"a","b,c"}'),
        ("in.\x00", "()", b"{}"),
        ("in.\x00", '(a"b,\\c)', rb'{"a\"b","\\c"}'),
    ],
)
def test_with_a_slot_the_value_is_left_to_each_request(text: str, given: str, bound: bytes) -> None:
    operand = parse_filter(X, text, ParameterSlot(3)).operand

    assert isinstance(operand, ParameterSlot)
    assert operand.index == 3
    assert (operand.convert(given) if operand.convert else given.encode()) == bound


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("eq.1", True), ("not.eq.1", True), ("fts(german).x", True), ("in.x", True), ("is.x", True), ("eq(any).{}", True),
        ("eq", False), ("1", False), ("", False), ("a.b", False), ("Eq.1", False), ("not.1", False), ("{1,2}", False),
        ("eq(one).1", False), ("neq(any).{}", False), ("gt(col).cost", True), ("is(any).null", False),
    ],
)  # fmt: skip
def test_arguments_of_functions_are_told_from_filters(text: str, answer: bool) -> None:
    assert is_filter(text) is answer


@pytest.mark.parametrize(
    ("key", "path", "field"),
    [
        ("id", (), FieldPath("id")),
        ("client.name", ("client",), FieldPath("name")),
        ("a.b.c", ("a", "b"), FieldPath("c")),
        ("data->>x", (), FieldPath("data", (JsonStep("x", True),))),
        ("a.data->0->>x", ("a",), FieldPath("data", (JsonStep(0, False), JsonStep("x", True)))),
        ('"a.b".c', ("a.b",), FieldPath("c")),
        ('"a.b"', (), FieldPath("a.b")),
        ("first name", (), FieldPath("first name")),
        ("some-col", (), FieldPath("some-col")),
    ],
)
def test_keys_are_paths_to_fields(key: str, path: tuple[str, ...], field: FieldPath) -> None:
    assert parse_tree_path(key) == (path, field)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("and", ((), "and", False)), ("or", ((), "or", False)),
        ("not.and", ((), "and", True)), ("not.or", ((), "or", True)),
        ("a.or", (("a",), "or", False)), ("a.not.or", (("a",), "or", True)),
        ("a.b.and", (("a", "b"), "and", False)), ('"a.b".not.and', (("a.b",), "and", True)),
    ],
)  # fmt: skip
def test_logic_stands_at_a_path(key: str, expected: tuple[tuple[str, ...], str, bool]) -> None:
    assert parse_logic_path(key) == expected


@pytest.mark.parametrize("key", ["a->b.or", "a->>b.not.and", ".or", '"a.or', "a,b.or"])
def test_a_path_to_logic_has_only_names(key: str) -> None:
    with pytest.raises(BadQuery, match="failed to parse logic path"):
        parse_logic_path(key)


@pytest.mark.parametrize("key", ["", ".a", "a.", ",", '"a', "->a", "a->"])
def test_a_path_to_a_field_has_only_names(key: str) -> None:
    with pytest.raises(BadQuery, match="failed to parse tree path"):
        parse_tree_path(key)


A, B = FieldFilter(FieldPath("a"), "eq", "1"), FieldFilter(FieldPath("b"), "gt", "2")


@pytest.mark.parametrize(
    ("text", "branches"),
    [
        ("(a.eq.1)", [A]),
        ("(a.eq.1,b.gt.2)", [A, B]),
        (" ( a.eq.1 ,  b.gt.2 ) ", [FieldFilter(FieldPath("a"), "eq", "1 "), FieldFilter(FieldPath("b"), "gt", "2 ")]),
        ("(a.not.eq.1)", [FieldFilter(FieldPath("a"), "eq", "1", negated=True)]),
        ("(not.a.eq.1)", [FieldFilter(FieldPath("a"), "eq", "1", negated=True)]),
        ("(not.a.not.eq.1)", [FieldFilter(FieldPath("a"), "eq", "1")]),
        ("(not.c.is.null,a.eq.1)", [FieldFilter(FieldPath("c"), "is", "null", negated=True), A]),
        ("(not.eq.1)", [FieldFilter(FieldPath("not"), "eq", "1")]),
        ("(and(a.eq.1,b.gt.2))", [Logic("and", False, (A, B))]),
        ("(or(a.eq.1),b.gt.2)", [Logic("or", False, (A,)), B]),
        ("(not.and(a.eq.1))", [Logic("and", True, (A,))]),
        ("(not.or (a.eq.1))", [Logic("or", True, (A,))]),
        ("(and(or(not.and(a.eq.1))))", [Logic("and", False, (Logic("or", False, (Logic("and", True, (A,)),)),))]),
        ("(and.eq.1)", [FieldFilter(FieldPath("and"), "eq", "1")]),
        ("(order.eq.1)", [FieldFilter(FieldPath("order"), "eq", "1")]),
        ("(android.eq.1)", [FieldFilter(FieldPath("android"), "eq", "1")]),
        ("(a.in.(1,2),b.gt.2)", [FieldFilter(FieldPath("a"), "in", ("1", "2")), B]),
        ('(a.in.("1,2",")"))', [FieldFilter(FieldPath("a"), "in", ("1,2", ")"))]),
        ('(a.eq."x,y)")', [FieldFilter(FieldPath("a"), "eq", "x,y)")]),
        (r'(a.eq."x\"y")', [FieldFilter(FieldPath("a"), "eq", 'x"y')]),
        ('(a.eq."x"y)', [FieldFilter(FieldPath("a"), "eq", '"x"y')]),
        ("(a.eq.)", [FieldFilter(FieldPath("a"), "eq", "")]),
        ("(a.eq.,b.gt.2)", [FieldFilter(FieldPath("a"), "eq", ""), B]),
        ("(a.cs.{1,2},b.gt.2)", [FieldFilter(FieldPath("a"), "cs", "{1,2}"), B]),
        ("(a.eq(any).{1,2})", [FieldFilter(FieldPath("a"), "eq", "{1,2}", quantifier="any")]),
        ("(a.like.*x*)", [FieldFilter(FieldPath("a"), "like", "%x%")]),
        ("(a.fts(german).x)", [FieldFilter(FieldPath("a"), "fts", "x", config="german")]),
        ("(a.is.null)", [FieldFilter(FieldPath("a"), "is", "null")]),
        ("(data->>k.eq.1)", [FieldFilter(FieldPath("data", (JsonStep("k", True),)), "eq", "1")]),
        ('("a.b".eq.1)', [FieldFilter(FieldPath("a.b"), "eq", "1")]),
    ],
)  # fmt: skip
def test_logic_trees(text: str, branches: list[FieldFilter | Logic]) -> None:
    assert parse_logic("or", True, text) == Logic("or", True, tuple(branches))


_LEAF = "expecting field name (* or [a..z0..9_$]), negation operator (not) or logic operator (and, or)"


@pytest.mark.parametrize(
    ("text", "column", "details"),
    [
        ("()", 4, f'unexpected ")" {_LEAF}'),
        ("", 3, 'unexpected end of input expecting "("'),
        ("a.eq.1", 3, 'unexpected "a" expecting "("'),
        ("(a.eq.1", 10, 'unexpected end of input expecting "," or ")"'),
        ("(a.eq.1,)", 11, f'unexpected ")" {_LEAF}'),
        ("(a)", 5, 'unexpected ")" expecting "."'),
        ("(a.foo.1)", 6, f'unexpected "f" {NOT_AN_OPERATOR}'),
        ("(a.is.nil)", 9, 'unexpected "n" expecting isVal: (null, not_null, true, false, unknown)'),
        ("(and())", 8, f'unexpected ")" {_LEAF}'),
        ("(ord.foo.1)", 6, 'unexpected "d" expecting "("'),
        ("(andy)", 7, 'unexpected "y" expecting "("'),
        ("(a.eq.1,not.xor.1)", 15, 'unexpected "x" expecting logic operator (and, or)'),
        ("(not.order.1)", 10, 'unexpected "d" expecting "("'),
        ("(a.in.1,2)", 9, 'unexpected "1" expecting "("'),
    ],
)
def test_what_is_no_logic_tree_is_refused_with_its_place(text: str, column: int, details: str) -> None:
    with pytest.raises(BadQuery) as caught:
        parse_logic("or", False, text)

    assert caught.value.message == f'"failed to parse logic tree ({text})" (line 1, column {column})'
    assert caught.value.details == details


@pytest.mark.parametrize(
    "text",
    ["(" * 10_000, "(and" * 10_000, "(not.or" * 10_000, "(a.eq.1,and" * 10_000, "(not." * 10_000, "(a.in." + "(" * 10_000],
)  # fmt: skip
def test_endless_nesting_is_refused(text: str) -> None:
    with pytest.raises(BadQuery):
        parse_logic("and", False, text)


@pytest.mark.parametrize("part", ["a.eq.1", "and(a.eq.1)", 'a.eq."x', "a.in.({,{)", "not.a.is.null"])
def test_a_tree_of_many_branches_is_read_in_one_pass(part: str) -> None:
    assert len(parse_logic("or", False, f"({','.join([part] * 20_000)})").branches) == 20_000


def test_groups_may_stand_in_one_another_up_to_the_limit() -> None:
    deepest = "(and" * MAX_DEPTH + "(a.eq.1)" + ")" * MAX_DEPTH

    assert parse_logic("and", False, deepest).operator == "and"
    with pytest.raises(BadQuery, match="failed to parse logic tree"):
        parse_logic("and", False, f"(and{deepest})")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@FEW
@given(st.lists(storable(12), min_size=1, max_size=5).filter(lambda items: items != [""]))
def test_every_list_comes_back_out_of_its_quotes(items: list[str]) -> None:
    assert parse_filter(X, f"in.({','.join(map(_quoted, items))})").operand == tuple(items)


@FEW
@given(storable(30), storable(30))
def test_every_quoted_value_comes_back_out_of_a_tree(one: str, other: str) -> None:
    tree = parse_logic("and", False, f"(a.eq.{_quoted(one)},b.neq.{_quoted(other)})")

    assert tree.branches == (
        FieldFilter(FieldPath("a"), "eq", one),
        FieldFilter(FieldPath("b"), "neq", other),
    )


@FEW
@given(texts)
def test_any_text_is_a_filter_or_refused(text: str) -> None:
    assert isinstance(outcome(parse_filter, X, text), FieldFilter | BadQuery)
    for operator in OPERATORS:
        assert isinstance(outcome(parse_filter, X, f"not.{operator}.{text}"), FieldFilter | BadQuery)


@FEW
@given(texts)
def test_any_text_is_a_logic_tree_or_refused(text: str) -> None:
    for tree in (text, f"({text})", f"(a.eq.1,{text})", f"(a.in.({text}))", f"(not.and({text}))"):
        assert isinstance(outcome(parse_logic, "or", False, tree), Logic | BadQuery)


@FEW
@given(texts)
def test_any_list_in_parentheses_has_a_value_at_execution(text: str) -> None:
    assert in_list(f"({text})").startswith(b"{")


@FEW
@given(texts)
def test_any_key_is_a_path_or_refused(key: str) -> None:
    outcome(parse_tree_path, key)
    found = outcome(parse_logic_path, key)

    assert isinstance(found, RestError) or found[1] in ("and", "or")
