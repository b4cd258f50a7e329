"""Parameters, names, expressions and headers: pure."""

import random

import pytest

from services.sync.cursors import next_cursor
from workers.sql.compose import render
from workers.sync.catalog import SyncColumn
from workers.sync.column_schema import schema_header
from workers.sync.errors import InvalidParameters
from workers.sync.identity import claims_of_policy
from workers.sync.messages import MessageFormat, change_of
from workers.sync.parameters import INFINITE, Place, parse_request
from workers.sync.pending import key_values
from workers.sync.where.equality import equal_columns
from workers.sync.where.grammar import parse_where
from workers.sync.where.order import parse_order
from workers.sync.where.render import Scope, render_where
from workers.sync.where.tokens import ExpressionRejected

TABLE = ("public", "t")
SCOPE = Scope(
    {TABLE: frozenset({"id", "a", "b", "tags", "has,comma"}), ("public", "u"): frozenset({"x", "y"})},
    ("1", None),
)

DEEP = '{"a":' + "[" * 2000 + "]" * 2000 + "}"
"""More levels than a decoder follows."""


@pytest.mark.parametrize(
    ("query", "parameter", "text"),
    [
        ("offset=-1", "table", "can't be blank"),
        ("table=a.b.c&offset=-1", "table", "table name does not match expected format"),
        ("table=a%20b&offset=-1", "table", "Invalid unquoted identifier contains special characters: a b"),
        ('table=""&offset=-1', "table", "Invalid zero-length delimited identifier"),
        ("table=t", "offset", "can't be blank"),
        ("table=t&offset=x", "offset", "has invalid format"),
        ("table=t&offset=1_1", "handle", "can't be blank when offset != -1"),
        ("table=t&offset=-1&live", "live", "can't be true when offset == -1"),
        ("table=t&offset=now&live=true", "live", "can't be true when offset == now"),
        ("table=t&offset=1_1&handle=h&live_sse=true", "live_sse", "can't be true unless live is also true"),
        (
            "table=t&offset=-1&params[2]=x",
            "params",
            "parameters must be numbered sequentially, starting from 1",
        ),
        ("table=t&offset=-1&params[a]=x", "params", "keys must be numbers, starting from 1"),
        ("table=t&offset=-1&columns=", "columns", "must name at least one column"),
        ("table=t&offset=-1&replica=all", "replica", "is invalid: must be default or full"),
        ("table=t&offset=-1&queryable_columns=", "queryable_columns", "must name at least one column"),
    ],
)
def test_a_wrong_parameter_is_named(query: str, parameter: str, text: str) -> None:
    with pytest.raises(InvalidParameters) as rejected:
        parse_request(query, b"")

    assert rejected.value.body() == {"message": "Invalid request", "errors": {parameter: [text]}}


def test_a_request_is_read_whole() -> None:
    query = 'table=S."T""x"&columns="id","has,comma",Bar&params[1]=v&offset=12_inf&handle=h&live&live_sse=true&cache-buster=1'

    request = parse_request(query, b"")

    assert request.definition.table == ("s", 'T"x')
    assert request.definition.columns == ("id", "has,comma", "bar")
    assert request.definition.params == ("v",)
    assert request.offset == (12, INFINITE)
    assert request.is_live
    assert request.is_sse


def test_a_body_wins_over_the_query_and_asks_for_a_subset_only_by_its_members() -> None:
    whole = parse_request(
        "table=u&offset=-1", b'{"table": "t", "columns": "\\"id\\"", "replica": "full", "other": 1}'
    )
    part = parse_request(
        "offset=-1", b'{"table": "t", "where": "a = $1", "params": {"1": 5}, "offset": 2, "order_by": "a"}'
    )

    assert (whole.definition.table, whole.definition.columns, whole.subset) == (TABLE, ("id",), None)
    assert whole.definition.is_full
    assert (part.definition.table, part.definition.where, part.offset) == (TABLE, "", Place.START)
    assert part.subset is not None
    assert (part.subset.where, part.subset.params, part.subset.offset) == ("a = $1", ("5",), 2)
    assert parse_request("table=t&offset=-1", b'{"subset": {}}').subset is None
    for body in (b'{"table": 1}', DEEP.encode()):
        with pytest.raises(InvalidParameters, match="Invalid"):
            parse_request("offset=-1", body)


def test_a_subset_comes_by_query_or_body() -> None:
    by_query = parse_request(
        'table=t&offset=-1&subset__where=a=$1&subset__params={"1":"x"}&subset__limit=2&subset__order_by=a',
        b"",
    )
    by_body = parse_request(
        "table=t&offset=now", b'{"where":"a=$1","params":{"1":"x"},"limit":2,"order_by":"a"}'
    )

    assert by_query.subset == by_body.subset is not None
    assert by_body.offset is Place.NOW
    with pytest.raises(InvalidParameters) as rejected:
        parse_request("table=t&offset=-1&subset__limit=2", b"")
    assert rejected.value.body()["errors"] == {
        "subset": {"order_by": "order_by is required when limit or offset is present"}
    }


@pytest.mark.parametrize(
    ("text", "sql", "params"),
    [
        ("a = $1 AND b LIKE 'x%'", '(("hw_row"."a" = $1) and ("hw_row"."b" like $2))', (b"1", b"x%")),
        ("a=1 or b=2 and not a is null", '(("hw_row"."a" = 1) or (("hw_row"."b" = 2) and (not ("hw_row"."a" is null))))', ()),
        ('t."has,comma" between 1 and 2', '("hw_row"."has,comma" between 1 and  2)', ()),
        ("\"a\" = ANY($2)", '("hw_row"."a" = any($1))', (None,)),
        ("-a + 2 * 3 = b ^ 2", '(((- "hw_row"."a") + (2 * 3)) = ("hw_row"."b" ^ 2))', ()),
        ("concat(a, 'x') ilike $1", '(pg_catalog.concat("hw_row"."a", $1::text) ilike $2)', (b"x", b"1")),
        ("a::timestamp with time zone > '2026-01-01'", '(("hw_row"."a"::timestamptz) > $1)', (b"2026-01-01",)),
        (
            "(a, b) not in (select x, y from u where x > 1)",
            '(("hw_row"."a", "hw_row"."b") not in (select "hw_inner_1"."x", "hw_inner_1"."y" from "public"."u" as "hw_inner_1"'
            ' where ("hw_inner_1"."x" > 1)))',
            (),
        ),
        ("a = E'it\\'s' || 'x''y'", '("hw_row"."a" = ($1 || $2))', (b"it's", b"x'y")),
    ],
)  # fmt: skip
def test_an_expression_is_written_anew(text: str, sql: str, params: tuple[bytes | None, ...]) -> None:
    assert render(render_where(parse_where(text, allows_subqueries=True), TABLE, SCOPE)) == (sql, params)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 x 1", 'At location 17: syntax error at or near "x"'),
        ("a =", "At location 18: syntax error at end of input"),
        ("a = 1; drop table t", 'At location 20: syntax error at or near ";"'),
        ("a = 1 -- x", "At location 21: comments are not supported"),
        ("a /* */ = 1", "At location 17: comments are not supported"),
        ("now() > a", "At location 15: unknown function now"),
        ("pg_sleep(9) is null", "At location 15: unknown function pg_sleep"),
        ("secret = 1", "At location 15: unknown reference secret"),
        ("other.a = 1", "At location 15: unknown reference other.a"),
        ("a ~ 'x'", 'At location 17: operator "~" is not supported'),
        ("a = $3", "At location 19: parameter $3 was not provided"),
        ("a = $$x$$", 'At location 19: syntax error at or near "$$x$$"'),
        ("a::regclass = 1", 'At location 18: type "regclass" is not supported'),
        ("exists (select 1)", "At location 15: unknown function exists"),
        ("a in (select x from v)", 'Table "public"."v" does not exist'),
        ("a in (select a from u)", "At location 28: unknown reference a"),
        ("(" * 100 + "a" + ")" * 100, "the expression is nested more than 60 levels deep"),
        ("current_user = a", 'At location 15: syntax error at or near "current_user"'),
    ],
)
def test_what_is_no_expression_is_rejected_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ExpressionRejected) as rejected:
        render_where(parse_where(text, allows_subqueries=True), TABLE, SCOPE)

    assert str(rejected.value) == message


@pytest.mark.parametrize(
    "text", ["a; drop table t", "lower(a)", "a desc nulls", "1", "a::int", "$1", "a,", "a asc desc"]
)
def test_an_order_has_columns_alone(text: str) -> None:
    with pytest.raises(ExpressionRejected):
        parse_order(text)


def test_an_order_is_read() -> None:
    terms = parse_order('"a" DESC NULLS LAST, b')

    assert [(term.column, term.direction) for term in terms] == [("a", " desc nulls last"), ("b", "")]


@pytest.mark.parametrize(
    ("policy", "claims"),
    [
        ("true", set()),
        ("(owner = auth.uid())", {"sub"}),
        ("(( SELECT auth.uid() AS uid) = owner)", {"sub"}),
        ("((tenant)::text = (auth.jwt() ->> 'tenant'::text))", {"tenant"}),
        ("(((auth.jwt() -> 'app_metadata'::text) ->> 'org'::text) = org)", {"app_metadata"}),
        ("((open IS TRUE) OR (kind = ANY (ARRAY['a'::text, 'b'::text])))", set()),
        ("(owner = private.me())", None),
        ("(expires_at > now())", None),
        ("(EXISTS ( SELECT 1 FROM members))", None),
        ("(owner = (auth.jwt())::text)", None),
        ("(who = CURRENT_USER)", None),
        ("(day < 'tomorrow'::text)", None),
        ("(who = current_setting('request.jwt.claims'::text))", None),
    ],
)
def test_only_plain_comparisons_with_claims_are_shared(policy: str, claims: set[str] | None) -> None:
    assert claims_of_policy(policy) == claims


def test_changes_carry_what_the_kind_of_shape_says() -> None:
    short, full = (MessageFormat(("public", "t"), frozenset({"id"}), is_full) for is_full in (False, True))
    before, after = b'{"id":"1","a":"x","b":null}', b'{"id":"1","a":"y","b":null}'

    heads = [
        change_of(form, b'"k"', *pair)
        for form in (short, full)
        for pair in ((None, after), (before, after), (before, None), (after, after))
    ]

    assert [draft and draft.head for draft in heads] == [
        b'"key":"k","value":' + after, b'"key":"k","value":{"id":"1","a":"y"}', b'"key":"k","value":{"id":"1"}', None,
        b'"key":"k","value":' + after, b'"key":"k","value":' + after + b',"old_value":{"a":"x"}', b'"key":"k","value":' + before, None,
    ]  # fmt: skip


@pytest.mark.parametrize("values", [("a", "b"), ("a/b", '"'), ("/", "//"), ('"/"', ""), ("",)])
def test_a_key_is_read_back(values: tuple[str, ...]) -> None:
    text = '"public"."t"' + "".join('/"' + value.replace("/", "//") + '"' for value in values)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')

    assert key_values(f'"{escaped}"'.encode(), '"public"."t"') == values


def test_the_schema_header_is_ascii() -> None:
    columns = [
        SyncColumn("é", 1, "numeric", "", "b", "", 0, True, 4 + (10 << 16) + 2, "", True),
        SyncColumn("t", 1, "varchar", "", "b", "", 2, False, 13, "", True),
    ]

    assert schema_header(columns, ["é"]) == (
        '{"\\u00e9":{"type":"numeric","not_null":true,"pk_index":0,"precision":10,"scale":2},'
        '"t":{"type":"varchar","dims":2,"max_length":9}}'
    )


def test_cursors_grow() -> None:

    first = next_cursor("", 1_728_432_001.0, 20.0, random.Random(1))

    assert first == "20"
    assert 20 < int(next_cursor(first, 1_728_432_002.0, 20.0, random.Random(1))) <= 3620


UUID = "12345678-9abc-4def-8123-456789abcdef"


@pytest.mark.parametrize(
    ("text", "equal"),
    [
        ("a = 'x'", {"a": "x"}),
        ("a = $1 and (b = 'y' and id = 7)", {"a": "1", "b": "y", "id": "7"}),
        ("a = 'x' or b = 'y'", {}),
        ("not (a = 'x' and b = 'y')", {}),
        ("id = 07 and a = $2", {}),
        ("b between 'a' and 'c' and a = 'x'", {"a": "x"}),
        ("(a = 'x' and b = 'y') is not true", {}),
        ("coalesce(a = 'x' and b = 'y', true)", {}),
        ("lower(a) = 'x' and 'x' = b", {}),
        (" and ".join([*["b is not null"] * 1500, "a = 'x'"]), {"a": "x"}),
        (f"u = '{UUID}'", {"u": UUID}),
        (f"u = '{UUID[:4]}-{UUID[4:23]}{UUID[24:]}'", {}),  # the same value and length, with another hyphen
    ],
)
def test_columns_that_must_equal_a_constant_are_found(text: str, equal: dict[str, str]) -> None:
    types = {"a": "text", "b": "varchar", "id": "int8", "u": "uuid"}

    assert equal_columns(parse_where(text, allows_subqueries=False), types, ("1", None)) == equal
