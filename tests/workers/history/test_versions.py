"""Versions of batches: what changed, moved keys, what is not in the stream, and which cause holds from which change on."""

import json

from schemas.causes import SignedCause, sign_cause
from schemas.changes import ChangeBatch, ChangeColumn, ChangeKind, RowChange, Values
from workers.history.versions import TrackedTable, versions_of

KEY = b"k" * 32
TABLE = TrackedTable(3, "public.notes", ("b", "a"), 0)


def batch(
    *changes: RowChange, identity: str = "f", causes: list[tuple[int, bytes]] | None = None
) -> ChangeBatch:
    columns = [ChangeColumn("a", "int4", True), ChangeColumn("b", "text", True), ChangeColumn("c", "json")]
    return ChangeBatch(
        "public", "notes", 16, 2, 1_700_000_000_500_000, 0, columns, identity, list(changes), 7, True, 99, causes or []
    )  # fmt: skip


def change(kind: str, new: Values | None, old: Values | None = None) -> RowChange:
    return RowChange(ChangeKind(kind), new, old)


def rows(given: ChangeBatch, believes: bool = True) -> list[dict[str, object]]:
    return [json.loads(version.row) for version in versions_of(given, TABLE, [KEY], lambda _: believes)]


def test_values_of_each_kind_of_change():
    inserted, updated, moved, cut, deleted, truncated = rows(
        batch(
            change("INSERT", [b"1", b'"x"', b'{"k":1}']),
            change("UPDATE", [b"1", b'"x"', b"null"], [b"1", b'"x"', b'{"k":1}']),
            change("UPDATE", [b"2", b'"x"', b"null"], [b"1", b'"x"', b"null"]),
            change("UPDATE", [b"2", b'"x"', None], [b"2", b'"x"', None]),
            change("DELETE", None, [b"2", b'"x"', b"null"]),
            change("TRUNCATE", None),
        )
    )

    assert (inserted["table_id"], inserted["at"]) == (3, "2023-11-14T22:13:20.500000+00:00")
    assert (inserted["lsn"], inserted["number"], inserted["index"]) == (16, 2, 0)
    assert (inserted["key"], inserted["after"]) == ('["x",1]', {"a": 1, "b": "x", "c": {"k": 1}})
    assert "before" not in inserted
    assert (updated["before"], updated["after"]) == ({"c": {"k": 1}}, {"a": 1, "b": "x", "c": None})
    assert (moved["key"], moved["former_key"], moved["before"]) == ('["x",2]', '["x",1]', {"a": 1})
    assert (cut["omitted"], cut["before"]) == (["c"], {})
    assert (deleted["operation"], deleted["before"], deleted["key"]) == (
        "delete",
        {"a": 2, "b": "x", "c": None},
        '["x",2]',
    )
    assert (truncated["operation"], truncated["key"]) == ("truncate", None)


def test_an_update_whose_old_row_is_not_in_the_log_has_no_before():
    [updated] = rows(batch(change("UPDATE", [b"1", b'"x"', b"2"], [b"1", b'"x"', None]), identity="d"))

    assert "before" not in updated


def test_each_change_has_the_cause_before_it():
    signed = sign_cause(KEY, SignedCause("n", 5, "r", "anon", "s\x00", "rest", "POST /a"))
    insert = change("INSERT", [b"1", b'"x"', b"null"])
    causes = [
        (1, f"{signed}\n2\nauthenticator\nheadwater".encode()),
        (2, b"\n1\npostgres\npsql"),
        (3, b"\n1\nheadwater_job_5_1\n"),
        (4, b"\n1\npostgres\nproject migration"),
        (5, b"no cause"),
    ]

    made = rows(batch(*[insert] * 6, causes=causes))
    doubted = rows(batch(insert, causes=[(0, causes[0][1])]), believes=False)

    assert [row["source"] for row in made] == ["unknown", "request", "sql", "cron", "migration", "unknown"]
    assert (made[1]["sub"], made[1]["by_trigger"], made[1]["request_id"]) == ("s", True, "r")
    assert (doubted[0]["source"], "sub" in doubted[0]) == ("unknown", False)


def test_a_version_that_cannot_be_stored_has_a_bare_form():
    [version] = versions_of(batch(change("INSERT", [b"1", b'"x"', b"[]"])), TABLE, [KEY], lambda _: True)

    bare = json.loads(version.bare)

    assert (bare["omitted"], "after" in bare, bare["key"]) == (["a", "b", "c"], False, '["x",1]')


def test_a_table_that_is_off_still_has_what_was_committed_before():
    on, off = TrackedTable(1, "t", ("a",), 10), TrackedTable(1, "t", ("a",), 10, is_on=False)

    assert [(on.has(lsn), off.has(lsn)) for lsn in (9, 10, 11)] == [
        (False, True),
        (False, True),
        (True, False),
    ]
