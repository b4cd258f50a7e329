"""Rows of the outbox read as events."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.storage_events import StorageEvent
from workers.storage.events.outbox import OutboxRow, UnreadableRow, read_event

TIME = "2026-01-02T03:04:05.123456"


def row(metadata: object, **changes: object) -> OutboxRow:
    payload = {"bucketId": "b", "name": "n", "metadata": metadata, **changes}
    return OutboxRow(7, "ObjectCreated:Put", msgspec.json.encode(payload), TIME, "me")


def test_a_row_becomes_an_event() -> None:
    event = read_event(
        row({"size": 5, "mimetype": "image/png", "eTag": '"e"', "own": [1]}, version="v", reqId="r")
    )

    assert (event.id, event.sequence, event.owner) == ("7-1767323045123456", 7, "me")
    assert (event.version, event.size, event.mimetype, event.etag) == ("v", 5, "image/png", '"e"')
    shown = msgspec.json.decode(msgspec.json.encode(event))
    assert shown["metadata"] == {"size": 5, "mimetype": "image/png", "eTag": '"e"', "own": [1]}
    assert (shown["time"], shown["request_id"]) == ("2026-01-02T03:04:05.123456Z", "r")


@pytest.mark.parametrize("size", [-1, True, 1.5, "5", None, [], 2**63, 10**400])
def test_a_size_that_is_none_is_not_told(size: object) -> None:
    payload = f'{{"bucketId":"b","name":"n","metadata":{{"size":{size if isinstance(size, int) and size is not True else msgspec.json.encode(size).decode()}}}}}'

    assert read_event(OutboxRow(7, "x", payload.encode(), TIME)).size is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["size", "mimetype", "eTag", "x"]), inner)
    ),
    max_leaves=8,
)


@given(json_values, st.text(min_size=1), st.text())
def test_any_metadata_and_any_name_make_an_event(metadata: object, bucket: str, name: str) -> None:
    try:
        event = read_event(row(metadata, bucketId=bucket, name=name))
    except UnreadableRow:
        assert len(bucket.encode()) > 1000
        return

    assert msgspec.json.decode(msgspec.json.encode(event), type=StorageEvent) == event


@pytest.mark.parametrize("payload", [b"", b"[]", b"{}", b'{"bucketId":1,"name":""}', b"[" * 100_000, b"\xff"])
def test_what_has_not_the_form_of_an_event_is_unreadable(payload: bytes) -> None:
    with pytest.raises(UnreadableRow):
        read_event(OutboxRow(1, "x", payload, TIME))


@pytest.mark.parametrize("time", ["infinity", "-infinity", "20000-01-01T00:00:00", "0044-03-15T00:00:00 BC"])
def test_a_time_that_is_none_is_unreadable(time: str) -> None:
    with pytest.raises(UnreadableRow):
        read_event(OutboxRow(1, "x", b'{"bucketId":"b","name":""}', time))
