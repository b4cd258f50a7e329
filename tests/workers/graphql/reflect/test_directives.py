"""Comment directives, and the messages for invalid ones."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.mutate import near_text
from workers.graphql.errors import SchemaError
from workers.graphql.reflect import directives


def test_a_comment_without_directive_says_nothing():
    for comment in (None, "", "graphql", "@graphql()", "@graphql {}"):
        assert directives.read_table(comment) == directives.TableDirective()


def test_a_directive_stands_anywhere_in_a_comment_and_over_several_lines():
    found = directives.read_schema('All of it.\n@graphql({\n "inflect_names": true,\n "max_rows": 0})\nDone')

    assert found == directives.SchemaDirective(inflect_names=True, max_rows=0)


def test_a_table_says_much():
    found = directives.read_table(
        '@graphql({"name": "A", "description": "B", "totalCount": {"enabled": true}, "aggregate": {"enabled": false},'
        ' "max_rows": 3, "primary_key_columns": ["x", "y"], "unknown": [1]})'
    )

    assert found == directives.TableDirective("A", "B", True, False, 3, ("x", "y"))


def test_a_foreign_key_is_declared_with_its_names():
    found = directives.read_table(
        '@graphql({"foreign_keys": [{"local_columns": ["a"], "foreign_schema": "s", "foreign_table": "t",'
        ' "foreign_columns": ["b"], "local_name": "these"}]})'
    )

    assert found.foreign_keys == (directives.ForeignKeyDirective(("a",), "s", "t", ("b",), "these", None),)


def test_enums_map_labels():
    found = directives.read_enum('@graphql({"name": "E", "mappings": {"a-b": "A_B"}})')

    assert found == directives.EnumDirective("E", (("a-b", "A_B"),))


def test_null_is_like_nothing():
    assert directives.read_name('@graphql({"name": null})') == directives.NameDirective()


@pytest.mark.parametrize(
    ("read", "value", "detail"),
    [
        (directives.read_schema, '{"max_rows": -1}', "invalid value: integer `-1`, expected u64"),
        (directives.read_table, '{"max_rows": -3}', "invalid value: integer `-3`, expected u64"),
        (directives.read_table, '{"max_rows": true}', "invalid type: boolean `true`, expected u64"),
        (directives.read_table, '{"max_rows": 1.5}', "invalid type: floating point `1.5`, expected u64"),
        (
            directives.read_schema,
            '{"inflect_names": "yes"}',
            'invalid type: string "yes", expected a boolean',
        ),
        (directives.read_name, '{"name": ["x"]}', "invalid type: sequence, expected a string"),
        (directives.read_name, "[1]", "invalid type: sequence, expected a map"),
        (
            directives.read_table,
            '{"primary_key_columns": "id"}',
            'invalid type: string "id", expected a sequence',
        ),
        (directives.read_table, '{"primary_key_columns": [null]}', "invalid type: null, expected a string"),
        (directives.read_table, '{"totalCount": {}}', "missing field `enabled`"),
        (directives.read_table, '{"foreign_keys": [{}]}', "missing field `local_columns`"),
        (directives.read_enum, '{"mappings": {"a": 1}}', "invalid type: integer `1`, expected a string"),
        (directives.read_name, r'{"description": "\ud800"}', "lone surrogate in hex escape"),
        (directives.read_constraint, '{"local_name": {}}', "invalid type: map, expected a string"),
    ],
)
def test_invalid_values_are_reported(read, value, detail):
    with pytest.raises(SchemaError) as refusal:
        read(f"@graphql({value})")

    assert refusal.value.message == f"Error while loading schema, check comment directives. {detail}"


def test_the_directive_reaches_to_the_last_bracket():
    with pytest.raises(SchemaError):
        directives.read_name('@graphql({"name": "x"}) and (more)')


COMMENTS = [
    '{"name": "A", "description": "B", "totalCount": {"enabled": true}, "aggregate": {"enabled": false}, "max_rows": 3}',
    '{"primary_key_columns": ["x", "y"], "foreign_keys": [{"local_columns": ["a"], "foreign_schema": "s", "foreign_table": "t",'
    ' "foreign_columns": ["b"], "local_name": "these", "foreign_name": "those"}]}',
    '{"name": "E", "mappings": {"a-b": "A_B"}}',
    '{"inflect_names": true, "max_rows": 0, "resolve_base_type": true}',
]
READERS = (
    directives.read_table,
    directives.read_schema,
    directives.read_enum,
    directives.read_name,
    directives.read_constraint,
)


@given(near_text(COMMENTS, ["null", "[]", "{}", "1.5", '""', "true", "[" * 5000]) | st.text())
@settings(max_examples=300)
def test_any_comment_is_read_or_rejected(text):
    for read in READERS:
        try:
            read(f"@graphql({text})")
        except SchemaError:
            continue
