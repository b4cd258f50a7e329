"""Events of live reads: a patch leads from one result to the next, whatever both are."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.subscriptions.read_frames import change_event, error_event, result_event, result_id

_ROWS = st.lists(
    st.fixed_dictionaries({"id": st.integers(0, 12), "body": st.sampled_from("abc")}), max_size=12
)


def events(text: bytes) -> list[dict[str, str]]:
    """Read events as WHATWG says: fields by lines, several lines of data joined by line feeds."""
    found = []
    for block in text.decode().split("\n\n")[:-1]:
        event: dict[str, str] = {}
        for line in block.split("\n"):
            name, _, value = line.partition(": ")
            event[name] = event[name] + "\n" + value if name in event else value
        found.append(event)
    return found


def patched(rows: list[Any], operations: list[dict[str, Any]]) -> list[Any]:
    """Apply the operations of RFC 6902 that are used."""
    rows = list(rows)
    for operation in operations:
        index = int(operation["path"][1:])
        match operation["op"]:
            case "add":
                assert index <= len(rows)
                rows.insert(index, operation["value"])
            case "remove":
                del rows[index]
            case "replace":
                rows[index] = operation["value"]
    return rows


def result(rows: Any, content_range: str = "*/*") -> bytes:
    # As Postgres writes a list: a line for each row.
    body = "[" + ", \n ".join(map(json.dumps, rows)) + "]" if isinstance(rows, list) else json.dumps(rows)
    return f"{content_range}\n{body}".encode()


@given(_ROWS, _ROWS)
def test_a_change_leads_from_one_result_to_the_next(before: list[Any], after: list[Any]) -> None:
    [event] = events(change_event(result(before), result(after)))

    data = json.loads(event["data"])
    assert (patched(before, data) if event["event"] == "patch" else data) == after
    assert event["id"] == result_id(result(after)).decode()


def test_one_changed_row_of_many_is_sent_alone() -> None:
    before = [{"id": number, "name": "n" * 20} for number in range(5000)]
    after = [*before[:4000], {"id": 4000, "name": "changed"}, *before[4001:]]

    [event] = events(change_event(result(before), result(after)))

    assert json.loads(event["data"]) == [{"op": "replace", "path": "/4000", "value": after[4000]}]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"id": 1}, {"id": 2}),
        ([{"id": 1}], None),
        ([{"id": n} for n in range(3000)], [{"id": -n} for n in range(3000)]),
    ],
)
def test_what_a_patch_cannot_say_shortly_is_a_whole_result(before: object, after: object) -> None:
    [event] = events(change_event(result(before), result(after)))

    assert (event["event"], json.loads(event["data"])) == ("result", after)


def test_a_counted_range_comes_with_whole_results_and_where_it_differs() -> None:
    rows = [{"id": number, "name": "n" * 20} for number in range(9)]

    first = events(result_event(result(rows, "0-8/9")))
    same = events(change_event(result(rows, "0-8/9"), result([*rows[:8], {"id": 9}], "0-8/9")))
    other = events(change_event(result(rows, "0-8/9"), result(rows[:8], "0-7/8")))

    assert [event["event"] for event in first] == ["range", "result"]
    assert [event["event"] for event in same] == ["patch"]
    assert [event["event"] for event in other] == ["range", "patch"]
    assert other[0]["data"] == "0-7/8"


def test_white_space_of_a_json_column_does_not_end_an_event() -> None:
    body = b'*/*\n[{"meta":{"a":\r\n\r\n1}}]'

    [event] = events(result_event(body))
    [error] = events(error_event(b'{\n"message":"x"}'))

    assert json.loads(event["data"]) == [{"meta": {"a": 1}}]
    assert json.loads(error["data"]) == {"message": "x"}
    assert result_event(body).count(b"\r") == 0
