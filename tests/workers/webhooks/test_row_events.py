"""Events of batches: what is left out of the log, moves of keys, partitions, and changes that are older than the webhook."""

import json

import msgspec
import pytest

from schemas.changes import CausingRequest, ChangeBatch, ChangeColumn, ChangeKind, RowChange, Values
from schemas.realtime import FilterCondition
from workers.webhooks.row_events import RowWebhook, deliveries_of

EVERY = frozenset(("insert", "update", "delete", "truncate"))


def webhook(**more: object) -> RowWebhook:
    known: dict[str, object] = {
        "events": EVERY, "filters": (), "columns": None, "with_old": False, "is_ordered": True, "created_lsn": 5,
    }  # fmt: skip
    return RowWebhook("w", "public", "orders", **(known | more))  # type: ignore[arg-type]  # by name


def batch(*changes: RowChange, lsn: int = 16) -> ChangeBatch:
    columns = [ChangeColumn("a", "int4", is_key=True), ChangeColumn("note", "text")]
    return ChangeBatch("public", "orders_2026", lsn, 2, 1_700_000_000_500_000, 0, columns, "d", list(changes))


def change(kind: str, new: Values | None, old: Values | None = None) -> RowChange:
    return RowChange(ChangeKind(kind), new, old)


def test_the_events_of_a_batch():
    made = list(
        deliveries_of(
            batch(
                change("INSERT", [b"1", b'"x"']),
                change("UPDATE", [b"2", None], [b"1", None]),
                change("DELETE", None, [b"2", None]),
                change("TRUNCATE", None),
            ),
            webhook(),
        )
    )

    assert [each.event for each in made] == ["10-2-0", "10-2-1", "10-2-2", "10-2-3"]
    assert [each.row_key for each in made] == ["1", "1", "2", ""]
    bodies = [json.loads(each.body) for each in made]
    assert [body["timestamp"] for body in bodies] == ["2023-11-14T22:13:20.500000Z"] * 4
    assert [body["data"] for body in bodies] == [
        {"schema": "public", "table": "orders", "record": {"a": 1, "note": "x"}, "old_record": None},
        {"schema": "public", "table": "orders", "record": {"a": 2}, "old_record": None, "omitted": ["note"]},
        {"schema": "public", "table": "orders", "record": None, "old_record": {"a": 2}},
        {"schema": "public", "table": "orders", "record": None, "old_record": None},
    ]


@pytest.mark.parametrize(
    ("new", "passes"),
    [([b"1", b'"yes"'], True), ([b"1", b'"no"'], False), ([b"1", b"null"], False), ([b"1", None], True)],
    ids=["equal", "other", "null", "not in the log"],
)
def test_a_filter_passes_what_it_cannot_see(new: Values, passes: bool):
    condition = FilterCondition("note", "eq", ["yes"], type="text", local="text")

    made = list(deliveries_of(batch(change("UPDATE", new)), webhook(filters=(condition,))))

    assert bool(made) == passes


def test_what_is_older_than_the_webhook_or_not_asked_for_is_no_event():
    inserted = change("INSERT", [b"1", b"null"])

    assert not list(deliveries_of(batch(inserted, lsn=4), webhook()))
    assert not list(deliveries_of(batch(inserted), webhook(events=frozenset(("delete",)))))


def test_an_event_names_the_request_from_whose_cause_on_it_was_made():
    ada = CausingRequest("r\0-1", "authenticated", "ada")
    made = list(
        deliveries_of(
            msgspec.structs.replace(
                batch(*(change("INSERT", [b"%d" % number, b"null"]) for number in range(4))),
                requests=[(1, ada), (3, None)],
            ),
            webhook(),
        )
    )

    assert [each.request_id for each in made] == [None, "r-1", "r-1", None]
    named = {"id": "r\0-1", "role": "authenticated", "sub": "ada"}
    assert [json.loads(each.body)["data"].get("request") for each in made] == [None, named, named, None]
