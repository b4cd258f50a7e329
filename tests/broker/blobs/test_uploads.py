"""What is known of resumable uploads: where they end, and the hash of what has come."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.blobs import blob_names
from broker.blobs.model import BlobInfo
from broker.blobs.staging import Md5
from broker.blobs.uploads import UploadHashes, covering_ranges

UPLOAD = uuid4()


def pieces(*spans: tuple[int, int]) -> list[BlobInfo]:
    """Give pieces, each with its offset and size, in the order a store lists them."""
    found = [
        BlobInfo(blob_names.piece(UPLOAD, at, UUID(int=number)), size, datetime.now(UTC))
        for number, (at, size) in enumerate(spans)
    ]
    return sorted(found, key=lambda each: each.place)


@pytest.mark.parametrize(
    ("spans", "read", "end"),
    [
        ([], [], 0),
        ([(0, 5)], [(0, 0)], 5),
        ([(0, 5), (5, 3)], [(0, 0), (5, 0)], 8),
        ([(0, 5), (3, 4)], [(0, 0), (3, 2)], 7),
        ([(0, 5), (1, 2)], [(0, 0)], 5),
        ([(0, 5), (0, 9)], [(0, 0), (0, 5)], 9),
        ([(0, 9), (0, 5)], [(0, 0)], 9),
        ([(0, 5), (6, 3)], [(0, 0)], 5),
        ([(1, 5)], [], 0),
        ([(0, 0), (0, 5)], [(0, 0)], 5),
    ],
)
def test_pieces_cover_an_upload_up_to_the_first_gap(
    spans: list[tuple[int, int]], read: list[tuple[int, int]], end: int
) -> None:
    found, found_end = covering_ranges(pieces(*spans))

    assert [(span.place.offset, span.start) for span in found] == read
    assert found_end == end


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 10)), max_size=8))
def test_the_spans_read_one_behind_the_other_are_the_upload(spans: list[tuple[int, int]]) -> None:
    whole = bytes(range(40))
    found, end = covering_ranges(pieces(*spans))
    sizes = {each.place: each.size for each in pieces(*spans)}

    read = b""
    for span in found:
        at = span.place.offset or 0
        read += whole[at + span.start : at + sizes[span.place]]

    assert read == whole[:end]


def test_one_file_is_an_upload_as_it_is() -> None:
    file = BlobInfo(blob_names.appended(UPLOAD), 7, datetime.now(UTC))

    assert covering_ranges([file]) == ([(file.place, 0)], 7)


def test_a_hash_goes_on_where_it_stopped_and_nowhere_else() -> None:
    hashes = UploadHashes()
    md5 = hashes.take(UPLOAD, 0)
    assert md5 is not None
    md5.update(b"abc")
    hashes.store(UPLOAD, 3, md5)

    assert hashes.whole(UPLOAD, 3) == md5.hex
    assert hashes.whole(UPLOAD, 4) is None
    assert hashes.whole(uuid4(), 3) is None
    assert hashes.take(UPLOAD, 3) is md5
    assert hashes.take(UPLOAD, 3) is None


def test_a_hash_at_another_offset_is_forgotten() -> None:
    hashes = UploadHashes()
    hashes.store(UPLOAD, 3, Md5())

    assert hashes.take(UPLOAD, 2) is None
    assert hashes.whole(UPLOAD, 3) is None


def test_an_upload_that_begins_anew_has_a_new_hash() -> None:
    hashes, old = UploadHashes(), Md5()
    hashes.store(UPLOAD, 3, old)

    assert hashes.take(UPLOAD, 0) not in (None, old)


def test_what_has_no_hash_is_not_kept_and_the_oldest_are_forgotten() -> None:
    hashes, ids = UploadHashes(), [uuid4() for _ in range(1001)]
    for id in ids:
        hashes.store(id, 3, Md5())
    hashes.store(UPLOAD, 3, None)

    assert hashes.whole(UPLOAD, 3) is None
    assert hashes.whole(ids[0], 3) is None
    assert hashes.whole(ids[1], 3) is not None
