"""Fields against the catalog: reference page, sections 7.1, 7.2 and 23."""

import pytest

from tests.workers.rest.plan.asking import OPTIONS
from tests.workers.rest.plan.catalogs import CATALOG
from workers.rest.model import FieldPath, JsonStep, PlannedField
from workers.rest.plan.fields import FieldScope, resolve_field

PATH = (JsonStep("a", True),)


def scope(relation: str) -> FieldScope:
    return FieldScope(CATALOG, OPTIONS, CATALOG.relations["public", relation])


@pytest.mark.parametrize(
    ("relation", "field", "expected"),
    [
        ("projects", FieldPath("name"), PlannedField("name")),
        ("projects", FieldPath("meta", PATH), PlannedField("meta", PATH, is_json=True)),
        ("projects", FieldPath("tags", PATH), PlannedField("tags", PATH)),
        ("projects", FieldPath("words"), PlannedField("words", is_tsvector=True)),
        ("projects", FieldPath("shout"), PlannedField("shout", function=("public", "shout"))),
        ("clients", FieldPath("shout"), PlannedField("shout")),
        ("projects", FieldPath("unknown"), PlannedField("unknown")),
        ("projects", FieldPath("*"), PlannedField("*")),
        ("projects", FieldPath("name", cast="int"), PlannedField("name", cast="int")),
        ("projects", FieldPath("name", cast="tsvector"), PlannedField("name", cast="tsvector", is_tsvector=True)),
        ("items", FieldPath("tint", cast="int"), PlannedField("tint", cast="int")),
        ("items", FieldPath("tint"), PlannedField("tint", to_json=("public", "color_json"), from_text=("public", "color_of"))),
    ],
)  # fmt: skip
def test_a_field_is_a_column_or_computed_or_left_to_the_database(
    relation: str, field: FieldPath, expected: PlannedField
) -> None:
    assert resolve_field(scope(relation), field) == expected


def test_fields_of_a_record_are_not_known() -> None:
    assert resolve_field(FieldScope(CATALOG, OPTIONS, None), FieldPath("a", PATH)) == PlannedField("a", PATH)


def test_only_relations_with_a_represented_column_are_written_out() -> None:
    assert scope("items").has_representations()
    assert not scope("projects").has_representations()
    assert not FieldScope(CATALOG, OPTIONS, None).has_representations()
