"""Rows of the catalogs."""

from tests.workers.graphql.library import UNPRIVILEGED, schema_for
from workers.graphql.reflect.rows import ReflectedFunction


def _function(**given):
    usual = {
        "schema": "s", "name": "f", "types": [23, 25], "names": [], "modes": [], "default_count": 0, "defaults": None,
        "result": 23, "returns_set": False, "rows": 0, "is_volatile": False, "is_variadic": False, "acl": "", "comment": None,
    }  # fmt: skip
    return ReflectedFunction(**{**usual, **given})


def test_inputs_without_names_have_empty_ones():
    assert _function().inputs == [("", 23, None), ("", 25, None)]


def test_outputs_are_no_inputs():
    row = _function(names=["a", "b", "c"], modes=["i", "o", "b"], defaults=[None, None, "'x'::text"])

    assert row.inputs == [("a", 23, None), ("c", 25, "'x'::text")]


def test_column_numbers_lead_to_names(snapshot):
    word = next(row.oid for row in snapshot.relations if row.name == "word")

    assert snapshot.column_names(word, [3, 1]) == ("line", "id")
    assert snapshot.column_names(word, [1, 99]) is None
    assert snapshot.column_names(0, [1]) is None


def test_a_snapshot_serves_every_role(snapshot):
    assert schema_for(snapshot).entities != schema_for(snapshot, UNPRIVILEGED).entities
