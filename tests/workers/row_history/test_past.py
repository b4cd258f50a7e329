"""Rows as they were at a moment, by the first version behind it."""

from datetime import UTC, datetime

import msgspec
import pytest

from workers.row_history.past import FirstLaterVersion, past_row
from workers.row_history.stored import StoredGap, StoredVersion, Values

_MOMENT = datetime(2026, 11, 22, 10, tzinfo=UTC)


def _values(**columns: object) -> Values:
    return {name: msgspec.Raw(msgspec.json.encode(value)) for name, value in columns.items()}


def _version(operation: str, key: str, former: str | None = None, **sides: Values) -> StoredVersion:
    return StoredVersion(
        100,
        0,
        0,
        "2026-11-22T10:00:01Z",
        operation,
        "sql",
        key,
        former,
        sides.get("before"),
        sides.get("after"),
    )


@pytest.mark.parametrize(
    ("key", "version", "state", "values"),
    [
        ("[1]", _version("insert", "[1]", after=_values(id=1, a="x")), "absent", {}),
        (
            "[1]",
            _version("update", "[1]", before=_values(a="x"), after=_values(id=1, a="y", b=2)),
            "row",
            {"id": 1, "a": "x", "b": 2},
        ),
        ("[1]", _version("delete", "[1]", before=_values(id=1, a="x")), "row", {"id": 1, "a": "x"}),
        # A row that got another key was not under the new one, and was under the old one.
        ("[2]", _version("update", "[2]", "[1]", before=_values(id=1), after=_values(id=2)), "absent", {}),
        (
            "[1]",
            _version("update", "[2]", "[1]", before=_values(id=1), after=_values(id=2)),
            "row",
            {"id": 1},
        ),
        ("[1]", _version("delete", "[1]"), "unknown", {}),
    ],
)
def test_a_row_is_what_its_first_later_version_replaced(
    key: str, version: StoredVersion, state: str, values: dict[str, object]
) -> None:
    past = past_row(FirstLaterVersion(key, False, 1, version), _MOMENT, [])

    assert past.state == state
    assert {name: msgspec.json.decode(value) for name, value in past.values.items()} == values


@pytest.mark.parametrize(
    ("after_lsn", "at", "state"),
    [
        (99, "2026-11-22T10:00:02Z", "unknown"),
        (100, "2026-11-22T10:00:02Z", "absent"),  # behind the version
        (99, "2026-11-22T09:59:59Z", "absent"),  # over before the moment
    ],
)
def test_what_may_be_missing_between_both_makes_a_row_unknown(after_lsn: int, at: str, state: str) -> None:
    changed = FirstLaterVersion("[1]", False, 1, _version("insert", "[1]", after=_values(id=1)))

    assert past_row(changed, _MOMENT, [StoredGap(after_lsn, "lost", at)]).state == state
    assert past_row(msgspec.structs.replace(changed, is_truncated=True), _MOMENT, []).state == "unknown"
