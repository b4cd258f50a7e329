"""Texts of statements: they contain only what is selected, and no value of a client except a literal limit of the document."""

from tests.workers.graphql.plan.test_operation import plan
from workers.graphql.compilation import StatementTemplate, compile_operation


def statement(text: str, variables: dict[str, object] | None = None) -> StatementTemplate:
    work = compile_operation(plan(text, variables)).fields[0].work
    assert isinstance(work, StatementTemplate)
    return work


def test_a_page_without_page_info_reads_no_further_row_and_counts_nothing() -> None:
    found = statement("{ accountCollection(first: 3) { edges { node { id } } } }")

    assert found.text == (
        'select (select row_to_json("@") from (select array(select "@j1" '
        'from (select "@2"."id" from "public"."account" as "@2" order by "@2"."id" asc nulls last limit 3) "@1", '
        'lateral (select "@1"."id" as "id") "@j0", lateral (select "@j0" as "node") "@j1") as "edges") "@")'
    )
    assert found.params == ()


def test_a_limit_of_a_variable_is_a_parameter() -> None:
    found = statement("query q($n: Int) { accountCollection(first: $n) { edges { node { id } } } }", {"n": 3})

    assert "limit $1::int8" in found.text


def test_only_the_columns_in_use_are_read_of_a_page() -> None:
    found = statement("{ accountCollection { edges { node { blogCollection { edges { node { id } } } } } } }")

    assert 'from (select "@2"."id" from "public"."account"' in found.text.replace('"@4"', '"@2"')
    assert "email" not in found.text


def test_values_never_stand_in_the_text() -> None:
    evil = "'; drop table account; --"
    found = statement(
        'query($v: X) { accountCollection(filter: {email: {startsWith: $v}, or: [{tags: {eq: [$v]}}, {email: {in: ["\'\\"x"]}}]}) { edges { cursor } } }',
        {"v": "v1"},
    )

    assert "drop" not in found.text
    assert "v1" not in found.text
    assert "x" not in found.text.replace("text", "").replace("max", "")
    assert found.statement({"v": evil[:5]}).params[0] == evil[:5].encode()


def test_keyset_conditions_name_a_bound_for_an_index() -> None:
    found = statement(
        '{ accountCollection(after: "WyJhIiwxXQ==", orderBy: {id: DescNullsLast}) { edges { cursor } } }'
    )

    assert '"id" <= $1::integer' in found.text
    assert '"id" < $' in found.text


def test_the_bound_of_a_write_is_inside_its_statement() -> None:
    found = statement("mutation { deleteFromAccountCollection(atMost: 7) { affectedCount } }")

    assert found.text.startswith(
        'with "@written" as (delete from "public"."account" as "@1" returning "@1"."id") select case when '
    )
    assert found.params == (b"7",)
