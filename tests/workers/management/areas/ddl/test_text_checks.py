"""A text that passes the checks stays in its place: the parser of Postgres sees one statement with one expression or type."""

import pglast
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workers.management.areas.ddl.text_checks import (
    expression,
    literal,
    name,
    query,
    single_statement,
    type_text,
)
from workers.management.interface.errors import ManagementError

_PIECES = st.sampled_from([
    "1", "a", "b.c", '"q""x"', "'t'", "''", "E'\\''", "$$;$$", "$a$", "$", "(", ")", "[", "]", ",", ";", "--", "/*", "*/", "'", '"', "\\",
    " ", "\n", "=", "select", "from", "drop table t", "default", "not null", "as", "::int", "int", "numeric(1,2)", "U&'x'", "B'0'", "x'1'",
    "begin", "end", "case when true then 1 end", "%", "-", "+", "é", "\t", "1e5", "array[1]", "interval", "with time zone", "timestamp", "check",
])  # fmt: skip
_TEXTS = st.lists(_PIECES, max_size=12).map("".join) | st.lists(_PIECES, max_size=8).map(" ".join)


@given(_TEXTS)
@settings(max_examples=1500, deadline=None)
def test_an_expression_does_not_leave_its_parentheses(text: str) -> None:
    try:
        checked = expression(text, "default")
    except ManagementError:
        return
    try:
        statements = pglast.parse_sql(f"alter table t add column c int default {checked} not null")
    except pglast.parser.ParseError:
        return

    [statement] = statements
    [command] = statement.stmt.cmds
    assert [constraint.contype.name for constraint in command.def_.constraints] == [
        "CONSTR_DEFAULT",
        "CONSTR_NOTNULL",
    ]


@given(_TEXTS)
@settings(max_examples=1500, deadline=None)
def test_a_type_brings_no_constraint(text: str) -> None:
    try:
        checked = type_text(text)
        statements = pglast.parse_sql(f"create table t (c {checked}, d int)")
    except (ManagementError, pglast.parser.ParseError):
        return

    [statement] = statements
    assert [column.colname for column in statement.stmt.tableElts] == ["c", "d"]
    assert not any(column.constraints or column.collClause for column in statement.stmt.tableElts)


@given(st.text(max_size=30), st.text(max_size=80))
@settings(max_examples=500, deadline=None)
def test_names_and_literals_are_what_they_were(identifier: str, text: str) -> None:
    try:
        statements = pglast.parse_sql(f"comment on table {name(identifier)} is {literal(text)}")
    except (ManagementError, UnicodeError):
        return

    [statement] = statements
    assert (statement.stmt.object[0].sval, statement.stmt.comment) == (identifier, text)


@pytest.mark.parametrize(
    "text",
    [
        "timestamp(3) with time zone", "double precision", "numeric(10, 2)[]", '"My Schema"."a ""type"', "int[][]",
        "extensions.geometry(Point, 4326)", "character varying(20)", "interval day to second(3)",
    ],
)  # fmt: skip
def test_types_of_every_form_pass(text: str) -> None:
    assert type_text(text) == text


@pytest.mark.parametrize(
    "text", ["1 -- c", "1 /* c */", "(1", "1)", "'x", '"x', "$$x", "1; 2", "", " ", "\0"]
)
def test_texts_that_could_reach_further_are_refused(text: str) -> None:
    with pytest.raises(ManagementError):
        expression(text, "x")


def test_queries_and_statements_are_of_one_kind() -> None:
    assert query("with a as (select 1) select * from a ", "q").endswith("from a")
    assert query("(select 1) union select 2", "q")
    for text in ("update t set a = 1", "select 1;", "drop table t"):
        with pytest.raises(ManagementError):
            query(text, "q")
    beginnings = ("create function ", "create or replace function ")
    assert single_statement(
        " create  function f() returns int language sql as $$ select 1; $$ ;", beginnings, "d"
    )
    for text in (
        "create function f() begin atomic select 1;",
        "drop function f()",
        "",
        "create function a; create function b",
    ):
        with pytest.raises(ManagementError):
            single_statement(text, beginnings, "d")
