"""Tables and views that a role sees."""

import pytest

from tests.workers.graphql.library import EDITOR, MEMBER, READER, UNPRIVILEGED, entity, schema_for


@pytest.fixture
def seen(snapshot):
    return schema_for(snapshot)


def test_tables_without_a_key_or_a_name_do_not_appear(seen):
    names = {name for space, name in seen.entities if space == "library"}

    assert "keyless" not in names
    assert "half name" not in names
    assert "mistaken" not in names
    assert entity(seen, "rescued name").name == "Rescued"


def test_a_role_without_privileges_sees_nothing(snapshot):
    schema = schema_for(snapshot, UNPRIVILEGED)

    assert (schema.entities, list(schema.query), schema.mutation, schema.enums) == ({}, ["node"], {}, {})


def test_a_member_sees_what_its_group_sees(snapshot):
    assert schema_for(snapshot, MEMBER).entities == schema_for(snapshot, EDITOR).entities


def test_names_follow_the_directive_of_their_schema(seen):
    assert entity(seen, "book_copy").name == "BookCopy"
    assert list(entity(seen, "book_edge_case").columns) == ["id", "at"]
    assert entity(seen, "box", "archive").name == "box"
    assert "blogPost" in entity(seen, "box", "archive").columns


def test_columns_have_the_types_of_their_values(seen):
    columns = entity(seen, "book_copy").columns

    def told(name):
        own = columns[name].type
        return own.scalar, own.sql, own.is_list, own.max_length, own.is_text

    assert told("title") == ("String", "character varying", False, 40, False)
    assert told("writerId") == ("BigInt", "bigint", False, None, True)
    assert told("price") == ("BigFloat", "numeric", False, None, True)
    assert told("code") == ("String", "bpchar", False, 4, False)
    assert told("extra") == ("JSON", "jsonb", False, None, True)
    assert told("tags") == ("String", "text[]", True, None, False)
    assert told("marks")[:3] == ("Shelf", "library.shelf_mark[]", True)


def test_enums_appear_where_the_role_may_use_them(snapshot, seen):
    columns = entity(seen, "book_copy").columns

    assert seen.enums["Shelf"].labels == {"FLOOR_ONE": "floor-one", "floor_two": "floor_two"}
    assert columns["shelf"].type.enum is seen.enums["Shelf"]
    assert columns["secret"].type.scalar == columns["cellar"].type.scalar == "Opaque"
    assert "secrets" not in columns
    assert "SecretMark" in schema_for(snapshot, "tester").enums


def test_rows_and_names_that_cannot_be_spelled_are_left_out(seen):
    columns = entity(seen, "book_copy").columns

    assert "size" not in columns
    assert "odd name" not in {column.sql for column in columns.values()}


def test_a_key_that_cannot_be_spelled_still_makes_an_id(seen):
    nameless = entity(seen, "nameless_key")

    assert nameless.has_node_id
    assert not nameless.has_key_lookup
    assert [column.sql for column in nameless.key_columns] == ["the key"]


def test_what_postgres_fills_itself_cannot_be_written(seen):
    measured = entity(seen, "measured", "archive").columns
    label = entity(seen, "book_copy").columns["label"]

    assert [name for name, column in measured.items() if column.is_insertable] == ["id"]
    assert not (label.is_insertable)
    assert not (label.is_updatable)
    assert not entity(seen, "writer").columns["writerId"].is_insertable


def test_a_role_sees_the_columns_it_may_select_or_write(snapshot):
    schema = schema_for(snapshot, READER)
    book = entity(schema, "book_copy")

    assert [column.name for column in book.columns.values() if column.is_selectable] == [
        "id",
        "title",
        "writerId",
        "shelf",
    ]
    assert [column.name for column in book.columns.values() if column.is_insertable] == ["title"]
    assert (book.is_insertable, book.is_updatable, book.is_deletable) == (True, False, False)


def test_a_key_that_may_not_be_seen_gives_neither_id_nor_look_up(snapshot):
    sheet = entity(schema_for(snapshot, READER), "sheet")

    assert not sheet.has_node_id
    assert not sheet.has_key_lookup
    assert entity(schema_for(snapshot), "sheet").primary_key == ("page", "line")


def test_views_take_their_key_from_a_directive_and_are_written_where_they_can_be(seen):
    young, count = entity(seen, "young_writer"), entity(seen, "writer_count")

    assert young.primary_key == ("writer_id",)
    assert young.is_insertable
    assert young.is_updatable
    assert young.is_deletable
    assert young.columns["writerId"].is_insertable
    assert young.columns["writerId"].is_nullable
    assert not (count.is_insertable)
    assert not (count.is_updatable)
    assert not (count.is_deletable)


def test_directives_set_counts_pages_and_words(seen):
    writer, book = entity(seen, "writer"), entity(seen, "book_copy")

    assert (writer.max_rows, writer.has_total_count, writer.has_aggregate) == (7, True, True)
    assert (book.max_rows, book.has_total_count, book.has_aggregate) == (50, False, False)
    assert entity(seen, "box", "archive").max_rows == 30
    assert writer.description == "Who writes"
    assert writer.columns["fullName"].description == "As printed"


def test_constraints_that_upserts_may_name_begin_with_the_primary_key(seen):
    assert entity(seen, "book_copy").unique_keys == (
        ("book_copy_pkey", ("id",)),
        ("book_copy_title_writer_id_key", ("title", "writer_id")),
    )
    assert entity(seen, "young_writer").unique_keys == ()
