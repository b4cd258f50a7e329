"""Relation fields from foreign keys."""

import pytest

from tests.workers.graphql.library import READER, entity, schema_for


@pytest.fixture
def seen(snapshot):
    return schema_for(snapshot)


def test_the_side_with_the_key_is_named_after_its_column_or_the_directive(seen):
    relations = entity(seen, "book_copy").relations

    assert relations["writer"].columns == (("writer_id", "writer_id"),)
    assert relations["editor"].columns == (("editor_id", "writer_id"),)
    assert relations["writer"].is_outgoing
    assert not relations["writer"].is_many


def test_a_column_without_the_ending_lends_the_name_of_the_table(seen):
    assert entity(seen, "word").relations["sheet"].columns == (("page", "page"), ("line", "line"))
    assert entity(seen, "box", "archive").relations["parent"].target == ("archive", "box")


def test_the_other_side_is_a_connection(seen):
    relations = entity(seen, "writer").relations

    assert relations["bookCopyCollection"].is_many
    assert not relations["bookCopyCollection"].is_outgoing
    assert relations["edited"].columns == (("writer_id", "editor_id"),)


def test_a_unique_key_makes_the_other_side_one_row(seen):
    loan = entity(seen, "book_copy").relations["loan"]

    assert (loan.is_many, loan.is_nullable, loan.is_outgoing) == (False, True, False)


def test_the_one_row_is_named_after_the_referenced_column_and_the_later_of_two_names_stands(seen):
    book = entity(seen, "loan").relations["book"]

    assert book.target == ("library", "return_slip")
    assert not book.is_many


def test_a_row_is_certain_where_the_column_is_never_null_and_no_policy_hides_the_target(seen):
    assert not entity(seen, "book_copy").relations["writer"].is_nullable
    assert entity(seen, "book_copy").relations["editor"].is_nullable
    assert entity(seen, "return_slip").relations["loan"].is_nullable


def test_outgoing_relations_come_first(seen):
    assert list(entity(seen, "book_copy").relations) == ["writer", "editor", "loan"]


def test_directives_declare_keys_and_skip_what_is_not_there(seen):
    assert list(entity(seen, "young_writer").relations) == ["self"]
    assert entity(seen, "young_writer").relations["self"].is_nullable
    assert entity(seen, "writer").relations["youth"].is_many


def test_keys_over_columns_that_may_not_be_seen_are_left_out(snapshot):
    schema = schema_for(snapshot, READER)

    assert "editor" not in entity(schema, "book_copy").relations
    assert "edited" not in entity(schema, "writer").relations
    assert "sheet" not in entity(schema, "word").relations
