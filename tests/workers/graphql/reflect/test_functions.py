"""Functions as fields."""

import pytest

from tests.workers.graphql.library import READER, entity, library_snapshot, schema_for
from workers.graphql.model import ResultShape, RootKind, ValueType
from workers.graphql.reflect.functions import default_literal


def _calls(fields):
    return {name: field.function for name, field in fields.items() if field.kind is RootKind.CALL}


def test_stable_functions_are_queries_and_volatile_ones_mutations(snapshot):
    schema = schema_for(snapshot)

    assert set(_calls(schema.query)) == {"addUp", "manyBooks", "outOf", "loan"}
    assert set(_calls(schema.mutation)) == {"shelve"}
    assert schema.mutation["shelve"].function.description == "Move it"


def test_execute_is_needed(snapshot):
    assert "keptBack" not in schema_for(snapshot).query
    assert "keptBack" in schema_for(snapshot, "tester").query


def test_arguments_show_simple_defaults_only(snapshot):
    arguments = schema_for(snapshot).query["addUp"].function.arguments

    assert [(each.name, each.is_required, each.default) for each in arguments] == [
        ("a", True, None),
        ("bTerm", False, "5"),
        ("note", False, '"it\'s"'),
        ("rate", False, "1.5"),
        ("deep", False, "true"),
        ("late", False, None),
        ("total", False, None),
        ("empty", False, None),
    ]


def test_results_are_values_rows_or_connections(snapshot):
    schema = schema_for(snapshot)
    books = schema.query["manyBooks"].function

    assert schema.query["addUp"].function.type.scalar == "BigInt"
    assert (books.shape, books.target, books.returns_set) == (
        ResultShape.ROWS,
        ("library", "book_copy"),
        True,
    )
    assert schema.mutation["shelve"].function.shape is ResultShape.ROW


def test_a_table_keeps_a_function_of_its_name_out(snapshot):
    assert schema_for(snapshot).query["writerCollection"].kind is RootKind.COLLECTION


def test_a_function_keeps_a_second_spelling_out(snapshot):
    assert schema_for(snapshot).query["loan"].kind is RootKind.CALL


def test_computed_fields_belong_to_their_row(snapshot):
    functions = entity(schema_for(snapshot), "writer").functions

    assert {name: each.shape for name, each in functions.items()} == {
        "initials": ResultShape.VALUE,
        "firstBooks": ResultShape.ROWS,
        "lastBook": ResultShape.ROW,
    }
    assert all(each.arguments == () for each in functions.values())


async def test_functions_of_one_name_hide_each_other_across_schemas(server):
    more = "create function archive.add_up(a int) returns int language sql stable as 'select 1'"
    snapshot = await library_snapshot(server.url, more)

    assert "addUp" not in schema_for(snapshot).query


async def test_a_computed_field_needs_the_whole_row(server):
    more = "create function library.size_of(library.book_copy) returns int language sql stable as 'select 1'"
    snapshot = await library_snapshot(server.url, more)

    assert "sizeOf" in entity(schema_for(snapshot), "book_copy").functions
    assert "sizeOf" not in entity(schema_for(snapshot, READER), "book_copy").functions


@pytest.mark.parametrize(
    ("expression", "scalar", "shown"),
    [
        ("5", "Int", "5"),
        ("'-5'::integer", "Int", "-5"),
        ("'99999999999'::bigint", "Int", None),
        ("1.5", "Int", None),
        ("(1 + 1)", "Int", None),
        ("1.5", "Float", "1.5"),
        ("'-1.5'::double precision", "Float", "-1.5"),
        ("10.0", "Float", "10"),
        ("1.50", "Float", "1.5"),
        ("1e20", "Float", "100000000000000000000"),
        ("'Infinity'::double precision", "Float", None),
        ("false", "Boolean", "false"),
        ("now()", "Boolean", None),
        ("'a \"b\" ''c'''::text", "String", '"a \\"b\\" \'c\'"'),
        ("upper('x'::text)", "String", None),
        ("('x'::text || 'y'::text)", "String", None),
        ("NULL::text", "String", None),
        ("'{}'::jsonb", "JSON", None),
    ],
)
def test_defaults_that_are_plain_literals_are_shown(expression, scalar, shown):
    assert default_literal(expression, ValueType(scalar, "text" if scalar == "String" else "any")) == shown


def test_defaults_of_strings_other_than_text_are_not_shown():
    assert default_literal("'x'::character varying", ValueType("String", "character varying")) is None


def test_defaults_of_lists_are_not_shown():
    assert default_literal("'{a}'::text[]", ValueType("String", "text[]", is_list=True)) is None
