"""Names of blobs: made of ids alone, whatever users typed."""

import hashlib
import re
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.blobs import blob_names
from broker.blobs.blob_names import OBJECTS, STAGING, TRANSFORMS, UPLOADS, BlobFolder, BlobPath

VERSION = UUID("0f9d2a46-8f0e-4bd0-8f7e-3f5f8a3a2b11")
anything = st.text(st.characters(), max_size=200) | st.sampled_from(["..", "../..", "/", "\ud800", "a\x00b"])


def test_names_are_as_the_page_says() -> None:
    hashed = hashlib.sha256("Über/Avatars".encode()).hexdigest()[:16]

    assert blob_names.blob("Über/Avatars", VERSION).name == f"objects/ber_avatars-{hashed}/0f/{VERSION}"
    assert blob_names.bucket("写真").name.startswith("objects/bucket-")
    assert blob_names.staging(VERSION).name == f"staging/{VERSION}"
    assert blob_names.appended(VERSION).name == f"uploads/{VERSION}/appended"
    assert blob_names.part(VERSION, 7).name == f"uploads/{VERSION}/part-00007"
    assert blob_names.piece(VERSION, 5, VERSION).name == f"uploads/{VERSION}/at-{5:020}-{VERSION.hex}"
    assert re.fullmatch(rf"transforms/0f/{VERSION}/[0-9a-f]{{40}}", blob_names.transform(VERSION, "w:1").name)


@given(anything, st.uuids())
def test_a_name_leads_nowhere_else_and_fits_a_file_system(typed: str, version: UUID) -> None:
    root = Path("/data")
    for place in (blob_names.blob(typed, version), blob_names.transform(version, typed)):
        assert (root / place.name).resolve() == root / place.name
        assert all(1 <= len(part) <= 60 and part not in (".", "..") for part in place.name.split("/"))
        assert place.version == version
        assert blob_names.parse_path(place.name) == place


@given(anything, anything)
def test_two_buckets_have_two_folders(one: str, other: str) -> None:
    assert (blob_names.bucket(one) == blob_names.bucket(other)) is (one == other)


@pytest.mark.parametrize("folder", [OBJECTS, STAGING, UPLOADS, TRANSFORMS])
def test_no_bucket_has_the_folder_of_another_kind(folder: BlobFolder) -> None:
    assert blob_names.bucket(folder.name).name.startswith(f"objects/{folder.name}-")


@pytest.mark.parametrize("spelled", [str(VERSION), str(VERSION).upper(), VERSION.hex, f"{{{VERSION}}}"])
def test_a_version_is_spelled_in_one_way(spelled: str) -> None:
    assert blob_names.blob("bucket", spelled) == blob_names.blob("bucket", VERSION)


@given(st.text(max_size=40) | st.sampled_from(["..", "../etc", "", "0" * 31]))
def test_what_is_no_uuid_is_refused(text: str) -> None:
    for make in (blob_names.upload, blob_names.staging, blob_names.appended, blob_names.transforms):
        try:
            UUID(text)
        except ValueError:
            with pytest.raises(ValueError, match=r"badly formed|invalid literal"):
                make(text)


@pytest.mark.parametrize("name", ["", "/", "objects", "objects/", "objects/..", "objects/../x", "/objects/x", "objects/a.b", "other/x", "objects/x\n", "objects/A", "objects/a/b/c/d", "staging//x"])  # fmt: skip
def test_no_other_text_is_a_place(name: str) -> None:
    with pytest.raises(ValueError, match="not the name of a blob"):
        BlobPath(name)
    assert blob_names.parse_path(name) is None


@pytest.mark.parametrize("name", ["", "/", "objects/", "..", "objects/..", "other"])
def test_no_other_text_is_a_folder(name: str) -> None:
    with pytest.raises(ValueError, match="not the name of a folder"):
        BlobFolder(name)


@pytest.mark.parametrize("number", [0, -1, 10_001])
def test_parts_are_numbered_as_s3_does(number: int) -> None:
    with pytest.raises(ValueError, match="1 to 10000"):
        blob_names.part(VERSION, number)


def test_pieces_sort_by_their_offset_and_tell_it() -> None:
    offsets = [0, 9, 10, 5 * 1024**3]
    pieces = [blob_names.piece(VERSION, offset, uuid4()) for offset in offsets]

    assert sorted(pieces) == pieces
    assert [piece.offset for piece in pieces] == offsets
    assert blob_names.appended(VERSION).offset is None
    assert blob_names.part(VERSION, 1).offset is None


def test_what_is_being_written_has_no_version() -> None:
    assert blob_names.staging(VERSION).version is None
    assert BlobPath("objects/x").version is None
    assert BlobPath("objects/x/y/z").version is None


def test_a_blob_belongs_to_the_folders_above_it() -> None:
    place = blob_names.blob("one", VERSION)

    assert blob_names.is_in(OBJECTS, place)
    assert blob_names.is_in(blob_names.bucket("one"), place)
    assert not blob_names.is_in(blob_names.bucket("two"), place)
    assert not blob_names.is_in(UPLOADS, place)
