"""Fields against the catalog: reference page, sections 7.1, 7.2 and 23."""

import pytest

from tests.workers.rest.plan.asking import OPTIONS
from tests.workers.rest.plan.catalogs import CATALOG
from workers.rest.model import Field, JsonStep, PlannedField
from workers.rest.plan.fields import Scope, planned

PATH = (JsonStep("a", True),)


def scope(relation: str) -> Scope:
    return Scope(CATALOG, OPTIONS, CATALOG.relations["public", relation])


@pytest.mark.parametrize(
    ("relation", "field", "expected"),
    [
        ("projects", Field("name"), PlannedField("name")),
        ("projects", Field("meta", PATH), PlannedField("meta", PATH, is_json=True)),
        ("projects", Field("tags", PATH), PlannedField("tags", PATH)),
        ("projects", Field("words"), PlannedField("words", is_tsvector=True)),
        ("projects", Field("shout"), PlannedField("shout", function=("public", "shout"))),
        ("clients", Field("shout"), PlannedField("shout")),
        ("projects", Field("unknown"), PlannedField("unknown")),
        ("projects", Field("*"), PlannedField("*")),
        ("projects", Field("name", cast="int"), PlannedField("name", cast="int")),
        ("projects", Field("name", cast="tsvector"), PlannedField("name", cast="tsvector", is_tsvector=True)),
        ("items", Field("tint", cast="int"), PlannedField("tint", cast="int")),
        ("items", Field("tint"), PlannedField("tint", to_json=("public", "color_json"), from_text=("public", "color_of"))),
    ],
)  # fmt: skip
def test_a_field_is_a_column_or_computed_or_left_to_the_database(
    relation: str, field: Field, expected: PlannedField
) -> None:
    assert planned(scope(relation), field) == expected


def test_fields_of_a_record_are_not_known() -> None:
    assert planned(Scope(CATALOG, OPTIONS, None), Field("a", PATH)) == PlannedField("a", PATH)


def test_only_relations_with_a_represented_column_are_written_out() -> None:
    assert scope("items").has_representations()
    assert not scope("projects").has_representations()
    assert not Scope(CATALOG, OPTIONS, None).has_representations()
