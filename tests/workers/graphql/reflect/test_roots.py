"""The fields of the roots."""

from tests.workers.graphql.library import READER, schema_for
from workers.graphql.model import Entity, RootKind
from workers.graphql.reflect.roots import mutation_fields, query_fields


def test_a_table_has_a_collection_and_a_look_up_in_two_spellings(snapshot):
    query = schema_for(snapshot).query

    assert query["bookCopyCollection"].entity == query["bookCopyByPk"].entity == ("library", "book_copy")
    assert query["bookCopy"].kind is RootKind.BY_KEY
    assert query["bookCopy"].is_alias
    assert not query["bookCopyByPk"].is_alias


def test_mutations_are_offered_as_far_as_the_role_may(snapshot):
    editor, reader = schema_for(snapshot), schema_for(snapshot, READER)

    assert {
        "insertIntoWordCollection",
        "insertWordCollection",
        "updateWordCollection",
        "deleteFromWordCollection",
    } <= (editor.mutation.keys())
    assert set(reader.mutation) == {"insertIntoBookCopyCollection", "insertBookCopyCollection", "shelve"}


def test_names_of_tables_that_are_not_inflected_stay(snapshot):
    schema = schema_for(snapshot)

    assert schema.mutation["insertIntoboxCollection"].kind is RootKind.INSERT
    assert schema.query["boxCollection"].kind is RootKind.COLLECTION


def test_a_capital_letter_is_understood_too(snapshot):
    mutation = schema_for(snapshot).mutation

    for name in (
        "insertBoxCollection",
        "insertIntoBoxCollection",
        "updateBoxCollection",
        "deleteFromBoxCollection",
    ):
        assert mutation[name].is_alias
        assert mutation[name].entity == mutation["insertIntoboxCollection"].entity


def test_a_key_that_cannot_be_an_argument_gives_no_look_up(snapshot):
    query = schema_for(snapshot).query

    assert "namelessKeyCollection" in query
    assert "namelessKeyByPk" not in query
    assert "namelessKey" not in query


def test_the_first_of_two_fields_with_one_name_stands():
    node = Entity("Node", ("s", "node"), "r", {}, ("id",), has_key_lookup=True, is_insertable=True)
    twin = Entity("IntoNode", ("s", "into_node"), "r", {}, ("id",), is_insertable=True)

    assert query_fields([node], [])["node"].kind is RootKind.NODE
    assert mutation_fields([twin, node], [])["insertIntoNodeCollection"].entity == ("s", "node")
