"""The words of the URL grammar: names, quotes, JSON paths, and the wording of what does not fit."""

import re

import pytest
from hypothesis import given

from tests.workers.rest.parse.anything import FEW, outcome, storable, texts
from workers.rest.errors.parse import BadQuery
from workers.rest.model import FieldPath, JsonStep
from workers.rest.parse.lexer import Scanner, parse_field, parse_name, parse_quoted, parse_type


def scanner(text: str) -> Scanner:
    return Scanner(text, "word")


@pytest.mark.parametrize(
    ("text", "name", "rest"),
    [
        ("id", "id", ""),
        ("id,name", "id", ",name"),
        ("first name", "first name", ""),
        (" padded  ,x", "padded", ",x"),
        ("_under$core9", "_under$core9", ""),
        ("ключ", "ключ", ""),
        ("名前.eq", "名前", ".eq"),
        ("some-col", "some-col", ""),
        ("a-b-c", "a-b-c", ""),
        ("data->x", "data", "->x"),
        ("da-ta->>x", "da-ta", "->>x"),
        ('"a.b"', "a.b", ""),
        ('"a,b:(c)"::int', "a,b:(c)", "::int"),
        ('" kept "', " kept ", ""),
        ('""', "", ""),
        (r'"a\"b"', 'a"b', ""),
        (r'"a\\b"', r"a\b", ""),
        (r'"a\b"', "ab", ""),
        ('"two\nlines"', "two\nlines", ""),
    ],
)
def test_a_name_ends_where_the_grammar_says(text: str, name: str, rest: str) -> None:
    scan = scanner(text)

    assert parse_name(scan) == name
    assert text[scan.position :] == rest


@pytest.mark.parametrize(
    ("text", "column", "details"),
    [
        ("", 1, "unexpected end of input expecting field name (* or [a..z0..9_$])"),
        (",", 1, 'unexpected "," expecting field name (* or [a..z0..9_$])'),
        ("(a)", 1, 'unexpected "(" expecting field name (* or [a..z0..9_$])'),
        ("a-", 3, "unexpected end of input expecting field name (* or [a..z0..9_$])"),
        ("a--b", 3, 'unexpected "-" expecting field name (* or [a..z0..9_$])'),
        ('"open', 6, "unexpected end of input expecting closing quote"),
        ('"open\\"', 8, "unexpected end of input expecting closing quote"),
    ],
)
def test_what_is_no_name_is_refused_with_its_place(text: str, column: int, details: str) -> None:
    with pytest.raises(BadQuery) as caught:
        parse_name(scanner(text))

    assert caught.value.message == f'"failed to parse word ({text})" (line 1, column {column})'
    assert caught.value.details == details


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("d", []),
        ("d->a", [("a", False)]),
        ("d->>a", [("a", True)]),
        ("d->a->>b", [("a", False), ("b", True)]),
        ("d->0", [(0, False)]),
        ("d->-1", [(-1, False)]),
        ("d->>-12", [(-12, True)]),
        ("d->0->>1", [(0, False), (1, True)]),
        ("d->0::int", [(0, False)]),
        ("d->>0.desc", [(0, True)]),
        ("d->0,e", [(0, False)]),
        ("d->1a", [("1a", False)]),
        ("d->0)", [("0", False)]),  # an index ends at `->`, `::`, `.`, `,` or the end: this one is a key
        ("d->some-key->>x", [("some-key", False), ("x", True)]),
        ("d-> blank ->x", [("blank", False), ("x", False)]),
        ('d->"a.b"->>"c(d)"', [("a.b", False), ("c(d)", True)]),
        ('d->>"0"', [("0", True)]),
        ("d->ключ", [("ключ", False)]),
        ("d->!@#", [("!@#", False)]),
        ("d->" + "9" * 18, [(int("9" * 18), False)]),
        ("d->" + "9" * 5000, [("9" * 5000, False)]),  # longer than any index: a key that no array has
    ],
)
def test_json_paths_have_keys_and_indexes(text: str, steps: list[tuple[str | int, bool]]) -> None:
    field = parse_field(scanner(text))

    assert field == FieldPath("d", tuple(JsonStep(key, as_text) for key, as_text in steps))


@pytest.mark.parametrize(
    ("text", "details"),
    [
        ("d->", 'unexpected end of input expecting "-", digit or any non reserved character different from: .,>()'),
        ("d->>,", 'unexpected "," expecting "-", digit or any non reserved character different from: .,>()'),
        ("d->--34", 'unexpected "-" expecting digit'),
        ("d->-x", 'unexpected "x" expecting digit'),
        ("d->-78xy", 'unexpected \'x\' expecting digit, "->", "::", ".", "," or end of input'),
        ('d->"x', "unexpected end of input expecting closing quote"),
        ("d->a-", 'unexpected end of input expecting "-", digit or any non reserved character different from: .,>()'),
    ],
)  # fmt: skip
def test_broken_json_paths_are_refused(text: str, details: str) -> None:
    with pytest.raises(BadQuery) as caught:
        parse_field(scanner(text))

    assert caught.value.details == details


@pytest.mark.parametrize(
    ("text", "found"), [("int", "int"), ("double precision", "double precision"), (" text ,x", "text"), ("numeric(3)", "numeric")]
)  # fmt: skip
def test_a_type_is_a_bare_identifier(text: str, found: str) -> None:
    assert parse_type(scanner(text)) == found


def test_a_scanner_steps_only_over_what_it_accepts() -> None:
    scan = scanner("ab(")

    assert not scan.accept("b")
    assert scan.accept("ab")
    assert (scan.peek(), scan.peek(9), scan.at_end) == ("(", "(", False)
    scan.expect("(")
    assert scan.at_end
    with pytest.raises(BadQuery, match=re.escape('"failed to parse word (ab()" (line 1, column 4)')):
        scan.expect(")")


def test_an_error_quotes_the_text_that_was_sent() -> None:
    with pytest.raises(BadQuery) as caught:
        Scanner("or", "logic tree", shown="", position=2).fail("one", "two", "three", quote="'")

    assert caught.value.message == '"failed to parse logic tree ()" (line 1, column 3)'
    assert caught.value.details == "unexpected end of input expecting one, two or three"


@FEW
@given(storable(50))
def test_every_text_comes_back_out_of_its_quotes(text: str) -> None:
    quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    scan = scanner(quoted)

    assert parse_quoted(scan) == text
    assert scan.at_end


@FEW
@given(texts)
def test_any_text_is_a_field_or_refused(text: str) -> None:
    assert isinstance(outcome(parse_field, scanner(text)), FieldPath | BadQuery)
