"""What a caller sees of versions: the past of the row that is there now, the columns that he may read, his own name."""

import msgspec

from workers.row_history.stored import StoredGap, StoredVersion
from workers.row_history.view import versions_for_caller, whole_version


def version(lsn: int, operation: str, key: str = "[1]", **more: object) -> StoredVersion:
    values = {
        name: {column: msgspec.Raw(str(value).encode()) for column, value in given.items()}
        for name in ("before", "after")
        if isinstance(given := more.pop(name, None), dict)
    }
    return StoredVersion(lsn, 0, 0, "t", operation, "request", key, **values, **more)  # type: ignore[arg-type]  # by name


def seen(
    *newest_first: StoredVersion, columns: str = "ab", sub: str = "me", gaps: tuple[StoredGap, ...] = ()
) -> list[str]:
    return [each.version for each in versions_for_caller(newest_first, set(columns), sub, gaps)]


def test_the_past_ends_where_the_row_began():
    update = version(4, "update", before={"a": 1}, after={"a": 2})

    assert seen(update, version(3, "insert"), version(2, "delete"), version(1, "insert")) == [
        "4-0-0",
        "3-0-0",
    ]
    assert seen(update, version(2, "delete"), version(1, "insert")) == ["4-0-0"]
    assert seen(
        version(5, "update", former_key="[0]", before={"a": 0}),
        version(4, "update", "[0]"),
        version(3, "insert", "[0]"),
    ) == ["5-0-0"]
    assert seen(update, version(3, "insert", "[2]"), version(2, "insert")) == ["4-0-0", "3-0-0", "2-0-0"]
    assert seen(update, version(3, "insert"), gaps=(StoredGap(3, "x", "t"),)) == ["4-0-0"]


def test_columns_that_he_may_not_read_are_left_out_and_updates_of_nothing_else():
    hidden = version(3, "update", before={"c": 1}, after={"a": 1, "c": 2})
    both = version(2, "update", before={"a": 1, "c": 1}, after={"a": 2, "c": 2}, omitted=["b", "c"])

    [left] = versions_for_caller([hidden, both], {"a", "b"}, "", ())

    assert (left.version, left.changed, list(left.before or ()), list(left.after or ())) == (
        "2-0-0",
        ["a"],
        ["a"],
        ["a"],
    )
    assert left.omitted == ["b"]


def test_who_wrote_is_for_himself_and_for_administrators():
    mine, other = (
        version(2, "update", sub="me", request_id="r"),
        version(1, "update", sub="you", request_id="q", role="anon"),
    )

    first, second = versions_for_caller([mine, other], set(), "me", ())
    [unnamed] = versions_for_caller([version(1, "update", sub="")], set(), "", ())

    assert (first.cause.is_yours, first.cause.sub, first.cause.request_id) == (True, "me", "r")
    assert (second.cause.is_yours, second.cause.sub, second.cause.request_id, second.cause.role) == (
        False,
        None,
        None,
        "anon",
    )
    assert unnamed.cause.is_yours is False
    assert whole_version(other).cause.sub == "you"
