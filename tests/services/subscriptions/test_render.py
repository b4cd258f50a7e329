"""Row changes as results."""

import json

import pytest

from schemas.subscriptions import ChangeField, OldColumn, RowChangesPlan
from services.subscriptions.render import key_of, read_change, result_of

UPDATE = b"""{"schema": "public", "table": "t", "type": "UPDATE", "commit_timestamp": "2026-01-01T00:00:00.000Z",
"columns": [], "record": {"id": 9007199254740993, "b": "x"}, "errors": null, "position": "1-2-3",
"old_record": {"id": 9007199254740993, "n": 1.50, "ns": [1, null, "NaN"], "e": "very-good", "es": ["bad", "very-good"], "y": "00ff", "j": {"a": 1}, "o": null}}"""


def plan(*fields: ChangeField) -> RowChangesPlan:
    return RowChangesPlan(
        "anon", b"{}", ("public", "t"), ["UPDATE"], "", False, ["id"], ["id"], "x", list(fields),
        sum(each.kind == "node" for each in fields),
    )  # fmt: skip


def test_fields_stand_under_their_keys_in_the_order_of_the_document() -> None:
    fields = [
        ChangeField("p", "position"),
        ChangeField("n1", "node"),
        ChangeField("e", "event"),
        ChangeField("n2", "node"),
    ]
    told = plan(*fields, ChangeField("t", "typename", text="tChange"), ChangeField("at", "commitTimestamp"))

    result = result_of(told, read_change(UPDATE), [b'{"id":"1"}', b"null"])

    assert result == (
        b'{"data":{"x":{"p":"1-2-3","n1":{"id":"1"},"e":"UPDATE","n2":null,"t":"tChange","at":"2026-01-01T00:00:00.000Z"}}}'
    )


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (OldColumn("k", "id", "text"), "9007199254740993"),
        (OldColumn("k", "n", "text"), "1.50"),
        (OldColumn("k", "ns", "text"), ["1", None, "NaN"]),
        (OldColumn("k", "e", labels={"very-good": "VERY_GOOD"}), "VERY_GOOD"),
        (OldColumn("k", "es", labels={"very-good": "VERY_GOOD"}), ["bad", "VERY_GOOD"]),
        (OldColumn("k", "y", "bytes"), "\\x00ff"),
        (OldColumn("k", "j", "text"), '{"a": 1}'),
        (OldColumn("k", "o", "text"), None),
        (OldColumn("k", "not there"), None),
        (OldColumn("k", "", labels={"": "tOld"}), "tOld"),
    ],
)
def test_old_values_have_the_form_of_the_interface(column: OldColumn, expected: object) -> None:
    result = result_of(plan(ChangeField("old", "old", [column])), read_change(UPDATE), [])

    assert json.loads(result)["data"]["x"]["old"] == {"k": expected}


def test_the_key_is_that_of_the_new_row_and_of_a_deleted_one_the_old() -> None:
    change = read_change(UPDATE)
    deleted = read_change(UPDATE.replace(b"UPDATE", b"DELETE"))

    assert key_of(change, ["id", "b"]) == ["9007199254740993", "x"]
    assert key_of(deleted, ["id"]) == ["9007199254740993"]
    assert key_of(deleted, ["b"]) is None
