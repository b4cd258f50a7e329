"""The whole schema of a role."""

from dataclasses import replace

from tests.workers.graphql.library import EDITOR, entity, schema_for
from workers.graphql.model import EntityColumn, FunctionField, RelationField, ResultShape, ValueType
from workers.graphql.reflect.build import build


def test_a_schema_can_keep_itself_out_of_introspection(snapshot):
    schema = schema_for(snapshot)

    assert schema.has_introspection
    assert entity(schema, "writer").is_introspectable
    assert not entity(schema, "box", "archive").is_introspectable


def test_the_default_of_introspection_holds_where_nothing_is_said(snapshot):
    schema = build(snapshot, EDITOR, 1, introspection=False)

    assert not schema.has_introspection
    assert not schema.enums["Shelf"].is_introspectable


def test_of_tables_with_one_name_the_first_on_the_path_appears(snapshot):
    boxes = tuple(
        _with(row, name="box") if (row.schema, row.name) == ("library", "word") else row
        for row in snapshot.relations
    )
    named = tuple(
        _with(row, comment='@graphql({"name": "Box"})') if row.name == "box" else row for row in boxes
    )
    schema = schema_for(replace(snapshot, relations=named))

    assert ("library", "box") in schema.entities
    assert ("archive", "box") not in schema.entities


def test_of_fields_with_one_name_functions_win_then_relations(snapshot):
    writer = entity(schema_for(snapshot), "writer")
    text = ValueType("String", "text")
    column = EntityColumn("twin", "twin", text, is_nullable=True)
    relation = RelationField("twin", ("library", "loan"), (("a", "b"),), is_many=False)
    function = FunctionField("twin", ("library", "twin"), (), ResultShape.VALUE, text)
    crowded = replace(
        writer, columns={"twin": column}, relations={"twin": relation}, functions={"twin": function}
    )

    assert crowded.field("twin") is function
    assert replace(crowded, functions={}).field("twin") is relation
    assert replace(crowded, functions={}, relations={}).field("twin") is column
    assert (
        replace(
            crowded, functions={}, relations={}, columns={"twin": replace(column, is_selectable=False)}
        ).field("twin")
        is None
    )


def _with(row, **changes):
    """Return a row with other values."""
    return type(row)(**{name: changes.get(name, getattr(row, name)) for name in row.__struct_fields__})
